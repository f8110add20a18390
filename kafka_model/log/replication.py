"""Replication within a partition: LEO, high watermark, ISR and truncation (Partition, Replica, ReplicaFetcherThread).

`Leader` reproduces Kafka 3.5 to 3.9. The log end offset (LEO) is the offset of the next record. The high watermark (HW) is the smallest
LEO of the ISR; consumers read below it. Broker 1 leads and has records 1 to 6, broker 2 has fetched up to record 5, broker 3 up to record
3. The HW is after record 3. When broker 3 has left the ISR, the HW is after record 5:

    >>> leader = Leader.create(1, {1: 4, 2: 4, 3: 4}).append(2, now_ms=0).fetch(2, 4, now_ms=20_000)
    >>> leader = leader.append(1, now_ms=20_000).fetch(2, 6, now_ms=20_500)
    >>> leader.log_end_offset, leader.high_watermark
    (7, 4)
    >>> shrunk = leader.shrink_isr(now_ms=30_001)
    >>> sorted(shrunk.isr), shrunk.high_watermark
    ([1, 2], 6)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from kafka_model.release import LATEST, Release

MIN_ISR_CAPPED_SINCE = Release(3, 7, 0)
_UNKNOWN = -1  # the offset of a follower that has not fetched yet


def effective_min_isr(min_insync_replicas: int, replicas: int, version: Release = LATEST) -> int:
    """Return how many of a partition's replicas must be in sync for acks=all (Partition.effectiveMinIsr): since 3.7.0, at most all.

    >>> effective_min_isr(2, 1), effective_min_isr(2, 1, Release(3, 6, 2))
    (1, 2)
    """
    return min(min_insync_replicas, replicas) if version >= MIN_ISR_CAPPED_SINCE else min_insync_replicas


@dataclass(frozen=True, slots=True)
class Follower:
    """A leader's state of a follower: how far it has fetched, and when it was last caught up."""

    log_end_offset: int
    last_caught_up_ms: int
    last_fetch_leader_log_end_offset: int = 0  # the leader's LEO at the follower's last fetch
    last_fetch_ms: int = 0

    def fetched(self, offset: int, leader_log_end_offset: int, *, now_ms: int) -> Follower:
        """Update the follower after a fetch from this offset.

        It is caught up if the offset is the leader's LEO, or reaches the LEO at the time of its previous fetch.
        """
        caught_up_ms = self.last_caught_up_ms
        if offset >= leader_log_end_offset:
            caught_up_ms = max(caught_up_ms, now_ms)
        elif offset >= self.last_fetch_leader_log_end_offset:
            caught_up_ms = max(caught_up_ms, self.last_fetch_ms)
        seen = max(leader_log_end_offset, self.last_fetch_leader_log_end_offset)
        return Follower(offset, caught_up_ms, seen, now_ms)

    def caught_up(self, leader_log_end_offset: int, *, now_ms: int, lag_time_max_ms: int) -> bool:
        """Return whether the follower is at the leader's LEO, or was caught up within replica.lag.time.max.ms."""
        return self.log_end_offset == leader_log_end_offset or now_ms - self.last_caught_up_ms <= lag_time_max_ms


@dataclass(frozen=True, slots=True)
class Leader:
    """A partition's state on its leader. Here the ISR changes at once; in Kafka the controller confirms the change first."""

    broker: int
    log_end_offset: int
    high_watermark: int
    isr: frozenset[int]
    followers: Mapping[int, Follower]
    lag_time_max_ms: int = 30_000
    epoch_start_offset: int = 0  # the leader's LEO at its election
    min_insync_replicas: int = 1  # since Kafka 3.7 the HW does not rise while the ISR is smaller
    version: Release = LATEST

    @classmethod
    def create(cls, broker: int, log_end_offsets: Mapping[int, int], *, now_ms: int = 0) -> Leader:
        """Create a leader whose ISR is all of these brokers, each with its LEO, all caught up at this time."""
        followers = {other: Follower(leo, now_ms) for other, leo in log_end_offsets.items() if other != broker}
        return cls(broker, log_end_offsets[broker], min(log_end_offsets.values()), frozenset(log_end_offsets), followers)

    @classmethod
    def elected(
        cls,
        broker: int,
        log_end_offset: int,
        high_watermark: int,
        isr: Collection[int],
        replicas: Collection[int],
        *,
        now_ms: int,
        lag_time_max_ms: int = 30_000,
        min_insync_replicas: int = 1,
        version: Release = LATEST,
    ) -> Leader:
        """Create a newly elected leader: the LEO of followers is unknown, and ISR members have the lag time from now to catch up."""
        followers = {
            other: Follower(_UNKNOWN, now_ms if other in isr else 0, last_fetch_leader_log_end_offset=_UNKNOWN)
            for other in replicas
            if other != broker
        }
        min_isr = min(min_insync_replicas, len(replicas))
        leader = cls(broker, log_end_offset, high_watermark, frozenset(isr), followers, lag_time_max_ms, log_end_offset, min_isr, version)
        return leader._with_advanced_high_watermark(now_ms)

    def append(self, records: int, *, now_ms: int) -> Leader:
        """Append records. They are below the HW at once if no follower is in the ISR or about to join it."""
        return replace(self, log_end_offset=self.log_end_offset + records)._with_advanced_high_watermark(now_ms)

    def fetch(self, follower: int, offset: int, *, now_ms: int) -> Leader:
        """Handle a fetch: the offset is the follower's LEO.

        The follower joins the ISR if it has reached the HW and the start of the leader's epoch.
        """
        known = self.followers[follower]
        fetched = known.fetched(offset, self.log_end_offset, now_ms=now_ms)
        joins = {follower} - self.isr if offset >= max(self.high_watermark, self.epoch_start_offset) else set()
        updated = replace(self, followers={**self.followers, follower: fetched}, isr=self.isr | joins)
        return updated._with_advanced_high_watermark(now_ms) if joins or offset != known.log_end_offset else updated

    def out_of_sync(self, *, now_ms: int) -> frozenset[int]:
        """List the members of the ISR that are not caught up."""
        return frozenset(broker for broker in self.isr - {self.broker} if not self._caught_up(broker, now_ms))

    def shrink_isr(self, *, now_ms: int) -> Leader:
        """Remove the members that are out of sync from the ISR. The HW may rise."""
        leaving = self.out_of_sync(now_ms=now_ms)
        return replace(self, isr=self.isr - leaving)._with_advanced_high_watermark(now_ms) if leaving else self

    def _caught_up(self, broker: int, now_ms: int) -> bool:
        return self.followers[broker].caught_up(self.log_end_offset, now_ms=now_ms, lag_time_max_ms=self.lag_time_max_ms)

    def _with_advanced_high_watermark(self, now_ms: int) -> Leader:
        """Raise the HW to the smallest LEO of the ISR and of followers that are caught up and about to join it."""
        if self.version >= Release(3, 7, 0) and len(self.isr) < self.min_insync_replicas:
            return self
        awaited = [broker for broker in self.followers if broker in self.isr or self._caught_up(broker, now_ms)]
        smallest = min([self.log_end_offset, *(self.followers[broker].log_end_offset for broker in awaited)])
        return replace(self, high_watermark=max(self.high_watermark, smallest))


def under_replicated(replicas: Sequence[int], isr: Sequence[int]) -> bool:
    """Return whether the ISR is smaller than the set of replicas."""
    return len(isr) < len(replicas)


# ---------------------------------------------------------------- truncation
@dataclass(frozen=True, slots=True)
class EpochEntry:
    """A leader epoch and the offset of its first record."""

    epoch: int
    start_offset: int


def truncate_to_high_watermark(log_end_offset: int, high_watermark: int) -> int:
    """Compute the LEO of a restarting follower before KIP-101: it truncates to its own HW, even if records above it are committed."""
    return min(log_end_offset, high_watermark)


def end_offset_for(epochs: Sequence[EpochEntry], log_end_offset: int, epoch: int) -> tuple[int, int] | None:
    """Answer OffsetsForLeaderEpoch: the leader's largest epoch up to the requested one, and its end offset. None if unknown.

    An epoch before the leader's first one ends where the first one starts.
    """
    if not epochs or epoch > epochs[-1].epoch:
        return None
    if epoch == epochs[-1].epoch:
        return epoch, log_end_offset
    later = next(entry for entry in epochs if entry.epoch > epoch)
    earlier = [entry.epoch for entry in epochs if entry.epoch <= epoch]
    return (earlier[-1] if earlier else epoch), later.start_offset


def truncate_by_epoch(
    follower: Sequence[EpochEntry],
    follower_log_end_offset: int,
    leader: Sequence[EpochEntry],
    leader_log_end_offset: int,
    *,
    high_watermark: int,
) -> int:
    """Compute a follower's LEO after it asks the leader about its last epoch and truncates until both agree (KIP-101, KIP-279).

    If the follower has no epoch, or the leader knows none, the follower truncates to its own HW, as before KIP-101.
    """
    end, epochs = follower_log_end_offset, list(follower)
    while epochs:
        answer = end_offset_for(leader, leader_log_end_offset, epochs[-1].epoch)
        if answer is None:
            break
        epoch, leader_end = answer
        own = end_offset_for(epochs, end, epoch)
        if own is None or own[0] == epoch:
            return min(end, leader_end, own[1] if own else end)
        end = min(end, own[1])
        epochs = truncate_epochs(epochs, end)
    return min(end, high_watermark)


def truncate_epochs(epochs: Sequence[EpochEntry], end_offset: int) -> list[EpochEntry]:
    """List the epochs that remain after a log is truncated to an offset."""
    return [entry for entry in epochs if entry.start_offset < end_offset]
