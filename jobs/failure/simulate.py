"""Failures played on batches of partitions: whom each touches, and what becomes of them.

A failure is a list of brokers that die in order, and then of log dirs. Only partitions with a replica there change, so each partition's
replicas look up the failures that take them: more brokers, and more failures elsewhere, cost nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from jobs.arrays import NO_BROKER, Ints, Matrix, list_positions, pick, to_ints, to_matrix
from jobs.failure.patterns import AS_TOPIC_SAYS, Deaths, Partitions
from jobs.schema import FAILOVER

_OF_PARTITION = ("snapshot_id", "cluster_id", "topic", "partition", "min_insync_replicas")
UNKNOWN = -1  # a size


class Failures:
    """Failures of clusters in one snapshot, a row each: cluster_id, brokers, unclean (null: as topics say), controlled_shutdown,
    quorum_lost (by these deaths), heard (how many of them are acted upon), and log_dirs, each a broker's id, a colon and a path.
    """

    def __init__(self, rows: pa.Table) -> None:
        self.of = {name: rows[name].combine_chunks() for name in rows.column_names}
        self._clusters = self.of["cluster_id"].unique()
        self._cluster = self._number(self.of["cluster_id"])
        self._deaths = to_ints(pc.list_value_length(self.of["brokers"]), 0)
        failure, nth = list_positions(self._deaths)
        broker = (self._cluster[failure] << 32) + to_ints(self.of["brokers"].flatten(), NO_BROKER)
        order = np.argsort(broker, kind="stable")
        self._broker, self._failure, self._nth = broker[order], failure[order], nth[order]
        self._quorum_lost, self._in_order = (to_ints(self.of[name], 0) for name in ("quorum_lost", "controlled_shutdown"))
        self._heard = np.where(self._quorum_lost, to_ints(self.of["heard"], 0), np.iinfo(np.int64).max)
        self._unclean = to_ints(self.of["unclean"], AS_TOPIC_SAYS)

    def _number(self, cluster_id: pa.Array) -> Ints:
        return to_ints(pc.index_in(cluster_id, value_set=self._clusters), -1)

    def touching(self, partitions: Partitions, cluster_id: pa.Array, log_dirs: pa.ListArray | None = None) -> tuple[Ints, Deaths]:
        """The failures that touch these partitions, and the deaths that each of them has there; `log_dirs`: where each has its replicas."""
        cluster = self._number(cluster_id)
        nth, row = np.nonzero(partitions.replicas)
        place = partitions.replicas[nth, row]
        broker = (cluster[row] << 32) + partitions.brokers(place, row)
        first, past = (np.searchsorted(self._broker, broker, side) for side in ("left", "right"))
        of, more = list_positions(past - first)
        at = first[of] + more
        found = [(row[of], self._failure[at], self._nth[at], place[of])]
        if log_dirs is not None:
            found += [self._on_log_dirs(failure, partitions, cluster, log_dirs) for failure in range(len(self._cluster))]
        row, failure, nth, place = (np.concatenate(each) for each in zip(*found, strict=True))
        order = np.lexsort((nth, failure, row))
        row, failure, nth, place = (each[order] for each in (row, failure, nth, place))
        each = np.flatnonzero(np.diff(row * len(self._cluster) + failure, prepend=-1))
        touched, turn = list_positions(np.diff(each, append=len(row)))
        places = np.zeros((turn.max(initial=-1) + 1, len(each)), np.int64)
        places[turn, touched] = place
        heard = np.bincount(touched[nth < self._heard[failure]], minlength=len(each))
        row, failure = row[each], failure[each]
        return failure, Deaths(row, places, heard, self._quorum_lost[failure], self._unclean[failure], self._in_order[failure])

    def _on_log_dirs(self, failure: int, partitions: Partitions, cluster: Ints, log_dirs: pa.ListArray) -> tuple[Ints, Ints, Ints, Ints]:
        """The replicas that go with a failure's log dirs: their rows, the failure, their turns after its brokers, and their places."""
        row, _ = list_positions(to_ints(pc.list_value_length(log_dirs), 0))
        place_of = log_dirs.flatten()
        nth = to_ints(pc.index_in(place_of, value_set=self.of["log_dirs"][failure].values), -1)
        broker = to_ints(pc.list_element(pc.split_pattern(place_of, ":", max_splits=1), 0).cast(pa.int64()), NO_BROKER)
        dead = np.isin(broker, to_ints(self.of["brokers"][failure].values, NO_BROKER))
        gone = np.flatnonzero((nth >= 0) & ~dead & (cluster[row] == self._cluster[failure]))
        row, nth, broker = row[gone], nth[gone], broker[gone]
        replicas = partitions.replicas[:, row]
        place = np.where(partitions.brokers(replicas, row) == broker, replicas, 0).max(axis=0, initial=0)
        there = place > 0
        return row[there], np.full(there.sum(), failure), self._deaths[failure] + nth[there], place[there]

    def played(self, of: pa.RecordBatch) -> pa.RecordBatch:
        """The rows of `failover` that these partitions have. Their columns are those of Partitions, and their names, replica_size_bytes,
        records_per_byte and, where log dirs fail, log_dirs.
        """
        partitions = Partitions(of)
        failure, deaths = self.touching(partitions, of["cluster_id"], of["log_dirs"] if "log_dirs" in of.schema.names else None)
        outcome, row, asked = partitions.after(deaths), pa.array(deaths.row), pa.array(failure)
        told = dict(zip(outcome.type.names, outcome.flatten(), strict=True))
        per_byte = of["records_per_byte"].take(row).to_numpy(zero_copy_only=False)  # NaN: unknown
        lists = {name: partitions.lists_of_brokers(told[name], deaths.row, in_order=True) for name in ("isr", "elr", "last_known_elr")}
        leaders = {name: to_ints(told[name], 0) for name in ("leader_before", "leader")}
        sizes = to_matrix(of["replica_size_bytes"], UNKNOWN)
        size, unknown = at_risk(sizes, deaths.row, *leaders.values(), _largest_left(sizes, deaths.row, told))
        rows = {
            **told,
            **{name: of[name].take(row) for name in _OF_PARTITION},
            **{name: self.of[name].take(asked) for name in ("scenario_set", "scenario_id")},
            **{name: pa.array(partitions.brokers(place, deaths.row), pa.int32(), mask=place == 0) for name, place in leaders.items()},
            **lists,
            "survivors": partitions.lists_of_brokers(told["survivors"], deaths.row),
            "isr_before": of["isr"].take(row),
            "at_risk_size_bytes": pa.array(size, mask=unknown),
            "at_risk_records": _records(size, unknown, per_byte),
            "assigned_replicas": pc.list_value_length(of["replicas"]).take(row),
        }
        return pa.record_batch([rows[name] for name in FAILOVER.schema.names], schema=FAILOVER.schema)


def at_risk(sizes: Matrix, row: Ints, before: Ints, leader: Ints, left: Ints) -> tuple[Ints, np.ndarray]:
    """What a lost leader stores and its successor does not, or what else is left of the partition if it has none; and where that is unknown.

    `sizes` are those of a batch's partitions, `row` is the partition of each loss, and leaders are places.
    """
    had, has = (pick(sizes, place, row, UNKNOWN) for place in (before, leader))
    has = np.where(leader > 0, has, left)
    lost = (before > 0) & (leader != before)
    unknown = lost & ((had < 0) | (has < 0))
    return np.where(lost & ~unknown, np.maximum(had - has, 0), 0), unknown


def _largest_left(sizes: Matrix, row: Ints, told: Mapping[str, pa.Array]) -> Ints:
    """What the largest of the replicas that live on stores."""
    largest = np.full(len(row), UNKNOWN)
    for place in to_matrix(told["survivors"]):
        largest = np.maximum(largest, pick(sizes, place, row, UNKNOWN))
    return np.where(to_ints(told["live_replicas"], 0) == 0, 0, largest)


def _records(size: Ints, unknown: np.ndarray, per_byte: np.ndarray) -> pa.Array:
    """So many bytes in records."""
    records = np.where(size == 0, 0, np.ceil(size * per_byte))
    unknown = unknown | np.isnan(records)
    return pa.array(np.where(unknown, 0, records).astype(np.int64), mask=unknown)
