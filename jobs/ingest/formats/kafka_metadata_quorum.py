"""kafka-metadata-quorum describe --status or --replication (org.apache.kafka.tools.MetadataQuorumCommand): the sign of a KRaft cluster,
its id, its active controller, and the controllers that vote.

    ClusterId:              63eIrtAWRcG4BFVcy6dPyA          NodeId	DirectoryId           	LogEndOffset	Lag	...	Status
    LeaderId:               2                               2     	AAAAAAAAAAAAAAAAAAAAAA	152         	0  	...	Leader
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from jobs.ingest.dump import Dump, Rejected, Told, Unreadable, identifier
from jobs.ingest.facts import ActiveController, ControllerSign, KafkaClusterId, QuorumVoters

NAME = "kafka-metadata-quorum"

_STATUS = re.compile(
    r"(ClusterId|LeaderId|LeaderEpoch|HighWatermark|MaxFollowerLag|MaxFollowerLagTimeMs|CurrentVoters|CurrentObservers):\s{0,64}(.*?)\s{0,64}"
)
_CLUSTER_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_REPLICATION = re.compile(r"([0-9]+)\s.*\s(Leader|Follower|Observer)\s{0,64}")
_HEADER = re.compile(r"NodeId\s.*\bLogEndOffset\b.*")
_KNOWN_BY = re.compile(r"^(?:MaxFollowerLagTimeMs:|NodeId\s.*\bLogEndOffset\b)", re.MULTILINE)


def recognises(dump: Dump) -> bool:
    """Whether a line of the status, or the header of the replication table is there."""
    return _KNOWN_BY.search(dump.head) is not None


def parse(dump: Dump) -> Iterator[Told | Rejected]:
    """That there is a quorum, of which cluster, who leads it, and who votes."""
    signed = False
    voters: list[int] = []
    for number, line in dump.lines():
        try:
            if status := _STATUS.fullmatch(line):
                fact = _told(*status.groups())
            elif replication := _REPLICATION.fullmatch(line):
                node_id, role = identifier(replication[1], "NodeId"), replication[2]
                voters += [] if role == "Observer" else [node_id]
                fact = ActiveController(node_id) if role == "Leader" else None
            elif _HEADER.fullmatch(line):
                continue
            else:
                raise Unreadable("neither of the quorum's status nor of its replication")
        except Unreadable as e:
            yield Rejected(number, line, str(e))
            continue
        yield Told(number, line, fact)
        if not signed:
            yield Told(number, line, ControllerSign("kraft"), entries=0)
            signed = True
    if voters:
        yield Told(number, line, QuorumVoters(tuple(sorted(voters))), entries=0)


def _told(name: str, value: str) -> KafkaClusterId | ActiveController | QuorumVoters | None:
    if name == "ClusterId" and _CLUSTER_ID.fullmatch(value):
        return KafkaClusterId(value)
    if name == "LeaderId" and value != "-1":  # which is nobody, for the moment
        return ActiveController(identifier(value, name))
    if name == "CurrentVoters":
        return QuorumVoters(_voters(value))
    return None


def _voters(value: str) -> tuple[int, ...]:
    """A list of ids up to 3.8, of objects with an id since."""
    try:
        voters = json.loads(value)
        return tuple(sorted(identifier(voter["id"] if isinstance(voter, dict) else voter, "a voter") for voter in voters))
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Unreadable("CurrentVoters is no list of voters") from None
