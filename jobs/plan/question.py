"""The question that a plan answers, and the reasons why a cluster cannot have such a plan."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from jobs.errors import AuditError, suggestion
from jobs.names import storable_id
from jobs.schema import BROKER

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class PlanQuestion:
    """What a plan is to do, apart from replacing replicas on dead brokers and shared racks. With `topics`, only these topics change."""

    id: str
    cluster_id: str
    drain: Sequence[int] = ()
    add: Mapping[int, str | None] = field(default_factory=dict)  # the racks of new brokers by id
    replication_factor: Mapping[str, int] = field(default_factory=dict)  # by topic
    topics: Sequence[str] = ()
    balance: bool = True
    wave_bytes: float = 100.0 * 2**30
    moves_per_broker: int = 100
    network_share: float = 0.5
    disk_limit: float | None = None  # None: plan_disk_share_most of the limits

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", storable_id(self.id))

    @property
    def requests_moves(self) -> bool:
        """Whether brokers or replicas are to be added or removed. The result may then be worse than the cluster is now."""
        return bool(self.drain or self.add or self.replication_factor)

    @property
    def balances(self) -> bool:
        """Whether the plan balances the cluster."""
        return self.balance and not self.topics

    def to_json(self) -> str:
        """Return the question without its ids, as column `plan.request` stores it."""
        return json.dumps({name: value for name, value in asdict(self).items() if name not in ("id", "cluster_id")}, sort_keys=True)


def brokers_of_plan(brokers: Sequence[Row], question: PlanQuestion) -> list[Row]:
    """Return the brokers of the cluster and the new ones; each new broker gets the least capacity of any live broker.

    Raises AuditError if the cluster does not have a broker to drain, already has a new broker, or would have no broker left.
    """
    cluster_id = question.cluster_id
    known = sorted(brokers, key=lambda row: row["broker_id"])
    ids = {row["broker_id"] for row in known}
    if missing := sorted(set(question.drain) - ids):
        raise AuditError(f"cluster {cluster_id} has no broker {_join(missing)}: it has {_join(sorted(ids))}")
    if existing := sorted(set(question.add) & ids):
        raise AuditError(f"cluster {cluster_id} already has broker {_join(existing)}")
    if not any(row["live"] and row["broker_id"] not in question.drain for row in known) and not question.add:
        raise AuditError(f"cluster {cluster_id} would have no broker left")
    capacities = [name for name in BROKER.schema.names if "_capacity_" in name]
    least = {name: min((row[name] for row in known if row["live"] and row[name] is not None), default=None) for name in capacities}
    return known + [{"broker_id": broker_id, "rack": rack, "live": True, **least} for broker_id, rack in sorted(question.add.items())]


def check_possible(question: PlanQuestion, brokers: Sequence[Row], topics: Sequence[str], partitions: pa.Table) -> None:
    """Raise AuditError if the cluster with these brokers, topics and rows of `partition` cannot have such a plan."""
    cluster_id = question.cluster_id
    if missing := [topic for topic in (*question.topics, *question.replication_factor) if topic not in topics]:
        raise AuditError(f"cluster {cluster_id} has no topic {_join(missing)}{suggestion(missing[0], topics)}")
    remaining = sum(row["live"] and row["broker_id"] not in question.drain for row in brokers)
    for topic, factor in question.replication_factor.items():
        if factor > remaining:
            raise AuditError(
                f"--replication-factor {topic}={factor}: cluster {cluster_id} would have {remaining} live brokers: "
                f"use {remaining} or fewer, or --add brokers"
            )
    racks = sorted({row["rack"] for row in brokers if row["live"] and row["rack"] is not None and row["broker_id"] not in question.add})
    without_rack = sorted(broker_id for broker_id, rack in question.add.items() if rack is None)
    if racks and without_rack:
        raise AuditError(
            f"--add {without_rack[0]}: the brokers of cluster {cluster_id} have racks: use --add {without_rack[0]}:RACK "
            f"with one of {', '.join(racks)} or a new one"
        )
    changing = (pc.greater(pc.list_value_length(partitions[name]), 0).fill_null(False) for name in ("adding_replicas", "removing_replicas"))
    if reassigning := pc.sum(pc.or_(*changing)).as_py():
        raise AuditError(f"cluster {cluster_id} is reassigning {reassigning} partitions: plan on a snapshot taken after they are complete")


def _join(values: Sequence[object]) -> str:
    return ", ".join(map(str, values))
