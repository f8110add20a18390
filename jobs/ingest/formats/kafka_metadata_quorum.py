"""kafka-metadata-quorum describe --status or --replication (org.apache.kafka.tools.MetadataQuorumCommand): the sign of a KRaft cluster,
and its id.

    ClusterId:              63eIrtAWRcG4BFVcy6dPyA          NodeId	DirectoryId           	LogEndOffset	Lag	...	Status
    LeaderId:               2                               2     	AAAAAAAAAAAAAAAAAAAAAA	152         	0  	...	Leader
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobs.ingest.dump import Dump, Rejected, Told
from jobs.ingest.facts import ControllerSign, KafkaClusterId

NAME = "kafka-metadata-quorum"

_STATUS = re.compile(
    r"(?:ClusterId|LeaderId|LeaderEpoch|HighWatermark|MaxFollowerLag|MaxFollowerLagTimeMs|CurrentVoters|CurrentObservers):.*"
)
_CLUSTER_ID = re.compile(r"ClusterId:\s{1,64}([A-Za-z0-9_-]{1,64})\s{0,64}")
_REPLICATION = re.compile(r"[0-9]+\s.*\s(?:Leader|Follower|Observer)\s{0,64}")
_HEADER = re.compile(r"NodeId\s.*\bLogEndOffset\b.*")
_KNOWN_BY = re.compile(r"^(?:MaxFollowerLagTimeMs:|NodeId\s.*\bLogEndOffset\b)", re.MULTILINE)


def recognises(dump: Dump) -> bool:
    """Whether a line of the status, or the header of the replication table is there."""
    return _KNOWN_BY.search(dump.head) is not None


def parse(dump: Dump) -> Iterator[Told | Rejected]:
    """That there is a quorum, and of which cluster."""
    sign: ControllerSign | None = ControllerSign("kraft")
    for number, line in dump.lines():
        if _STATUS.fullmatch(line) or _REPLICATION.fullmatch(line):
            yield Told(number, line, sign)
            sign = None
            if match := _CLUSTER_ID.fullmatch(line):
                yield Told(number, line, KafkaClusterId(match[1]), entries=0)
        elif not _HEADER.fullmatch(line):
            yield Rejected(number, line, "neither of the quorum's status nor of its replication")
