"""kafka-features describe: the features that the controller has finalized.

Printed by org.apache.kafka.tools.FeatureCommand, in earlier versions kafka.admin.FeatureCommand.

    Feature: eligible.leader.replicas.version	SupportedMinVersion: 0	SupportedMaxVersion: 1	FinalizedVersionLevel: 1	Epoch: 152

Only KRaft finalizes metadata.version. eligible.leader.replicas.version is 1 where the cluster keeps eligible leader replicas.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobs.ingest.dump import Dump, Parsed, Rejected
from jobs.ingest.facts import FeatureLevel
from jobs.ingest.precedence import Precedence

NAME = "kafka-features"
PRECEDENCE = Precedence.KAFKA_TOOL

_LINE = re.compile(
    r"Feature: ?([A-Za-z0-9._-]+)\s{1,64}SupportedMinVersion: ?(\S+)\s{1,64}SupportedMaxVersion: ?(\S+)"
    r"\s{1,64}FinalizedVersionLevel: ?([A-Za-z0-9._-]+)\s{1,64}Epoch: ?([0-9]+|-)\s{0,64}"
)
_KNOWN_BY = re.compile(r"^Feature: ?\S+\s+SupportedMinVersion:", re.MULTILINE)


def recognises(dump: Dump) -> bool:
    """Return whether the dump contains a feature line."""
    return _KNOWN_BY.search(dump.head) is not None


def parse(dump: Dump) -> Iterator[Parsed | Rejected]:
    """Yield a fact for each feature."""
    for number, line in dump.lines():
        if match := _LINE.fullmatch(line):
            yield Parsed(number, line, FeatureLevel(match[1], match[4]))
        else:
            yield Rejected(number, line, "not a feature line")
