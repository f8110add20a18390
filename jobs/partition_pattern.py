"""What becomes of a partition when brokers die: kafka_model.failover, asked once for each pattern of a batch.

What happens does not depend on which brokers these are, only on their places: who is the first replica, who is in sync, who lives, who dies
and in which order. Millions of partitions have some hundreds of such patterns. So the rows of a batch are written as patterns, in which brokers
are their places among the partition's members; the model answers each distinct one, and its places become broker ids again. All but the
model's answer is done on whole columns: matrices with a column for each row of the batch, and a row for each nth broker of a list.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka_model.failover import Election as Held
from kafka_model.failover import Partition, outcome

Matrix = npt.NDArray[np.int64]

_PLACES = pa.list_(pa.int32())
ANSWER = pa.struct(
    [
        pa.field("leader", pa.int32()),
        pa.field("isr", _PLACES),
        pa.field("elr", _PLACES),
        pa.field("last_known_elr", _PLACES),
        pa.field("transitions", pa.list_(pa.string())),
        pa.field("election", pa.string()),
        pa.field("unclean", pa.bool_()),
        pa.field("changes", pa.int32()),
        pa.field("epochs", pa.int32()),
    ]
)
NOBODY, _FREE = -(1 << 40), -(1 << 41)  # where a list has ended, and a place that nobody has: neither is a broker's id, nor the other


def answers(rules: Sequence[pa.Array], leader: pa.Array, named: Sequence[pa.Array], live: pa.Array, dying: pa.Array) -> pa.StructArray:
    """The state of each partition once the dying have died, one after the other.

    `rules`: kraft, ELR kept, unclean election allowed, shutdown controlled, min.insync.replicas, replication factor. `named`: replicas, ISR,
    ELR, last known ELR. Of the dying, only replicas count.
    """
    lists = [by_place(column) for column in named]
    members, places = _members(np.concatenate([*lists, _numbers(leader, NOBODY)[np.newaxis]]))
    replicas, *sets, led_by = np.split(places, np.cumsum([len(each) for each in lists]))
    scalars = np.stack([*(_numbers(column, 0) for column in rules), replicas.max(axis=0, initial=0), led_by[0]])
    parts = [scalars, *sets, *(_packed(_places(by_place(column), members)) for column in (live, dying))]
    ends = np.cumsum([len(part) for part in parts])[:-1]
    rows = np.ascontiguousarray(np.concatenate(parts).T)
    keys = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(rows.shape[1] * rows.itemsize), len(rows), [None, pa.py_buffer(rows)]
    ).dictionary_encode()
    distinct = [np.split(np.frombuffer(key.as_py(), rows.dtype), ends) for key in keys.dictionary]
    said = pa.array([outcome_of(*(tuple(part.tolist()) for part in pattern)) for pattern in distinct], ANSWER).take(keys.indices)
    told = {name: said.field(name) for name in ANSWER.names}
    told["leader"] = _ids(told["leader"], members, np.arange(len(said)))
    for name in ("isr", "elr", "last_known_elr"):
        lengths = pc.list_value_length(told[name]).to_numpy()
        offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
        told[name] = pa.ListArray.from_arrays(offsets, _ids(told[name].flatten(), members, np.repeat(np.arange(len(said)), lengths)))
    return pa.StructArray.from_arrays(list(told.values()), fields=list(ANSWER))


def _numbers(column: pa.Array, null: int) -> npt.NDArray[np.int64]:
    return column.cast(pa.int64()).fill_null(null).to_numpy(zero_copy_only=False)


def by_place(lists: pa.ListArray) -> Matrix:
    """Lists as columns of a matrix, each followed by NOBODY."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    starts = np.cumsum(lengths) - lengths
    matrix = np.full((lengths.max(initial=0), len(lists)), NOBODY)
    columns = np.repeat(np.arange(len(lists)), lengths)
    matrix[np.arange(len(columns)) - np.repeat(starts, lengths), columns] = lists.flatten().to_numpy(zero_copy_only=False)
    return matrix


def _members(named: Matrix) -> tuple[Matrix, Matrix]:
    """Of each column, who is named in it, in the order of first naming; and of each naming the place in that order, from 1."""
    members, places, known = np.full(named.shape, _FREE), np.zeros_like(named), np.zeros(named.shape[1], np.int64)
    for nth, ids in enumerate(named):
        places[nth] = _places(ids[np.newaxis], members[: known.max(initial=0)])[0]
        new = np.flatnonzero((places[nth] == 0) & (ids != NOBODY))
        members[known[new], new] = ids[new]
        known[new] += 1
        places[nth, new] = known[new]
    return members[: known.max(initial=0)], places


def _places(ids: Matrix, members: Matrix) -> Matrix:
    """The place of each id among the members of its column, from 1; 0: it is none."""
    places = np.zeros_like(ids)
    for place, member in enumerate(members, start=1):
        places[ids == member] = place
    return places


def _packed(places: Matrix) -> Matrix:
    """Each column's places that are not 0, in their order, and then zeros."""
    packed, so_many = np.zeros_like(places), np.zeros(places.shape[1], np.int64)
    for row in places:
        those = np.flatnonzero(row)
        packed[so_many[those], those] = row[those]
        so_many[those] += 1
    return packed[: so_many.max(initial=0)]


def _ids(places: pa.Array, members: Matrix, columns: npt.NDArray[np.int64]) -> pa.Array:
    """Broker ids in the stead of places from 1, each of the members of its column; null stays null."""
    place = _numbers(places, 0)
    found = members[np.maximum(place, 1) - 1, columns] if len(members) else place
    return pa.array(np.where(place > 0, found, 0), pa.int32(), mask=place == 0)


@cache
def outcome_of(scalars: tuple[int, ...], *lists: tuple[int, ...]) -> dict[str, Any]:
    """The model's answer to a pattern."""
    kraft, elr_kept, unclean, in_order, least, factor, replicas, leader = scalars
    isr, elr, last_known_elr, live, dying = (tuple(place for place in places if place) for places in lists)
    was = Partition(
        replicas=tuple(range(1, replicas + 1)),
        leader=leader or None,
        isr=isr,
        elr=elr,
        last_known_elr=last_known_elr,
        min_insync_replicas=least,
        topic_replication_factor=factor,
    )
    rules: dict[str, Any] = {"controller": "kraft" if kraft else "zookeeper", "elr": bool(elr_kept), "unclean": bool(unclean)}
    now, left, election, transitions, lossy = was, set(live), Held.NONE, [], False
    for broker in (place for place in dying if place <= replicas):
        left.discard(broker)
        step = outcome(now, [broker], left | {broker}, controlled_shutdown=bool(in_order), **rules)
        now, lossy = step.partition, lossy or step.election is Held.UNCLEAN
        election = election if step.election is Held.NONE else step.election
        transitions += [f"{before.value} -> {then.value}" for before, then in step.transitions]
    return {
        "leader": now.leader,
        "isr": now.isr,
        "elr": now.elr,
        "last_known_elr": now.last_known_elr,
        "transitions": transitions,
        "election": election.value,
        "unclean": lossy,
        "changes": now.partition_epoch - was.partition_epoch,
        "epochs": now.leader_epoch - was.leader_epoch,
    }
