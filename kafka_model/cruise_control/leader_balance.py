"""Step of a reassignment for Cruise Control's LeaderReplicaDistributionGoal (2.5 of August 2026), by changes of leadership alone.

The search is our own. A leadership goes along the shortest chain of brokers from one with too many leaders to one with too few. Each broker
between gets one leadership and gives one, so that only the two ends of the chain change their counts.

    >>> from kafka_model.cruise_control.plan_state import Cluster, DiskSpace, PlanRequest, Thresholds
    >>> rows = [("t", n, (1, 2), 1, 1.0) for n in range(5)] + [("t", 5, (2, 3), 2, 1.0), ("t", 6, (2, 3), 2, 1.0), ("t", 7, (3, 2), 3, 1.0)]
    >>> cluster = Cluster.from_rows({1: "a", 2: "b", 3: "c"}, rows)
    >>> state = PlanState(cluster, PlanRequest(), Thresholds(), DiskSpace.from_share(cluster, 1.0))
    >>> balance_leaders(state)
    >>> np.bincount(state.replicas[:, 0]).tolist()
    [3, 3, 2]

Each broker may lead 2 to 3 of the eight partitions. Brokers 1 and 3 share none, so broker 2 takes over from 1 and hands over to 3.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Sequence
from itertools import pairwise

import numpy as np

from kafka_model.cruise_control.limits import count_limits
from kafka_model.cruise_control.plan import REASON_LEADERS
from kafka_model.cruise_control.plan_state import LEADERS, PlanState

_CANDIDATES = 64  # partitions that are tried for one change of leadership


def balance_leaders(state: PlanState) -> None:
    """Change leaderships until all brokers are within the limits of LeaderReplicaDistributionGoal or no chain is left."""
    brokers = int(state.eligible_brokers.sum())
    if not brokers:
        return
    threshold = state.thresholds.leader_replica_count_balance_threshold
    lower, upper = count_limits(len(state.replicas), brokers, threshold)
    leadership = _Leadership(state)
    while (chain := leadership.next_chain(lower, upper)) and leadership.relocate_along(chain):
        pass
    state.keep_within(LEADERS, lower, upper)


class _Leadership:
    """The number of leaders of each broker, and the partitions that may change their leader."""

    def __init__(self, state: PlanState) -> None:
        self._state = state
        self._eligible_brokers = np.flatnonzero(state.eligible_brokers)
        self._leaders = np.bincount(state.replicas[:, 0], minlength=len(state.eligible_brokers))
        self._is_limited = state.limits_leadership()
        # The partitions of each leader and follower. Those that have changed since are dropped when they are met.
        self._partitions: dict[tuple[int, int], list[int]] = defaultdict(list)
        for slot in range(1, state.replicas.shape[1]):
            partitions = np.flatnonzero((state.replicas[:, slot] >= 0) & state.movable_partitions)
            leaders, followers = state.replicas[partitions, 0].tolist(), state.replicas[partitions, slot].tolist()
            for partition, leader, follower in zip(partitions.tolist(), leaders, followers, strict=True):
                self._partitions[leader, follower].append(partition)

    def next_chain(self, lower: int, upper: int) -> list[int] | None:
        """Return a chain of brokers that brings one of them nearer to its limits; None if there is none."""
        leaders = self._leaders[self._eligible_brokers]
        under = self._eligible_brokers[leaders < lower].tolist()
        below_upper = self._eligible_brokers[leaders < upper].tolist()
        limits = np.where(self._state.eligible_brokers, upper, 0)  # a dead or drained broker should lead nothing
        if over := np.flatnonzero(self._leaders > limits).tolist():
            fullest = min(over, key=lambda broker: (-int(self._leaders[broker]), broker))
            return self._chain([fullest], set(under or below_upper)) or self._chain([fullest], set(below_upper))
        if not under:
            return None
        donors = sorted(self._eligible_brokers[leaders > lower].tolist(), key=lambda broker: (-int(self._leaders[broker]), broker))
        return self._chain(donors, set(under))

    def relocate_along(self, chain: Sequence[int]) -> bool:
        """Change one leadership from each broker of the chain to the next; return False, and change nothing, if one has none to give."""
        changes = [(follower, self._partition_to_relocate(leader, follower)) for leader, follower in pairwise(chain)]
        relocations = [(follower, partition) for follower, partition in changes if partition is not None]
        if len(relocations) < len(changes):
            return False
        for follower, partition in relocations:
            self._relocate(partition, follower)
        return True

    def _relocate(self, partition: int, follower: int) -> None:
        state = self._state
        leader = int(state.replicas[partition, 0])
        state.relocate_leadership(partition, int(np.flatnonzero(state.replicas[partition] == follower)[0]), REASON_LEADERS)
        self._leaders[leader] -= 1
        self._leaders[follower] += 1
        for broker in state.replicas[partition, 1:].tolist():
            if broker >= 0:
                self._partitions[follower, broker].append(partition)

    def _chain(self, starts: Sequence[int], ends: Collection[int]) -> list[int] | None:
        """Search breadth-first for the shortest chain, through the brokers with the fewest leaders first."""
        previous: dict[int, int | None] = dict.fromkeys(starts)
        queue = deque(starts)
        while queue:
            leader = queue.popleft()
            for follower in sorted(self._eligible_brokers.tolist(), key=lambda broker: (int(self._leaders[broker]), broker)):
                if follower in previous or self._partition_to_relocate(leader, follower) is None:
                    continue
                previous[follower] = leader
                queue.append(follower)
                if follower in ends:
                    chain = [follower]
                    while (predecessor := previous[chain[-1]]) is not None:
                        chain.append(predecessor)
                    return chain[::-1]
        return None

    def _partition_to_relocate(self, leader: int, follower: int) -> int | None:
        """Return a partition that one broker leads and the other follows and may lead, and try it first the next time."""
        partitions = self._partitions.get((leader, follower), [])
        while partitions and not self._is_led_and_followed(partitions[-1], leader, follower):
            partitions.pop()
        if not self._is_limited or not partitions:
            return partitions[-1] if partitions else None
        for index in range(len(partitions) - 1, max(len(partitions) - 1 - _CANDIDATES, -1), -1):
            partition = partitions[index]
            is_current = self._is_led_and_followed(partition, leader, follower)
            if is_current and self._state.may_relocate_leadership(partition, leader, follower):
                partitions.append(partitions.pop(index))
                return partition
        return None

    def _is_led_and_followed(self, partition: int, leader: int, follower: int) -> bool:
        row = self._state.replicas[partition]
        return bool(row[0] == leader and (row == follower).any())
