"""Partitions as brokers die or return, computed once for each distinct pattern of a batch (kafka_model.failover.broker_failure).

The result does not depend on the ids of brokers, only on their positions: which is the first replica, which are in sync, which are live, and
which die in which order. Millions of partitions have some hundreds of such patterns. So a broker is written as its position among the members
of the partition, the model computes each distinct pattern, and positions become broker ids again. Everything but the model works on whole
columns: matrices with a column per row of the batch and a row per position in a list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from jobs.arrays import NO_BROKER, Ints, Matrix, distinct_columns, to_ints, to_matrix
from jobs.failure.min_isr import effective_min_isr
from kafka_model.election.partition import Partition
from kafka_model.election.state_machines import PartitionState
from kafka_model.failover.broker_failure import KRAFT_RULES_SINCE, ElectionKind, fail_brokers, return_broker

Positions = tuple[int, ...]

# Columns of a batch of partitions (jobs.failure.election_inputs). A null replication factor stands for the number of replicas.
INPUTS = (
    "kraft", "elr_enabled", "topic_unclean", "election_rules", "oldest_election_rules", "min_insync_replicas", "replication_factor", "leader",
    "replicas", "live", "isr", "elr", "last_known_elr", "quorum_breaking_brokers", "min_isr_capped",
    "oldest_min_isr_capped",
)  # fmt: skip
AS_TOPIC = -1  # unclean elections as the topic's configuration allows
_UNUSED = 2 * NO_BROKER  # fills a matrix of members; neither a broker's id nor NO_BROKER


class Pattern(NamedTuple):
    """A partition before a failure, with positions from 1 in place of broker ids; leader 0: none."""

    kraft: int
    elr_enabled: int
    topic_unclean: int
    election_rules: int  # position in KRAFT_RULES_SINCE
    oldest_election_rules: int
    min_insync_replicas: int  # the effective one
    oldest_min_insync_replicas: int  # the effective one of the oldest release that the cluster may run
    replication_factor: int
    replicas: int  # the number of replicas; their positions are 1, 2, ...
    leader: int
    isr: Positions
    elr: Positions
    last_known_elr: Positions
    live: Positions


class Event(NamedTuple):
    """Deaths of a partition's replicas, in order."""

    effective_deaths: int
    quorum_lost: int
    unclean: int
    controlled_shutdown: int
    dying: Positions


class Case(NamedTuple):
    """A pattern, and an event that happens to it."""

    pattern: Pattern
    event: Event


class Counts(NamedTuple):
    """Columns of `scenario` that count partitions by outcome; of one partition, 0 or 1 each."""

    partitions: int
    moved_leaders: int
    newly_offline: int
    newly_refusing_acks_all: int
    at_min_isr: int
    newly_lost: int


class Return(NamedTuple):
    """A partition when a dead broker returns after a kill or after a clean stop; leaders are positions, 0: none."""

    rejoins: int  # 1: the broker is to rejoin the ISR
    leader_before: int  # before the broker died
    leader: int  # until its return
    leader_after_kill: int
    revived_after_kill: int  # 1: the return gives the partition a leader
    revived_uncleanly_after_kill: int  # 1: that leader may lack records
    leader_after_stop: int
    revived_after_stop: int
    revived_uncleanly_after_stop: int


class Deaths(NamedTuple):
    """Deaths of brokers with replicas of some partitions of a batch: an element, or a column, for each failure of a partition."""

    row: Ints  # index of the partition in its batch
    positions: Matrix  # of its replicas, in the order of their deaths, padded with 0
    effective_deaths: Ints  # deaths that the controllers react to: fewer than all if the next one breaks their quorum
    quorum_lost: Ints
    unclean: Ints
    controlled_shutdown: Ints

    @classmethod
    def killed(cls, row: Ints, *positions: Ints, quorum_lost: Ints | int = 0) -> Deaths:
        """Kill the replicas at these positions one after the other; with a lost quorum the controllers react to no death."""
        lost, zeros = np.broadcast_to(quorum_lost, row.shape), np.zeros_like(row)
        return cls(row, np.stack(positions), np.where(lost, 0, len(positions)), lost, zeros + AS_TOPIC, zeros)


class Partitions:
    """A batch of partitions before any failure, with the columns INPUTS. A leader on a dead broker counts as none.

    Positions of brokers count from 1; 0 pads lists.
    """

    def __init__(self, columns: Mapping[str, pa.Array] | pa.RecordBatch) -> None:
        lists = [to_matrix(columns[name]) for name in ("replicas", "isr", "elr", "last_known_elr")]
        reported_leader = to_ints(columns["leader"], NO_BROKER)[np.newaxis]
        self._members, positions = _members(np.concatenate([*lists, reported_leader]))
        self.replicas, *sets, leader = np.split(positions, np.cumsum([len(matrix) for matrix in lists]))
        self.live = _positions(to_matrix(columns["live"]), self._members)
        self._quorum_breaking_brokers = to_matrix(columns["quorum_breaking_brokers"])
        assigned, factor = self.replicas.max(axis=0, initial=0), to_ints(columns["replication_factor"], 0)
        rules = [
            *(to_ints(columns[name], 0) for name in INPUTS[:5]),
            effective_min_isr(columns),
            effective_min_isr(columns, "oldest_min_isr_capped"),
        ]
        live_leader = np.where((self.live == leader).any(axis=0), leader[0], 0)
        sets[0].sort(axis=0)  # no outcome depends on the order of the ISR
        scalars = np.stack([*rules, np.where(factor > 0, factor, assigned), assigned, live_leader])
        patterns, self._pattern_index = distinct_columns(scalars, *sets, self.live)
        self._patterns = [Pattern(*values, *map(_unpadded, lists)) for values, *lists in patterns]  # type: ignore[arg-type]

    def outcomes(self, deaths: Deaths) -> tuple[list[Case], Ints]:
        """Return the distinct cases of these failures in canonical form, and the index of the case of each failure."""
        cases, index = self._cases(deaths)
        number_of: dict[Case, int] = {}
        numbers = [number_of.setdefault(canonical(case), len(number_of)) for case in cases]
        return list(number_of), np.array(numbers, np.int64)[index]

    def counts(self, deaths: Deaths) -> Matrix:
        """Return the counts of each failure: a row per failure, a column per field of Counts."""
        cases, index = self._cases(deaths)
        return _counts_of_cases(cases)[index]

    def total_counts(self, deaths: Deaths, group: Ints, groups: int, copies: Ints) -> Matrix:
        """Return the sums of `counts` by the group of each failure: a row per group. A partition counts `copies` times."""
        cases, index = self._cases(deaths)
        occurrences = np.bincount(group * len(cases) + index, weights=copies[deaths.row], minlength=groups * len(cases))
        return np.asarray(occurrences.astype(np.int64).reshape(groups, len(cases)) @ _counts_of_cases(cases))

    def returns(self, deaths: Deaths) -> dict[str, Ints]:
        """Return, by the fields of Return, the partition after the first of these brokers died and returned."""
        cases, index = self._cases(deaths)
        columns = np.array([return_of(case) for case in cases], np.int64).reshape(-1, len(Return._fields))[index].T
        return dict(zip(Return._fields, columns, strict=True))

    def other_members(self, row: Ints, assigned: Ints) -> pa.ListArray:
        """Return the brokers at the positions after the first `assigned` ones of each of these partitions."""
        others = self._members[:, row]
        others = np.where(np.arange(len(others))[:, np.newaxis] < assigned, _UNUSED, others)
        exists = others.T != _UNUSED
        offsets = np.concatenate([[0], np.cumsum(exists.sum(axis=1))])
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(others.T[exists], pa.int32()))

    def _cases(self, deaths: Deaths) -> tuple[list[Case], Ints]:
        """Return the distinct pairs of pattern and event, and the index of the pair of each failure."""
        scalars = np.stack([deaths.effective_deaths, deaths.quorum_lost, deaths.unclean, deaths.controlled_shutdown])
        columns, index = distinct_columns(self._pattern_index[np.newaxis, deaths.row], scalars, deaths.positions)
        cases = [
            Case(self._patterns[pattern], Event(effective_deaths, quorum_lost, unclean, controlled_shutdown, _unpadded(dying)))
            for (pattern,), (effective_deaths, quorum_lost, unclean, controlled_shutdown), dying in columns
        ]
        return cases, index

    def one_death_each(self, positions: Matrix) -> tuple[Ints, Deaths]:
        """Kill each of these replicas alone, given as a column of positions per partition; return the broker's id for each death too."""
        nth, row = np.nonzero(positions)
        position = positions[nth, row]
        broker = self.brokers(position, row)
        quorum_lost = (self._quorum_breaking_brokers[:, row] == broker).any(axis=0)
        return broker, Deaths.killed(row, position, quorum_lost=quorum_lost)

    def brokers(self, positions: Ints, row: Ints) -> Ints:
        """Return the ids of the brokers at these positions, each of the partition of that row."""
        return self._members[np.maximum(positions, 1) - 1, row] if len(self._members) else positions


def _members(brokers: Matrix) -> tuple[Matrix, Matrix]:
    """Return the distinct brokers of each column in the order of their first occurrence, and the position of each occurrence, from 1."""
    members, positions, count = np.full(brokers.shape, _UNUSED), np.zeros_like(brokers), np.zeros(brokers.shape[1], np.int64)
    for nth, ids in enumerate(brokers):
        positions[nth] = _positions(ids[np.newaxis], members[: count.max(initial=0)])[0]
        new = np.flatnonzero((positions[nth] == 0) & (ids != NO_BROKER))
        members[count[new], new] = ids[new]
        count[new] += 1
        positions[nth, new] = count[new]
    return members[: count.max(initial=0)], positions


def _positions(ids: Matrix, members: Matrix) -> Matrix:
    """Return the position of each id among the members of its column, from 1; 0: it is no member."""
    positions = np.zeros_like(ids)
    for position, member in enumerate(members, start=1):
        positions[ids == member] = position
    return positions


def _unpadded(positions: Positions) -> Positions:
    return tuple([position for position in positions if position])


def _model_inputs(pattern: Pattern, event: Event) -> tuple[Partition, dict[str, Any]]:
    """Return the partition of a pattern, and the rules of its elections, as kafka_model has them."""
    partition = Partition(
        replicas=tuple(range(1, pattern.replicas + 1)),
        leader=pattern.leader or None,
        isr=pattern.isr,
        elr=pattern.elr,
        last_known_elr=pattern.last_known_elr,
        min_insync_replicas=pattern.min_insync_replicas,
        topic_replication_factor=pattern.replication_factor,
    )
    rules = {
        "controller": "kraft" if pattern.kraft else "zookeeper",
        "elr": bool(pattern.elr_enabled),
        "unclean": bool(pattern.topic_unclean if event.unclean == AS_TOPIC else event.unclean),
        "version": KRAFT_RULES_SINCE[pattern.election_rules],
    }
    return partition, rules


@cache
def canonical(case: Case) -> Case:
    """Return the case without what makes no difference to its outcome: in KRaft a controlled shutdown has the result of a death."""
    pattern, event = case
    unclean = pattern.topic_unclean if event.unclean == AS_TOPIC else event.unclean
    controlled_shutdown = 0 if pattern.kraft else event.controlled_shutdown
    return Case(pattern._replace(topic_unclean=unclean), event._replace(unclean=AS_TOPIC, controlled_shutdown=controlled_shutdown))


@cache
def outcome_of(case: Case) -> dict[str, Any]:
    """Return a partition after a failure, by the names of the columns of `failover_pattern` that follow from its key."""
    pattern, event = case
    before, rules = _model_inputs(pattern, event)
    after, live, election, transitions, unclean = before, set(pattern.live), ElectionKind.NONE, [], False
    for broker in event.dying[: event.effective_deaths]:
        live.discard(broker)
        step = fail_brokers(after, [broker], live | {broker}, controlled_shutdown=bool(event.controlled_shutdown), **rules)
        after, unclean = step.partition, unclean or step.election is ElectionKind.UNCLEAN
        election = election if step.election is ElectionKind.NONE else step.election
        transitions += [f"{state.value} -> {next_state.value}" for state, next_state in step.transitions]
    min_isr, survivors = pattern.min_insync_replicas, [position for position in pattern.live if position not in event.dying]
    leader = after.leader if after.leader in survivors else None
    # After the quorum is lost no controller removes dead brokers from an ISR: acks=all writes wait for them.
    waits_for_dead = event.quorum_lost and not set(after.isr) <= set(survivors)
    accepts_acks_all = leader is not None and len(after.isr) >= min_isr and not waits_for_dead
    has_every_record = {*before.isr, *before.elr}
    return {
        "state_before": _state(before.leader),
        "state": _state(leader),
        "transitions": transitions,
        "election": election.value,
        "leader_before": before.leader,
        "leader": leader,
        "isr": after.isr,
        "elr": after.elr if pattern.elr_enabled else None,
        "last_known_elr": tuple(position for position in after.last_known_elr if position > 0) if pattern.elr_enabled else None,
        "survivors": survivors,
        "under_min_isr_before": before.leader is None or len(before.isr) < min_isr,
        "under_min_isr": not accepts_acks_all,
        "at_min_isr": accepts_acks_all and len(after.isr) == min_isr,
        "unclean": unclean,
        "live_replicas_before": len(pattern.live),
        "live_replicas": len(survivors),
        "safe_replicas_before": len(has_every_record.intersection(pattern.live)),
        "safe_replicas": len(has_every_record.intersection(survivors)),
        "metadata_records": after.partition_epoch - before.partition_epoch if pattern.kraft else None,
        "leader_epochs": after.leader_epoch - before.leader_epoch,
    }


def depends_on_version(case: Case) -> bool:
    """Return whether an older release that the cluster may run has another outcome, not counting leader epochs.

    All patches of a minor release agree on the cap of min.insync.replicas, so the cap differs only where no metadata version is reported.
    """
    pattern, event = case
    rules = range(pattern.oldest_election_rules, pattern.election_rules if pattern.elr_enabled else 0)
    older = [pattern._replace(election_rules=number) for number in rules]
    if pattern.oldest_min_insync_replicas != pattern.min_insync_replicas:
        older.append(pattern._replace(min_insync_replicas=pattern.oldest_min_insync_replicas))
    outcomes = (outcome_of(Case(pattern, event)) for pattern in older)
    return any(outcome | {"leader_epochs": 0} != outcome_of(case) | {"leader_epochs": 0} for outcome in outcomes)


@cache
def return_of(case: Case) -> Return:
    """Return a partition after the first of the dying brokers returns, whether it was live before or dead already.

    A clean stop leaves leader, ISR and ELR as a kill does. Only after a kill the controller removes the returning broker from ISR and ELR.
    """
    pattern, event = case
    before, rules = _model_inputs(pattern, event)
    broker = event.dying[0]
    others = {*pattern.live} - {broker}
    dead = fail_brokers(before, [broker], pattern.live, **rules).partition if broker in pattern.live else before
    # A lost quorum recovers when its voter returns; only then do the controllers react to the death.
    leader = before.leader if event.quorum_lost else dead.leader
    live_leader = leader if leader in others else None
    after: list[int] = []
    for clean_stop in (False, True):
        returned = return_broker(dead, broker, others | {broker}, clean_stop=clean_stop, **rules)
        revived = live_leader is None and returned.partition.leader is not None
        uncleanly = revived and returned.election in (ElectionKind.UNCLEAN, ElectionKind.LAST_KNOWN_LEADER)
        after += [returned.partition.leader or 0, revived, uncleanly]
    rejoins = broker not in pattern.live or broker in before.isr
    return Return(rejoins, before.leader or 0, live_leader or 0, *after)


def _counts_of_cases(cases: Sequence[Case]) -> Matrix:
    """Return the counts of one partition in each case: a row per case."""
    return np.array([counts_of(outcome_of(canonical(case))) for case in cases], np.int64).reshape(-1, len(Counts._fields))


def counts_of(outcome: Mapping[str, Any]) -> Counts:
    """Return the counts of one partition after a failure; jobs/schema/failure.py has the same definitions in SQL."""
    leader, leader_before = outcome["leader"], outcome["leader_before"]
    return Counts(
        partitions=1,
        moved_leaders=leader is not None and leader != leader_before,
        newly_offline=leader is None and leader_before is not None,
        newly_refusing_acks_all=leader is not None and outcome["under_min_isr"] and not outcome["under_min_isr_before"],
        at_min_isr=outcome["at_min_isr"],
        newly_lost=outcome["safe_replicas"] == 0 and outcome["safe_replicas_before"] > 0,
    )


def _state(leader: int | None) -> str:
    return PartitionState.OFFLINE.value if leader is None else PartitionState.ONLINE.value
