"""check-change: the failures of a published cluster before and after a proposed change, which is a reassignment or new configs of topics.

The cluster after the change is that of the snapshot with the change complete (kafka_model.election.alterations). Nothing is executed or stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from jobs.arrays import one_batch
from jobs.engine import DuckdbEngine
from jobs.errors import AuditError, listed, suggestion
from jobs.failure.cluster_state import ClusterState, cluster_states
from jobs.failure.counts import FailureCounts
from jobs.failure.election_inputs import election_inputs
from jobs.failure.harms_after import Harms, NightlyFailures, present_harms
from jobs.ingest.dump import Dump, Rejected
from jobs.ingest.facts import ProposedReplicas
from jobs.ingest.formats import kafka_reassign_partitions
from jobs.lake.lake import Lake
from jobs.schema import BROKER, CLUSTER, PARTITION, TOPIC, Table
from jobs.snapshot import published_snapshot
from kafka_model.election.alterations import change_min_isr, complete_reassignment
from kafka_model.election.partition import Partition
from kafka_model.release import Release, parse_release

READS = (CLUSTER, BROKER, TOPIC, PARTITION)
_MIN_ISR, _UNCLEAN = "min.insync.replicas", "unclean.leader.election.enable"

Row = dict[str, Any]


class PartitionKey(NamedTuple):
    """The key of a partition within a cluster."""

    topic: str
    partition: int


class ProposedChange(NamedTuple):
    """The replicas that partitions are to have, and the configs of topics."""

    replicas: Mapping[PartitionKey, Sequence[int]]
    configs: Mapping[str, Mapping[str, str]]


class HarmedPartition(NamedTuple):
    """A partition with other harm after a failure because of the change."""

    topic: str
    partition: int
    before: Harms
    after: Harms


class ChangedFailure(NamedTuple):
    """A failure after which other numbers of partitions are harmed because of the change; all partitions of the cluster count."""

    scenario_id: str
    kind: str  # broker, stop, rack; pairs: all pairs of brokers together; none: without a failure
    brokers: Sequence[int]
    before: Harms
    after: Harms
    partitions: Sequence[HarmedPartition]  # the changed partitions that are the reason; empty for pairs

    @property
    def worse(self) -> bool:
        """Whether more partitions lose data, have an out-of-sync leader, are offline, or accept no acks=all writes."""
        return any(after > before for before, after in zip(_costs(self.before), _costs(self.after), strict=True))


class CheckedChange(NamedTuple):
    """What a proposed change does to a cluster."""

    snapshot_id: str
    cluster_id: str
    changed_partitions: int
    incomplete: Mapping[PartitionKey, str]  # reassignments that cannot complete, with the reason; these partitions count as unchanged
    failures: Sequence[ChangedFailure]  # the worse ones first; of pairs of brokers only the sum

    @property
    def worse(self) -> list[ChangedFailure]:
        """The failures that harm more partitions after the change."""
        return [failure for failure in self.failures if failure.worse]


def read_reassignment(file: Path) -> dict[PartitionKey, tuple[int, ...]]:
    """Return the replicas in a file for kafka-reassign-partitions --reassignment-json-file; raise an AuditError for what cannot be read."""
    try:
        dump = Dump(file.read_bytes())
    except OSError as e:
        raise AuditError(f"--reassignment {file} cannot be read: {e.strerror}") from e
    replicas = {}
    for entry in kafka_reassign_partitions.parse(dump):
        if isinstance(entry, Rejected):
            raise AuditError(f"--reassignment {file}, line {entry.line}: {entry.reason}: {str(entry.entry)[:100]}")
        if isinstance(entry.fact, ProposedReplicas):
            if entry.fact.partition is None or entry.fact.replicas is None:
                raise AuditError(
                    f"--reassignment {file} names topics or partitions without replicas: use the proposal that kafka-reassign-partitions "
                    "--generate prints for it"
                )
            replicas[PartitionKey(entry.fact.topic, entry.fact.partition)] = entry.fact.replicas
    if not replicas:
        raise AuditError(f'--reassignment {file} proposes no replicas: it must contain {{"version":1,"partitions":[...]}}')
    return replicas


def parse_topic_configs(given: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the configs of each topic from texts such as orders:min.insync.replicas=2; raise an AuditError for one that is not valid."""
    configs: dict[str, dict[str, str]] = {}
    for text in given:
        topic, colon, pair = text.partition(":")
        name, equals, value = pair.partition("=")
        if not (topic and colon and equals):
            raise AuditError(f"--topic-config {text!r} must be TOPIC:NAME=VALUE, for example orders:{_MIN_ISR}=2")
        if name not in (_MIN_ISR, _UNCLEAN):
            raise AuditError(
                f"--topic-config {text!r}: only {_MIN_ISR} and {_UNCLEAN} decide what a failure does{suggestion(name, (_MIN_ISR, _UNCLEAN))}"
            )
        value = value.strip().lower()
        if name == _MIN_ISR and not (value.isdecimal() and 1 <= int(value) < 2**31):
            raise AuditError(f"--topic-config {text!r}: {_MIN_ISR} must be a whole number, 1 or more")
        if name == _UNCLEAN and value not in ("true", "false"):
            raise AuditError(f"--topic-config {text!r}: {_UNCLEAN} must be true or false")
        configs.setdefault(topic, {})[name] = value
    return configs


def check_published(lake: Lake, snapshot_id: str | None, cluster_id: str, change: ProposedChange) -> CheckedChange:
    """Check a change of a published cluster, by default in its newest snapshot."""
    snapshot = published_snapshot(lake, snapshot_id, cluster_id)
    return check({table: snapshot.of_cluster(table, cluster_id) for table in READS}, change)


def check(rows: Mapping[Table, pa.Table], change: ProposedChange) -> CheckedChange:
    """Check a change of the cluster with these rows of READS; raise an AuditError if Kafka would refuse it."""
    (cluster,) = rows[CLUSTER].to_pylist()
    (state,) = cluster_states([cluster], rows[BROKER].to_pylist()).values()
    _check_possible(rows, state, change)
    inputs = election_inputs(DuckdbEngine(), rows[PARTITION], rows[TOPIC], [state]).toArrow()
    partitions = inputs.sort_by([("topic", "ascending"), ("partition", "ascending")]).combine_chunks()
    before = one_batch(partitions.filter(_changes(partitions, change)))
    altered, incomplete = _after(before, change, state, parse_release(cluster["kafka_version"]))
    after = pa.RecordBatch.from_pylist(altered, before.schema)
    failures = [*_failures(state, one_batch(partitions), before, after), _pairs(state, one_batch(partitions), before, after)]
    return CheckedChange(
        cluster["snapshot_id"],
        cluster["cluster_id"],
        sum(row != old | {"replication_factor": row["replication_factor"]} for row, old in zip(altered, before.to_pylist(), strict=True)),
        incomplete,
        sorted((each for each in failures if each.before != each.after), key=lambda each: not each.worse),
    )


def _check_possible(rows: Mapping[Table, pa.Table], state: ClusterState, change: ProposedChange) -> None:
    """Raise an AuditError if a topic, partition or broker of the change is unknown, or a partition is being reassigned."""
    topics = rows[TOPIC]["topic"].to_pylist()
    for topic in sorted({*(key.topic for key in change.replicas), *change.configs}.difference(topics)):
        raise AuditError(f"cluster {state.cluster_id} has no topic {topic}{suggestion(topic, topics)}")
    keys = map(PartitionKey, rows[PARTITION]["topic"].to_pylist(), rows[PARTITION]["partition"].to_pylist())
    row_of = {key: row for row, key in enumerate(keys)}
    if unknown := [f"{key.topic}-{key.partition}" for key in change.replicas if key not in row_of]:
        raise AuditError(f"cluster {state.cluster_id} has no partition {listed(unknown[:5])}")
    known = rows[BROKER]["broker_id"].to_pylist()
    if missing := {broker for replicas in change.replicas.values() for broker in replicas}.difference(known):
        raise AuditError(f"cluster {state.cluster_id} has no broker {listed(missing)}: it has {listed(known)}")
    changing = pa.array([row_of[key] for key in change.replicas], pa.int64())
    for name in ("adding_replicas", "removing_replicas"):
        under_way = pc.greater(pc.list_value_length(rows[PARTITION][name].take(changing)), 0).fill_null(False).to_pylist()
        if reassigned := [
            f"{key.topic}-{key.partition}" for key, is_under_way in zip(change.replicas, under_way, strict=True) if is_under_way
        ]:
            raise AuditError(
                f"{len(reassigned)} partitions are being reassigned, for example {reassigned[0]}: check the change on a snapshot taken after that"
            )


def _changes(partitions: pa.Table, change: ProposedChange) -> pa.Array:
    """Return whether the change concerns each partition; the number of replicas of partition 0 concerns its whole topic."""
    topics = {*change.configs, *(key.topic for key in change.replicas if key.partition == 0)}
    keys = zip(partitions["topic"].to_pylist(), partitions["partition"].to_pylist(), strict=True)
    return pa.array([topic in topics or (topic, number) in change.replicas for topic, number in keys], pa.bool_())


def _after(
    before: pa.RecordBatch, change: ProposedChange, state: ClusterState, version: Release
) -> tuple[list[Row], dict[PartitionKey, str]]:
    """Return the partitions after the change, and why reassignments cannot complete; the configs change first."""
    after: list[Row] = []
    incomplete: dict[PartitionKey, str] = {}
    factors: dict[str, int] = {}  # of topics with another number of replicas of partition 0
    for row in before.to_pylist():
        key = PartitionKey(row["topic"], row["partition"])
        partition = _partition(row)
        configs = change.configs.get(key.topic, {})
        if _MIN_ISR in configs:
            altered = change_min_isr(partition, int(configs[_MIN_ISR]))
            partition = altered if row["elr_enabled"] else partition
            row |= {"min_insync_replicas": altered.min_insync_replicas}
        if _UNCLEAN in configs:
            row |= {"topic_unclean": configs[_UNCLEAN] == "true"}
        target = tuple(change.replicas.get(key, partition.replicas))
        if target != partition.replicas:
            elr = row["elr_enabled"]
            # A ZooKeeper controller completes a reassignment as KRaft's of 3.8 does; ELR exists since 3.8.
            rules = max(version, Release(3, 8, 0)) if state.kraft and elr else version if state.kraft else Release(3, 8, 0)
            reassigned = complete_reassignment(partition, target, live=state.racks.keys(), elr=elr, version=rules)
            if reassigned is None:
                incomplete[key] = _obstacle(partition, target, state)
            else:
                partition = reassigned
                factors |= {key.topic: len(target)} if key.partition == 0 else {}
        after.append(row | _columns(partition, state))
    return [row | {"replication_factor": factors.get(row["topic"], row["replication_factor"])} for row in after], incomplete


def _partition(row: Row) -> Partition:
    return Partition(
        replicas=tuple(row["replicas"]),
        leader=row["leader"] if row["leader"] in row["live"] else None,
        isr=tuple(row["isr"]),
        elr=tuple(row["elr"]),
        last_known_elr=tuple(row["last_known_elr"]),
        min_insync_replicas=row["min_insync_replicas"],
        topic_replication_factor=row["replication_factor"] if row["partition"] > 0 else None,
    )


def _columns(partition: Partition, state: ClusterState) -> Row:
    """Return the columns of jobs.failure.election_inputs that a change of a partition decides."""
    return {
        "replicas": list(partition.replicas),
        "live": [replica for replica in partition.replicas if replica in state.racks],
        "leader": partition.leader,
        "isr": list(partition.isr),
        "elr": list(partition.elr),
        "last_known_elr": list(partition.last_known_elr),
    }


def _obstacle(partition: Partition, target: Sequence[int], state: ClusterState) -> str:
    """Return why a reassignment cannot complete."""
    if dead := [replica for replica in target if replica not in state.racks and replica not in partition.isr]:
        return f"broker {listed(dead)} is not live"
    if partition.leader is None:
        return "the partition has no leader"
    lagging = [replica for replica in target if replica in partition.replicas and replica not in partition.isr]
    return f"broker {listed(lagging)} is not in the ISR"


def _failures(state: ClusterState, partitions: pa.RecordBatch, before: pa.RecordBatch, after: pa.RecordBatch) -> Iterator[ChangedFailure]:
    """Yield the cluster without a failure, then each failure of a broker or a rack."""
    failures = NightlyFailures(state)
    totals = failures.totals(partitions)
    totals_after = totals - failures.totals(before) + failures.totals(after)
    harmed = _harmed_partitions(failures, before, after)
    names = [("no failure", "none", []), *((each.scenario_id, each.kind, each.brokers) for each in failures.scenarios)]
    for index, (name, now, then) in enumerate(zip(names, totals.tolist(), totals_after.tolist(), strict=True)):
        yield ChangedFailure(*name, Harms(*now), Harms(*then), harmed[index])


def _harmed_partitions(failures: NightlyFailures, before: pa.RecordBatch, after: pa.RecordBatch) -> list[list[HarmedPartition]]:
    """Return the partitions whose harm the change alters: without a failure, then for each failure."""
    present = [present_harms(batch) for batch in (before, after)]
    harms = [np.repeat(each[np.newaxis], len(failures.scenarios) + 1, axis=0) for each in present]
    for each, batch in zip(harms, (before, after), strict=True):
        affected = failures.affected(batch)
        each[affected.failure + 1, affected.row] = affected.harms
    keys = list(zip(before["topic"].to_pylist(), before["partition"].to_pylist(), strict=True))
    altered: list[list[HarmedPartition]] = [[] for _ in range(len(failures.scenarios) + 1)]
    for failure, row in np.argwhere((harms[0] != harms[1]).any(axis=2)).tolist():
        altered[failure].append(HarmedPartition(*keys[row], *(Harms(*each[failure, row].tolist()) for each in harms)))
    return altered


def _pairs(state: ClusterState, partitions: pa.RecordBatch, before: pa.RecordBatch, after: pa.RecordBatch) -> ChangedFailure:
    """Return the sum of all pairs of brokers: a replica that moves always adds a partition to some pairs and takes it from others."""
    now = FailureCounts(state)
    now.add(partitions)
    then = now.copy()
    then.add(before, copies=-1)
    then.add(after)
    pairs = [pair for pair in now.compare(then, every_pair=True) if pair.kind == "pair"]
    present = present_harms(partitions).sum(axis=0)
    presents = (present, present - present_harms(before).sum(axis=0) + present_harms(after).sum(axis=0))
    counts = ([pair.before for pair in pairs], [pair.after for pair in pairs])
    # A partition without a leader or with too few replicas in sync stays so after every pair.
    sums = [
        Harms(
            len(pairs) * int(base[0]) + sum(each.newly_lost for each in of_pairs),
            0,
            len(pairs) * int(base[2]) + sum(each.newly_offline for each in of_pairs),
            len(pairs) * int(base[3]) + sum(each.newly_refusing_acks_all for each in of_pairs),
        )
        for base, of_pairs in zip(presents, counts, strict=True)
    ]
    return ChangedFailure("all pairs of brokers", "pairs", [], *sums, [])


def _costs(harms: Harms) -> tuple[int, ...]:
    """Return numbers that only a worse outcome increases: a partition that refuses acks=all in place of being offline is no loss."""
    return harms.lost, harms.unclean_leader, harms.offline, harms.offline + harms.refusing_acks_all
