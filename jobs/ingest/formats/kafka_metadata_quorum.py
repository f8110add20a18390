"""kafka-metadata-quorum describe --status or --replication: the id, active controller and voters of a KRaft cluster.

Printed by org.apache.kafka.tools.MetadataQuorumCommand, in the first versions kafka.admin.MetadataQuorumCommand.

    ClusterId:              63eIrtAWRcG4BFVcy6dPyA          NodeId	DirectoryId           	LogEndOffset	Lag	...	Status
    LeaderId:               2                               2     	AAAAAAAAAAAAAAAAAAAAAA	152         	0  	...	Leader
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from jobs.ingest.dump import Dump, Parsed, Rejected, Unreadable, identifier
from jobs.ingest.facts import ActiveController, ControllerKind, KafkaClusterId, QuorumVoters, RegisteredController
from jobs.ingest.precedence import Precedence

NAME = "kafka-metadata-quorum"
PRECEDENCE = Precedence.KAFKA_TOOL

_STATUS = re.compile(
    r"(ClusterId|LeaderId|LeaderEpoch|HighWatermark|MaxFollowerLag|MaxFollowerLagTimeMs|CurrentVoters|CurrentObservers):\s{0,64}(.*?)\s{0,64}"
)
_CLUSTER_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_REPLICATION = re.compile(r"([0-9]+)\s.*\s(Leader|Follower|Observer)\s{0,64}")
_HEADER = re.compile(r"NodeId\s.*\bLogEndOffset\b.*")
_KNOWN_BY = re.compile(r"^(?:MaxFollowerLagTimeMs:|NodeId\s.*\bLogEndOffset\b)", re.MULTILINE)


def recognises(dump: Dump) -> bool:
    """Return whether the dump contains a status line or the header of the replication table."""
    return _KNOWN_BY.search(dump.head) is not None


def parse(dump: Dump) -> Iterator[Parsed | Rejected]:
    """Yield the kind of controller, the cluster's id, the active controller and the voters."""
    has_controller_kind = False
    voters: list[int] = []
    for number, line in dump.lines():
        try:
            if status := _STATUS.fullmatch(line):
                fact = _status(*status.groups())
            elif replication := _REPLICATION.fullmatch(line):
                node_id, role = identifier(replication[1], "NodeId"), replication[2]
                voters += [] if role == "Observer" else [node_id]
                fact = {"Leader": ActiveController(node_id), "Follower": RegisteredController(node_id)}.get(
                    role
                )  # an observer may be a broker
            elif _HEADER.fullmatch(line):
                continue
            else:
                raise Unreadable("not a line of the quorum's status or replication")
        except Unreadable as e:
            yield Rejected(number, line, str(e))
            continue
        yield Parsed(number, line, fact)
        if not has_controller_kind:
            yield Parsed(number, line, ControllerKind("kraft"), entries=0)
            has_controller_kind = True
    if voters:
        yield Parsed(number, line, QuorumVoters(tuple(sorted(voters))), entries=0)


def _status(name: str, value: str) -> KafkaClusterId | ActiveController | QuorumVoters | None:
    if name == "ClusterId" and _CLUSTER_ID.fullmatch(value):
        return KafkaClusterId(value)
    if name == "LeaderId" and value != "-1":  # -1: no leader at the moment
        return ActiveController(identifier(value, name))
    if name == "CurrentVoters":
        return QuorumVoters(_voters(value))
    return None


def _voters(value: str) -> tuple[int, ...]:
    """Parse a list of ids (up to 3.8), or of objects with an id (3.9 on)."""
    try:
        voters = json.loads(value)
        return tuple(sorted(identifier(voter["id"] if isinstance(voter, dict) else voter, "a voter") for voter in voters))
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Unreadable("CurrentVoters is not a list of voters") from None
