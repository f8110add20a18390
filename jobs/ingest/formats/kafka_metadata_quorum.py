"""kafka-metadata-quorum describe --status or --replication (org.apache.kafka.tools.MetadataQuorumCommand): the sign of a KRaft cluster.

    ClusterId:              63eIrtAWRcG4BFVcy6dPyA          NodeId	DirectoryId           	LogEndOffset	Lag	...	Status
    LeaderId:               2                               2     	AAAAAAAAAAAAAAAAAAAAAA	152         	0  	...	Leader
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobs.ingest.dump import Dump, Rejected, Told
from jobs.ingest.facts import ControllerSign

NAME = "kafka-metadata-quorum"

_STATUS = re.compile(
    r"(?:ClusterId|LeaderId|LeaderEpoch|HighWatermark|MaxFollowerLag|MaxFollowerLagTimeMs|CurrentVoters|CurrentObservers):.*"
)
_REPLICATION = re.compile(r"[0-9]+\s.*\s(?:Leader|Follower|Observer)\s{0,64}")
_HEADER = re.compile(r"NodeId\s.*\bLogEndOffset\b.*")
_KNOWN_BY = re.compile(r"^(?:MaxFollowerLagTimeMs:|NodeId\s.*\bLogEndOffset\b)", re.MULTILINE)


def recognises(dump: Dump) -> bool:
    """Whether a line of the status, or the header of the replication table is there."""
    return _KNOWN_BY.search(dump.head) is not None


def parse(dump: Dump) -> Iterator[Told | Rejected]:
    """One fact: that there is a quorum."""
    sign: ControllerSign | None = ControllerSign("kraft")
    for number, line in dump.lines():
        if _STATUS.fullmatch(line) or _REPLICATION.fullmatch(line):
            yield Told(number, line, sign)
            sign = None
        elif not _HEADER.fullmatch(line):
            yield Rejected(number, line, "neither of the quorum's status nor of its replication")
