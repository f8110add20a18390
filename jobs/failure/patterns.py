"""What happens to partitions when brokers die or return, computed once for each pattern of a batch (kafka_model.failover.broker_failure).

What happens does not depend on which brokers these are, only on their places: who is the first replica, who is in sync, who lives, who dies
and in which order. Millions of partitions have some hundreds of such patterns. So a batch's partitions are written as patterns, in which
brokers are their places among the partition's members; the model answers each distinct one, and its places become broker ids again. All but
the model's answer is done on whole columns: matrices with a column for each row of the batch, and a row for each nth broker of a list.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from jobs.arrays import NO_BROKER, Ints, Matrix, list_positions, to_ints, to_matrix
from jobs.schema import FAILOVER
from jobs.schema.failure import HARMS
from kafka_model.election.partition import Partition
from kafka_model.election.state_machines import PartitionState
from kafka_model.failover.broker_failure import ElectionKind, fail_brokers, return_broker

Places = tuple[int, ...]
Asked = tuple[tuple[Places, ...], Places, Places]  # of a pattern: what the partition has, the rules, and who dies

PATTERNED = (
    "kraft", "elr_kept", "topic_unclean", "min_insync_replicas", "replication_factor", "leader",
    "replicas", "live", "isr", "elr", "last_known_elr",
)  # fmt: skip
# Of `failover`'s columns those that follow from the pattern, in which brokers are places.
_OF_PATTERN = (
    "state_before", "state", "transitions", "election", "leader_before", "leader", "isr", "elr", "last_known_elr", "survivors",
    "under_min_isr_before", "under_min_isr", "at_min_isr", "unclean", "live_replicas_before", "live_replicas",
    "safe_replicas_before", "safe_replicas", "metadata_records", "leader_epochs",
)  # fmt: skip
OUTCOME = pa.struct([FAILOVER.schema.field(name).with_nullable(True) for name in _OF_PATTERN])
_FREE = 2 * NO_BROKER  # a place that nobody has: no broker's id either
HARM = tuple(HARMS)
# Whether a broker that comes back has an ISR to come back to, who led before it died, until it is back and then (0: nobody), and whether the
# partition gets a leader by its return, and one that may lack records.
RETURN = ("rejoins", "leader_before", "leader", "leader_after", "revived", "revived_uncleanly")
AS_TOPIC_SAYS = -1  # whether unclean elections are allowed


class Deaths(NamedTuple):
    """Who dies of partitions, a column each."""

    row: Ints  # the partition's in its batch
    places: Matrix  # of its replicas, in the order of their deaths, and then zeros
    heard: Ints  # how many of these deaths are acted upon: fewer, if the one after them costs the controllers their quorum
    quorum_lost: Ints
    unclean: Ints
    in_order: Ints  # by a controlled shutdown

    @classmethod
    def killed(cls, row: Ints, *places: Ints, quorum_lost: Ints | int = 0) -> Deaths:
        """Of each row, the replicas at these places are killed one after the other; if that loses the quorum, none of it is acted upon."""
        lost, none = np.broadcast_to(quorum_lost, row.shape), np.zeros_like(row)
        return cls(row, np.stack(places), np.where(lost, 0, len(places)), lost, none + AS_TOPIC_SAYS, none)


class Partitions:
    """A batch of partitions as deaths find them. A leader that does not live leads no more, whatever the dump says.

    Its columns are PATTERNED: replication_factor null is as many as it has replicas, `live` are the replicas on live brokers. Places of
    brokers are from 1, and 0 where a list has ended.
    """

    def __init__(self, of: Mapping[str, pa.Array] | pa.RecordBatch) -> None:
        lists = [to_matrix(of[name]) for name in ("replicas", "isr", "elr", "last_known_elr")]
        leader = to_ints(of["leader"], NO_BROKER)[np.newaxis]
        self._members, places = _members(np.concatenate([*lists, leader]))
        self.replicas, *sets, leader = np.split(places, np.cumsum([len(each) for each in lists]))
        self.live = _places(to_matrix(of["live"]), self._members)
        assigned, factor = self.replicas.max(axis=0, initial=0), to_ints(of["replication_factor"], 0)
        rules = [*(to_ints(of[name], 0) for name in PATTERNED[:3]), to_ints(of["min_insync_replicas"], 1)]
        leads = np.where((self.live == leader).any(axis=0), leader[0], 0)
        scalars = np.stack([*rules, np.where(factor > 0, factor, assigned), assigned, leads])
        self._patterns, self._pattern = _distinct(scalars, *sets, self.live)

    def after(self, deaths: Deaths) -> pa.StructArray:
        """What becomes of them: OUTCOME."""
        asked, which = self._asked(deaths)
        return pa.array([outcome_of(*each) for each in asked], OUTCOME).take(pa.array(which))

    def harm(self, deaths: Deaths) -> Matrix:
        """Whether they suffer each of HARM: a row for each of these deaths."""
        asked, which = self._asked(deaths)
        return np.array([harm_of(outcome_of(*each)) for each in asked], np.int64).reshape(-1, len(HARM))[which]

    def back(self, deaths: Deaths) -> Matrix:
        """What the return of the first to die does, each of RETURN: a row for each of these deaths."""
        asked, which = self._asked(deaths)
        return np.array([return_of(*each) for each in asked], np.int64).reshape(-1, len(RETURN))[which]

    def _asked(self, deaths: Deaths) -> tuple[list[Asked], Ints]:
        rules = np.stack([deaths.heard, deaths.quorum_lost, deaths.unclean, deaths.in_order])
        asked, which = _distinct(self._pattern[np.newaxis, deaths.row], rules, deaths.places)
        return [(self._patterns[pattern], *dying) for (pattern,), *dying in asked], which

    def brokers(self, places: Ints, row: Ints) -> Ints:
        """The brokers at these places, each of the partition of that row."""
        return self._members[np.maximum(places, 1) - 1, row] if len(self._members) else places

    def lists_of_brokers(self, places: pa.ListArray, row: Ints, *, in_order: bool = False) -> pa.ListArray:
        """Likewise lists of places; `in_order`: sorted by the brokers' ids."""
        lengths = to_ints(pc.list_value_length(places), 0)
        of, _ = list_positions(lengths)
        ids = self.brokers(to_ints(places.flatten(), 0), row[of])
        if in_order:
            ids = np.sort((of << 32) + ids) - (of << 32)
        offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
        return pa.ListArray.from_arrays(offsets, pa.array(ids, pa.int32()), mask=places.is_null())


def _members(named: Matrix) -> tuple[Matrix, Matrix]:
    """Of each column, who is named in it, in the order of first naming; and of each naming the place in that order, from 1."""
    members, places, known = np.full(named.shape, _FREE), np.zeros_like(named), np.zeros(named.shape[1], np.int64)
    for nth, ids in enumerate(named):
        places[nth] = _places(ids[np.newaxis], members[: known.max(initial=0)])[0]
        new = np.flatnonzero((places[nth] == 0) & (ids != NO_BROKER))
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


def _distinct(*parts: Matrix) -> tuple[list[tuple[Places, ...]], Ints]:
    """The distinct columns of matrices that lie above one another, each as what it has of every one, and of each column which it is."""
    rows = np.ascontiguousarray(np.concatenate(parts).T)
    ends = np.cumsum([len(part) for part in parts])[:-1]
    keys = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(rows.shape[1] * rows.itemsize), len(rows), [None, pa.py_buffer(rows)]
    ).dictionary_encode()
    split = (np.split(np.frombuffer(key.as_py(), rows.dtype), ends) for key in keys.dictionary)
    return [tuple([tuple(part.tolist()) for part in parts]) for parts in split], keys.indices.to_numpy()


def _read(found: tuple[Places, ...], rules: Places, dying: Places) -> tuple[Partition, Places, Places, dict[str, Any]]:
    """A pattern as the model has it: the partition, its replicas that live, those that die, and the rules of elections."""
    (kraft, elr_kept, topic_unclean, least, factor, replicas, leader), *lists = found
    isr, elr, last_known_elr, live, gone = (tuple([place for place in places if place]) for places in (*lists, dying))
    _, _, unclean, _ = rules
    partition = Partition(
        replicas=tuple(range(1, replicas + 1)),
        leader=leader or None,
        isr=isr,
        elr=elr,
        last_known_elr=last_known_elr,
        min_insync_replicas=least,
        topic_replication_factor=factor,
    )
    elections = {
        "controller": "kraft" if kraft else "zookeeper",
        "elr": bool(elr_kept),
        "unclean": bool(topic_unclean if unclean == AS_TOPIC_SAYS else unclean),
    }
    return partition, live, gone, elections


@cache
def outcome_of(found: tuple[Places, ...], rules: Places, dying: Places) -> dict[str, Any]:
    """The model's answer to a pattern, by the names of `failover`'s columns: the scalars and lists of Partitions, and those of Deaths."""
    was, live, gone, elections = _read(found, rules, dying)
    heard, quorum_lost, _, in_order = rules
    least, kraft, elr_kept = was.min_insync_replicas, elections["controller"] == "kraft", elections["elr"]
    now, left, election, transitions, lossy = was, set(live), ElectionKind.NONE, [], False
    for broker in gone[:heard]:
        left.discard(broker)
        step = fail_brokers(now, [broker], left | {broker}, controlled_shutdown=bool(in_order), **elections)
        now, lossy = step.partition, lossy or step.election is ElectionKind.UNCLEAN
        election = election if step.election is ElectionKind.NONE else step.election
        transitions += [f"{before.value} -> {then.value}" for before, then in step.transitions]
    survivors = [place for place in live if place not in gone]
    leads = now.leader if now.leader in survivors else None
    # Nobody takes the dead out of an ISR once the quorum is lost: records with acks=all wait for them.
    accepts = leads is not None and len(now.isr) >= least and not (quorum_lost and not set(now.isr) <= set(survivors))
    trusted = {*was.isr, *was.elr}
    return {
        "state_before": _state(was.leader),
        "state": _state(leads),
        "transitions": transitions,
        "election": election.value,
        "leader_before": was.leader,
        "leader": leads,
        "isr": now.isr,
        "elr": now.elr if elr_kept else None,
        "last_known_elr": now.last_known_elr if elr_kept else None,
        "survivors": survivors,
        "under_min_isr_before": was.leader is None or len(was.isr) < least,
        "under_min_isr": not accepts,
        "at_min_isr": accepts and len(now.isr) == least,
        "unclean": lossy,
        "live_replicas_before": len(live),
        "live_replicas": len(survivors),
        "safe_replicas_before": len(trusted.intersection(live)),
        "safe_replicas": len(trusted.intersection(survivors)),
        "metadata_records": now.partition_epoch - was.partition_epoch if kraft else None,
        "leader_epochs": now.leader_epoch - was.leader_epoch,
    }


@cache
def return_of(found: tuple[Places, ...], rules: Places, dying: Places) -> tuple[int, ...]:
    """What it does to a partition that the first to die comes back, whether it lived or was dead already: RETURN."""
    was, live, (back, *_), elections = _read(found, rules, dying)
    _, quorum_lost, _, in_order = rules
    now, left = was, {*live} - {back}
    if back in live:
        now = fail_brokers(was, [back], live, controlled_shutdown=bool(in_order), **elections).partition
    # A quorum that was lost comes back with its voter, and hears only then of the death.
    leader = was.leader if quorum_lost else now.leader
    leads = leader if leader in left else None
    came = return_broker(now, back, left | {back}, clean_stop=bool(in_order), **elections)
    revived = leads is None and came.partition.leader is not None
    uncleanly = revived and came.election in (ElectionKind.UNCLEAN, ElectionKind.LAST_KNOWN_LEADER)
    return back not in live or back in was.isr, was.leader or 0, leads or 0, came.partition.leader or 0, revived, uncleanly


def harm_of(outcome: Mapping[str, Any]) -> tuple[bool, ...]:
    """Whether a failure does each harm of HARM to a partition; jobs/schema/failure.py has the same definition in SQL."""
    return (
        outcome["leader"] is None and outcome["leader_before"] is not None,
        outcome["leader"] is not None and outcome["under_min_isr"] and not outcome["under_min_isr_before"],
        outcome["safe_replicas"] == 0 and outcome["safe_replicas_before"] > 0,
    )


def _state(leader: int | None) -> str:
    return (PartitionState.OFFLINE if leader is None else PartitionState.ONLINE).value
