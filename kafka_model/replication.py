"""How followers keep up: LEO, high watermark, ISR, truncation (Partition, ReplicaManager, ReplicaFetcherThread; Kafka 2.0 to 4.3).

The log end offset (LEO) is the offset that the next record will get; the high watermark (HW) is the least LEO of the ISR, and consumers read below it.
Broker 1 leads and has records 1 to 6, broker 2 has followed up to 5, broker 3 up to 3. The HW stands behind record 3; once broker 3 is out of the
ISR, behind 5:

    >>> leader = Leader.of(1, {1: 4, 2: 4, 3: 4}).append(2).fetch(2, 4, now_ms=20_000).append(1).fetch(2, 6, now_ms=20_500)
    >>> leader.log_end_offset, leader.high_watermark
    (7, 4)
    >>> shrunk = leader.shrink_isr(now_ms=30_001, lag_time_max_ms=30_000)
    >>> sorted(shrunk.isr), shrunk.high_watermark
    ([1, 2], 6)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Follower:
    """What a leader knows of a follower: how far it has fetched, and when it last had all there was."""

    log_end_offset: int
    last_caught_up_ms: int
    last_fetch_leader_log_end_offset: int = 0  # the leader's LEO at the follower's last fetch
    last_fetch_ms: int = 0


@dataclass(frozen=True, slots=True)
class Leader:
    """A partition as its leader sees it."""

    broker: int
    log_end_offset: int
    high_watermark: int
    isr: frozenset[int]
    followers: Mapping[int, Follower]

    @classmethod
    def of(cls, broker: int, log_end_offsets: Mapping[int, int], *, now_ms: int = 0) -> Leader:
        """A leader whose ISR is all of these brokers, each with its LEO, all caught up at that time."""
        followers = {other: Follower(leo, now_ms) for other, leo in log_end_offsets.items() if other != broker}
        return cls(broker, log_end_offsets[broker], min(log_end_offsets.values()), frozenset(log_end_offsets), followers)

    def append(self, records: int) -> Leader:
        """The leader with more records; they are below the HW at once if it is alone in the ISR."""
        return replace(self, log_end_offset=self.log_end_offset + records)._advanced()

    def fetch(self, follower: int, offset: int, *, now_ms: int) -> Leader:
        """The leader after a fetch from that offset, which tells it the follower's LEO; it may rejoin the ISR."""
        known = self.followers[follower]
        if offset >= self.log_end_offset:
            caught_up_ms = max(known.last_caught_up_ms, now_ms)
        elif offset >= known.last_fetch_leader_log_end_offset:
            caught_up_ms = max(known.last_caught_up_ms, known.last_fetch_ms)  # it has all that there was at its fetch before
        else:
            caught_up_ms = known.last_caught_up_ms
        fetched = Follower(offset, caught_up_ms, self.log_end_offset, now_ms)
        after = replace(self, followers={**self.followers, follower: fetched})
        if follower not in after.isr and offset >= after.high_watermark:
            after = replace(after, isr=after.isr | {follower})
        return after._advanced()

    def lagging(self, *, now_ms: int, lag_time_max_ms: int) -> frozenset[int]:
        """The members of the ISR that are not at the leader's LEO, and have not been within replica.lag.time.max.ms."""
        return frozenset(
            broker
            for broker, follower in self.followers.items()
            if broker in self.isr
            and follower.log_end_offset != self.log_end_offset
            and now_ms - follower.last_caught_up_ms > lag_time_max_ms
        )

    def shrink_isr(self, *, now_ms: int, lag_time_max_ms: int) -> Leader:
        """The leader without the laggards in its ISR: the HW may rise."""
        return replace(self, isr=self.isr - self.lagging(now_ms=now_ms, lag_time_max_ms=lag_time_max_ms))._advanced()

    def _advanced(self) -> Leader:
        least = min([self.log_end_offset, *(self.followers[broker].log_end_offset for broker in self.isr if broker != self.broker)])
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
    """What a leader answers to OffsetsForLeaderEpoch: the greatest of its epochs up to the one asked, and where it ended; None: it knows none.

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
    follower: Sequence[EpochEntry], follower_log_end_offset: int, leader: Sequence[EpochEntry], leader_log_end_offset: int
) -> int:
    """The LEO of a follower after it asked the leader about its epochs, newest first, until they agree on one (KIP-101, KIP-279)."""
    end = follower_log_end_offset
    known = list(follower)
    while known:
        answer = end_offset_for(leader, leader_log_end_offset, known[-1].epoch)
        if answer is None:
            return end
        epoch, leader_end = answer
        own = end_offset_for(known, end, epoch)
        if own is None or own[0] == epoch:
            return min(end, leader_end, own[1] if own else end)
        end = min(end, own[1])
        known = [entry for entry in known if entry.epoch <= own[0]]
    return end
