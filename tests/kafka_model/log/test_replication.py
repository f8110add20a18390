from __future__ import annotations

from kafka_model.log.replication import (
    EpochEntry,
    Follower,
    Leader,
    end_offset_for,
    truncate_by_epoch,
    truncate_to_high_watermark,
    under_replicated,
)

# The seed numbers records from 1, so the LEO (the next offset) is one more than the last record. Broker 1 has records 1 to 6, broker 2
# fetched all records (up to 5) at 20 s, broker 3 has fetched none since record 3.
SEED = (
    Leader.create(1, {1: 4, 2: 4, 3: 4}).append(2, now_ms=0).fetch(2, 4, now_ms=20_000).append(1, now_ms=20_000).fetch(2, 6, now_ms=20_500)
)


def test_seed_003_high_watermark_is_the_smallest_leo_of_the_isr() -> None:
    assert SEED.log_end_offset - 1 == 6
    assert SEED.high_watermark - 1 == 3


def test_seed_003_without_the_lagging_replica_in_the_isr_consumers_read_up_to_5() -> None:
    shrunk = SEED.shrink_isr(now_ms=30_001)
    assert shrunk.isr == {1, 2}
    assert shrunk.high_watermark - 1 == 5


def test_seed_003_a_follower_leaves_the_isr_only_after_the_lag_time() -> None:
    assert SEED.shrink_isr(now_ms=30_000).isr == {1, 2, 3}


def test_seed_003_with_all_caught_up_the_high_watermark_is_the_leo() -> None:
    caught_up = SEED.fetch(2, 7, now_ms=10).fetch(3, 7, now_ms=10)
    assert caught_up.high_watermark == caught_up.log_end_offset == 7


def test_seed_003_a_follower_rejoins_the_isr_at_the_high_watermark() -> None:
    out = SEED.fetch(2, 7, now_ms=29_999).shrink_isr(now_ms=30_001)
    assert (out.isr, out.high_watermark) == ({1, 2}, 7)
    assert out.fetch(3, 6, now_ms=31_000).isr == {1, 2}
    assert out.fetch(3, 7, now_ms=31_000).isr == {1, 2, 3}


def test_seed_003_under_replicated_is_an_isr_smaller_than_the_replicas() -> None:
    assert under_replicated([1, 2, 3], [1, 2])
    assert not under_replicated([1, 2, 3], [3, 2, 1])


def test_a_follower_at_the_leo_of_its_previous_fetch_was_caught_up_then() -> None:
    leader = Leader.create(1, {1: 0, 2: 0}).append(5, now_ms=50).fetch(2, 0, now_ms=100).append(5, now_ms=150).fetch(2, 5, now_ms=200)
    assert leader.followers[2].last_caught_up_ms == 100


def test_seed_003_a_restarted_replica_truncates_to_its_high_watermark() -> None:
    assert truncate_to_high_watermark(log_end_offset=7, high_watermark=4) == 4


def test_before_kip_101_a_restart_can_lose_a_committed_record() -> None:
    # KIP-101, scenario 1: B has m2 (offset 1), but its HW does not include m2 yet. It restarts, truncates, and becomes leader at once.
    assert truncate_to_high_watermark(log_end_offset=2, high_watermark=1) == 1
    assert truncate_by_epoch([EpochEntry(0, 0)], 2, [EpochEntry(0, 0)], 2, high_watermark=1) == 2


def test_before_kip_101_logs_can_diverge_and_with_epochs_they_do_not() -> None:
    # KIP-101, scenario 2: A lost m2 and led epoch 1 from offset 1 on. B returns with m2 of epoch 0 at offset 1 and a HW of 2.
    assert truncate_to_high_watermark(log_end_offset=2, high_watermark=2) == 2
    assert truncate_by_epoch([EpochEntry(0, 0)], 2, [EpochEntry(0, 0), EpochEntry(1, 1)], 2, high_watermark=2) == 1


def test_a_follower_with_an_epoch_unknown_to_the_leader_truncates_to_a_common_epoch() -> None:
    # KIP-279: the follower led epoch 2 from offset 5. The leader never had that epoch and led epoch 3 from offset 4.
    follower = [EpochEntry(0, 0), EpochEntry(2, 5)]
    leader = [EpochEntry(0, 0), EpochEntry(1, 3), EpochEntry(3, 4)]
    assert end_offset_for(leader, 10, 2) == (1, 4)
    assert truncate_by_epoch(follower, 9, leader, 10, high_watermark=0) == 3


def test_without_epochs_a_follower_truncates_to_its_high_watermark() -> None:
    assert truncate_by_epoch([], 9, [EpochEntry(0, 0)], 10, high_watermark=4) == 4


def test_a_follower_about_to_join_the_isr_limits_the_high_watermark() -> None:
    leader = Leader.create(1, {1: 5, 2: 5}).shrink_isr(now_ms=0)
    out = Leader(1, 5, 5, frozenset({1}), leader.followers)
    assert out.append(3, now_ms=30_000).high_watermark == 5  # it was caught up at 0, within the lag time
    assert out.append(3, now_ms=30_001).high_watermark == 8


def test_since_3_7_the_high_watermark_does_not_rise_below_min_isr() -> None:
    alone = Leader(1, 5, 5, frozenset({1}), {}, min_insync_replicas=2)
    assert alone.append(3, now_ms=0).high_watermark == 5


def test_a_follower_joins_the_isr_only_at_the_start_of_the_leaders_epoch() -> None:
    leader = Leader(1, 9, 4, frozenset({1}), {2: Leader.create(1, {1: 0, 2: 0}).followers[2]}, epoch_start_offset=7)
    assert leader.fetch(2, 6, now_ms=1).isr == {1}
    assert leader.fetch(2, 7, now_ms=1).isr == {1, 2}


def test_a_follower_that_joins_without_new_records_raises_the_high_watermark_of_a_too_small_isr() -> None:
    leader = Leader(1, 5, 3, frozenset({1}), {2: Follower(5, 0)}, min_insync_replicas=2)
    assert leader.fetch(2, 5, now_ms=1).high_watermark == 5


def test_shrinking_an_isr_without_lagging_members_changes_nothing() -> None:
    leader = Leader(1, 9, 3, frozenset({1}), {2: Follower(5, 0)})
    assert leader.shrink_isr(now_ms=99_000) is leader


def test_a_new_leader_waits_only_for_members_of_its_isr() -> None:
    leader = Leader.elected(1, 5, 3, [1, 2], [1, 2, 3], now_ms=100_000)
    assert leader.fetch(2, 5, now_ms=100_001).high_watermark == 5
    assert leader.shrink_isr(now_ms=130_000).isr == {1, 2}
    assert leader.shrink_isr(now_ms=130_001).high_watermark == 5
