"""How followers keep up: LEO, high watermark, ISR, truncation (Partition, Replica, ReplicaFetcherThread; Kafka 2.0 to
4.3; the steps of `Leader` are those of 3.7 to 3.9, asked of a real Partition).

The log end offset (LEO) is the offset that the next record will get; the high watermark (HW) is the least LEO of the ISR, and consumers
read below it. Broker 1 leads and has records 1 to 6, broker 2 has followed up to 5, broker 3 up to 3. The HW stands behind record 3; once
broker 3 is out of the ISR, behind 5:

    >>> leader = Leader.of(1, {1: 4, 2: 4, 3: 4}).append(2, now_ms=0).fetch(2, 4, now_ms=20_000)
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

_UNKNOWN = -1  # the offset of a follower that has not fetched yet


@dataclass(frozen=True, slots=True)
class Follower:
    """What a leader knows of a follower: how far it has fetched, and when it last had all there was."""

    log_end_offset: int
    last_caught_up_ms: int
    last_fetch_leader_log_end_offset: int = 0  # the leader's LEO at the follower's last fetch
    last_fetch_ms: int = 0

    def fetched(self, offset: int, leader_log_end_offset: int, *, now_ms: int) -> Follower:
        """The follower after a fetch from that offset: it is caught up if it asks for what is not there yet, or has all that was at its
        fetch before.
        """
        caught_up_ms = self.last_caught_up_ms
        if offset >= leader_log_end_offset:
            caught_up_ms = max(caught_up_ms, now_ms)
        elif offset >= self.last_fetch_leader_log_end_offset:
            caught_up_ms = max(caught_up_ms, self.last_fetch_ms)
        seen = max(leader_log_end_offset, self.last_fetch_leader_log_end_offset)
        return Follower(offset, caught_up_ms, seen, now_ms)

    def caught_up(self, leader_log_end_offset: int, *, now_ms: int, lag_time_max_ms: int) -> bool:
        """At the leader's LEO, or there not longer ago than replica.lag.time.max.ms."""
        return self.log_end_offset == leader_log_end_offset or now_ms - self.last_caught_up_ms <= lag_time_max_ms


@dataclass(frozen=True, slots=True)
class Leader:
    """A partition as its leader sees it. The ISR changes at once here; in Kafka the controller confirms it first."""

    broker: int
    log_end_offset: int
    high_watermark: int
    isr: frozenset[int]
    followers: Mapping[int, Follower]
    lag_time_max_ms: int = 30_000
    epoch_start_offset: int = 0  # the leader's LEO when it was elected
    min_insync_replicas: int = 0  # the HW does not rise while the ISR is smaller, since Kafka 3.7; 0: before

    @classmethod
    def of(cls, broker: int, log_end_offsets: Mapping[int, int], *, now_ms: int = 0) -> Leader:
        """A leader whose ISR is all of these brokers, each with its LEO, all caught up at that time."""
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
        min_insync_replicas: int = 0,
    ) -> Leader:
        """A leader that just took over: of no follower it knows how far it is, and those in the ISR have from now on to catch up."""
        followers = {
            other: Follower(_UNKNOWN, now_ms if other in isr else 0, last_fetch_leader_log_end_offset=_UNKNOWN)
            for other in replicas
            if other != broker
        }
        least = min(min_insync_replicas, len(replicas))
        taken = cls(broker, log_end_offset, high_watermark, frozenset(isr), followers, lag_time_max_ms, log_end_offset, least)
        return taken._advanced(now_ms)

    def append(self, records: int, *, now_ms: int) -> Leader:
        """The leader with more records; they are below the HW at once if nobody is to be waited for."""
        return replace(self, log_end_offset=self.log_end_offset + records)._advanced(now_ms)

    def fetch(self, follower: int, offset: int, *, now_ms: int) -> Leader:
        """The leader after a fetch from that offset, which tells it the follower's LEO; at the HW, and in the leader's epoch, it joins
        the ISR.
        """
        known = self.followers[follower]
        fetched = known.fetched(offset, self.log_end_offset, now_ms=now_ms)
        joins = {follower} - self.isr if offset >= max(self.high_watermark, self.epoch_start_offset) else set()
        after = replace(self, followers={**self.followers, follower: fetched}, isr=self.isr | joins)
        return after._advanced(now_ms) if joins or offset != known.log_end_offset else after

    def out_of_sync(self, *, now_ms: int) -> frozenset[int]:
        """The members of the ISR that are not caught up."""
        return frozenset(broker for broker in self.isr - {self.broker} if not self._caught_up(broker, now_ms))

    def shrink_isr(self, *, now_ms: int) -> Leader:
        """The leader without those out of sync in its ISR: the HW may rise."""
        leaving = self.out_of_sync(now_ms=now_ms)
        return replace(self, isr=self.isr - leaving)._advanced(now_ms) if leaving else self

    def _caught_up(self, broker: int, now_ms: int) -> bool:
        return self.followers[broker].caught_up(self.log_end_offset, now_ms=now_ms, lag_time_max_ms=self.lag_time_max_ms)

    def _advanced(self, now_ms: int) -> Leader:
        """The HW rises to the least LEO of the ISR, and of those who are caught up and about to join it."""
        if len(self.isr) < self.min_insync_replicas:
            return self
        awaited = [broker for broker in self.followers if broker in self.isr or self._caught_up(broker, now_ms)]
        least = min([self.log_end_offset, *(self.followers[broker].log_end_offset for broker in awaited)])
        return replace(self, high_watermark=max(self.high_watermark, least))


def under_replicated(replicas: Sequence[int], isr: Sequence[int]) -> bool:
    """The ISR is smaller than the replicas."""
    return len(isr) < len(replicas)


# ---------------------------------------------------------------- truncation
@dataclass(frozen=True, slots=True)
class EpochEntry:
    """Where a leader's records begin."""

    epoch: int
    start_offset: int


def truncate_to_high_watermark(log_end_offset: int, high_watermark: int) -> int:
    """The LEO of a follower that restarts, before KIP-101: what lies above its own HW goes, committed or not."""
    return min(log_end_offset, high_watermark)


def end_offset_for(epochs: Sequence[EpochEntry], log_end_offset: int, epoch: int) -> tuple[int, int] | None:
    """What a leader answers to OffsetsForLeaderEpoch: the greatest of its epochs up to the one asked, and where it ended; None: it knows
    none.

    An epoch before the first that it knows ends where that one begins.
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
    """The LEO of a follower after it asked the leader about its last epoch, and went back until they agree on one (KIP-101, KIP-279).

    Where there is no epoch to ask about, or the leader knows none, it goes back to its own high watermark, as before KIP-101.
    """
    end, known = follower_log_end_offset, list(follower)
    while known:
        answer = end_offset_for(leader, leader_log_end_offset, known[-1].epoch)
        if answer is None:
            break
        epoch, leader_end = answer
        own = end_offset_for(known, end, epoch)
        if own is None or own[0] == epoch:
            return min(end, leader_end, own[1] if own else end)
        end = min(end, own[1])
        known = truncate_epochs(known, end)
    return min(end, high_watermark)


def truncate_epochs(epochs: Sequence[EpochEntry], end_offset: int) -> list[EpochEntry]:
    """The epochs that are left when a log is cut off at an offset."""
    return [entry for entry in epochs if entry.start_offset < end_offset]


# ---------------------------------------------------------------- loss
@dataclass(frozen=True, slots=True)
class ReplicaLog:
    """What a replica has: where each leader's records begin in it, and where it ends."""

    epochs: tuple[EpochEntry, ...]
    log_end_offset: int


def lost_records(leader: ReplicaLog, others: Collection[ReplicaLog], *, high_watermark: int) -> tuple[int, int]:
    """What an unclean leader costs: records that had been committed, and all that any replica had, beyond what the replicas keep when
    they truncate to the new leader's log. A log as long as the leader's loses all from where they part.
    """
    committed = lost = 0
    for log in others:
        kept = truncate_by_epoch(log.epochs, log.log_end_offset, leader.epochs, leader.log_end_offset, high_watermark=high_watermark)
        lost = max(lost, log.log_end_offset - kept)
        committed = max(committed, min(high_watermark, log.log_end_offset) - kept)
    return committed, lost
