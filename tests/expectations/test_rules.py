"""Every rule is broken by rows that break no other: each near miss is a cluster of one night, which GX judges once."""

from __future__ import annotations

import copy
import json

import pytest

from expectations.goal_breach import GOALS
from expectations.limits import limits
from expectations.rule import one_row_per_key
from jobs.check import PREVIOUS, InDuckdb, InSpark, judge, rules_of
from jobs.schema import BY_NAME
from tests.expectations.lake import HELD, Edit, add, arrow, before, breached, consumers, differ, drop, edit, frames, sound

PLANS = {
    "plan",
    "plan_move",
    "plan_wave",
    "plan_goal",
    "plan_broker",
    "plan_scenario",
    "plan_blocked",
    "plan_rule",
}  # written when asked for
NOT_JUDGED = {"parameter", "validation", "snapshot", "absent_cluster", *PLANS}  # of no cluster, and what comes after the gates
JUDGED_ANYHOW = {"cluster", "goal_verdict", "cluster_balance"}  # rows of every cluster, whatever is told of it
SUITES = sorted(BY_NAME.keys() - NOT_JUDGED)

KILLED_0 = {"scenario_id": "broker 0"}
RACK_A = {"scenario_id": "rack a"}
STOPPED_0 = {"scenario_id": "stop 0"}
SIGNS = [
    "leaderless",
    "under_replicated",
    "under_min_isr",
    "at_min_isr",
    "not_preferred",
    "non_replica_in_isr",
    "unknown_broker",
    "rack_unsafe",
    "no_tolerance",
    "replication_factor_mismatch",
    "unwritable",
]


def amiss(*signs: str) -> Edit:
    return add("partition_health", "t", 0, *(sign in signs for sign in SIGNS), 0, 2, 2, 1, 3, 4, [2])


def leaderless(scenario: dict[str, str]) -> list[Edit]:
    """Partition 0 loses its leader: it is offline, and is not also counted as refusing acks=all."""
    ends = {
        "leader": None,
        "state": "OfflinePartition",
        "isr": [],
        "under_min_isr": True,
        "at_min_isr": False,
    }
    counts = {"moved_leaders": 1, "leaderless": 1, "newly_offline": 1, "under_min_isr": 1, "at_min_isr": 5, "busiest_gained_leaders": 1}
    return [
        edit("failover", {**scenario, "partition": 0}, **ends),
        edit("scenario", scenario, **counts),
        edit("failover_load", scenario, gained_leaders=1),
    ]


def refusing(scenario: dict[str, str]) -> list[Edit]:
    """Partition 0 is left with one in sync."""
    return [
        edit("failover", {**scenario, "partition": 0}, isr=[1], under_min_isr=True, at_min_isr=False),
        edit("scenario", scenario, under_min_isr=1, newly_refusing_acks_all=1, at_min_isr=5),
    ]


def losing(scenario: dict[str, str]) -> list[Edit]:
    """Nobody with all acknowledged records of partition 0 is left."""
    return [edit("failover", {**scenario, "partition": 0}, safe_replicas=0), edit("scenario", scenario, newly_lost=1)]


OFFLINE_AFTER_STOP = "offline after a stop"
# A partition without a leader accepts no writes: what fails these rules fails the writes rules, too.
ALSO_BROKEN = {
    "scenario.reads_survive_a_broker": {"scenario.writes_survive_a_broker"},
    "scenario.reads_survive_a_rack": {"scenario.writes_survive_a_rack"},
}
NO_REMEDY = add("remedy", "t", 0, ["broker 0"], True, None, None, None)
ASKED = edit("topic_placement", start_requested=True, matching_partitions=5, explained=False)

TWINS: list[Edit] = [edit("cluster", kafka_cluster_id="both")]
# The rule, and the edits of the sound cluster that break it alone.
BROKEN: dict[str, list[Edit]] = {
    "input_file.entries_add_up": [edit("input_file", entries=8)],
    "input_file.rejected_are_kept": [edit("input_file", accepted=6, rejected=1)],
    "input_file.recognised_files": [edit("input_file", format=None)],
    "rejected_input.nothing_rejected": [
        edit("input_file", accepted=6, rejected=1),
        add("rejected_input", "topics.txt", 3, 0, "Topic: ?", "no partition"),
    ],
    "cluster.each_another_kafka_cluster": TWINS,
    "broker.brokers_are_known": [add("log_dir", 9, "/d", None, None, None, None)],
    "broker.capacities_of_its_own": [
        edit(
            "broker",
            {"broker_id": 0},
            capacity_by_default=True,
            disk_capacity_bytes=104857600000.0,
            network_in_capacity_bytes_per_s=10240000.0,
            network_out_capacity_bytes_per_s=10240000.0,
        ),
    ],
    "broker.racks_of_all": [edit("broker", {"broker_id": 2}, rack=None)],
    "log_dir.log_dirs_work": [edit("log_dir", {"broker_id": 2}, error="KafkaStorageException")],
    "log_dir.told_of_every_broker": [drop("log_dir", {"broker_id": 2})],
    "topic.topics_of_partitions": [
        add("partition", "u", 0, 0, [], [], [], [], None, None, 0, None, None),
        edit("broker_balance", {"broker_id": 0}, leaders=3),
    ],
    "topic.partitions_described": [
        edit("topic", partitions=7),
        *(drop(table) for table in ("group_member", "observed_assignment", "consumer_assignment", "group_assignment")),
    ],
    "topic.enough_replicas": [edit("topic", replication_factor=2)],
    "topic.min_insync_replicas_told": [edit("topic", min_insync_replicas=None)],
    "partition.not_empty": [lambda tables: tables.update({name: [] for name in tables if name not in JUDGED_ANYHOW})],
    "partition.no_reassignment_left": [edit("partition", {"partition": 0}, removing_replicas=[2])],
    "replica.replicas_as_assigned": [edit("replica", {"partition": 0, "broker_id": 1}, in_sync=False)],
    "replica.no_stray_replicas": [add("replica", "t", 6, 0, None, False, "/d", None, None, None, None)],
    "group_member.members_have_groups": [drop("consumer_group", {"group_id": "g"})],
    "group_member.no_sarama": [edit("group_member", {"member_id": "m0"}, client_id="sarama")],
    "observed_assignment.holders_are_members": [edit("observed_assignment", {"partition": 1}, member_id="gone")],
    "committed_offset.committed_within_log": [edit("committed_offset", {"partition": 0}, current_offset=101)],
    "key_sample.sampled_partitions_exist": [add("key_sample", "t", b"key0", 6, 5, 50, None, None)],
    "change.brokers_as_changed": [before(edit("broker", {"broker_id": 0}, live=False))],
    "change.topics_as_changed": [before(edit("topic", topic_id="other"))],
    "change.partitions_as_changed": [before(edit("partition", {"partition": 0}, leader=1))],
    "change.groups_as_changed": [differ("group appeared", group_id="g")],
    "change.causes_stand": [
        before(edit("partition", {"partition": 0}, isr=[1, 2])),
        differ("ISR grew", topic="t", partition=0, cause="brokers 3, 4 were lost"),
    ],
    "change.no_broker_lost": [
        before(add("broker", 3, "a", True, None, None, None, None)),
        differ("broker lost", broker_id=3),
        differ("broker removed", broker_id=3),
    ],
    "change.racks_as_before": [differ("rack changed", broker_id=0, value_before="b", value_after="a")],
    "change.no_topic_deleted": [before(add("topic", "u", None, 1, 1, None, {})), differ("topic deleted", topic="u")],
    "change.as_durable_as_before": [differ("config changed", topic="t", name="min.insync.replicas", value_before="2", value_after="1")],
    "change.isr_shrank_for_a_reason": [
        before(edit("partition", {"partition": 0}, isr=[0, 1, 2, 3])),
        differ("ISR shrank", topic="t", partition=0, value_before="0,1,2,3", value_after="0,1,2"),
    ],
    "change.no_group_gone": [before(add("consumer_group", "h", None, None, None, None, 0)), differ("group gone", group_id="h")],
    "change.sources_as_before": [differ("source gone", name="kafka-log-dirs")],
    "replica_assignment.every_partition_placed": [edit("replica_assignment", {"partition": 0}, replicas=[0, 2, 1], observed=[0, 2, 1])],
    "replica_assignment.one_replica_per_broker": [
        edit("replica_assignment", {"partition": 0}, replicas=[0, 0, 1], drifted=True, misplaced_replicas=1),
        ASKED,
    ],
    "replica_assignment.placed_on_known_brokers": [
        edit("replica_assignment", {"partition": 0}, replicas=[0, 1, 9], drifted=True, misplaced_replicas=1),
        ASKED,
    ],
    "replica_assignment.drift_as_shown": [edit("replica_assignment", {"partition": 0}, misplaced_replicas=1)],
    "topic_placement.every_topic_judged": [drop("topic_placement"), drop("replica_assignment")],
    "topic_placement.matches_as_placed": [edit("topic_placement", matching_partitions=5)],
    "topic_placement.placement_explained": [
        edit("replica_assignment", {"partition": 0}, replicas=[0, 2, 1], drifted=True),
        edit("topic_placement", matching_partitions=5, explained=False),
    ],
    "topic_placement.placeable": [edit("topic_placement", refusal="not all brokers have rack information")],
    "producer_load.load_as_sampled": [add("key_sample", "t", None, None, 1, 1, None, None)],
    "producer_load.kinds_add_up": [edit("producer_load", {"partition": 0}, unkeyed_records=1)],
    "producer_load.shares_sum_to_one": [edit("producer_load", {"partition": 0}, record_share=0.2)],
    "topic_load.load_of_partitions": [edit("topic_load", keys=7)],
    "topic_load.skew_over_floor": [edit("topic_load", skew_floor=1.1)],
    "topic_load.even_producers": [edit("topic_load", skew=2.1)],
    "topic_partitioner.explained_of_found": [edit("topic_partitioner", explained_records=59)],
    "topic_partitioner.one_partitioner": [edit("topic_partitioner", split_keys=1, split_records=10)],
    "hot_key.hottest_keys": [edit("hot_key", {"rank": 6}, records=9)],
    "hot_key.no_hot_key": [edit("hot_key", {"rank": 1}, record_share=0.26)],
    "consumer_assignment.every_partition_given": [
        drop("consumer_assignment", {"assignor": "roundrobin", "members_change": 1, "partition": 0}),
        edit("group_assignment", {"assignor": "roundrobin", "members_change": 1}, partitions=5),
    ],
    "consumer_assignment.given_to_subscribers": [edit("group_member", {"member_id": "m0"}, topics=[])],
    "group_assignment.counts_as_assigned": [edit("group_assignment", {"members_change": 1}, idle_members=1)],
    "group_assignment.moves_as_assigned": [edit("group_assignment", {"members_change": 1}, moved_partitions=2)],
    "group_assignment.even_consumers": [consumers(3, {**HELD, 0: "m0 m0 m0 m1 m1 m2"}, spread=2, idle=0)],
    "group_assignment.no_idle_members": [
        consumers(7, {change: "m0 m1 m2 m3 m4 m5" for change in (0, 1, -1)}, spread=1, idle=1),
        edit("consumer_group", {"group_id": "g"}, members=7),
    ],
    "group_assignment.assigned_as_predicted": [edit("group_assignment", {"observed_differences": 0}, observed_differences=1)],
    "log_storage.sizes_of_replicas": [
        edit("replica", {"partition": 0, "broker_id": 0}, size_bytes=101),
        edit("partition", {"partition": 0}, replica_size_bytes=[101, 100, 100]),
    ],
    "log_storage.segments_hold_the_size": [edit("log_storage", {"partition": 0, "broker_id": 0}, deletable_bytes=1)],
    "disk_usage.usage_of_replicas": [edit("disk_usage", {"broker_id": 0}, index_bytes=20)],
    "disk_usage.disks_not_full": [edit("disk_usage", used_share=0.81)],
    "disk_usage.disks_alike": [edit("disk_usage", {"broker_id": 0}, used_share=0.57)],
    "topic_balance.several_partitions": [edit("topic_balance", partitions=1)],
    "topic_balance.partitions_of_bounded_size": [edit("topic_balance", fullest_size_bytes=(1 << 40) + 1)],
    "topic_balance.records_even": [edit("topic_balance", records=6000, record_skew=0.76)],
    "topic_balance.records_small": [edit("topic_balance", mean_record_bytes=614401.0)],
    "group_load.members_read_alike": [edit("group_load", {"group_id": "g"}, record_ratio=2.1)],
    "group_load.hosts_read_alike": [edit("group_load", {"group_id": None}, record_ratio=2.1)],
    "group_load.reads_near_by": [edit("group_load", {"group_id": "g"}, local_replica_size_bytes=200, avoidable_share=0.11)],
    "group_load.few_topics_a_group": [edit("group_load", {"group_id": "g"}, topics=2)],
    "net_imbalance.brokers_of_bounded_size": [edit("net_imbalance", {"level": "replicas"}, fullest_broker_items=4001, fullest_broker_id=0)],
    "net_imbalance.cluster_of_bounded_size": [edit("net_imbalance", {"level": "leaders"}, items=200_001)],
    "scenario.every_failure_played": [drop(table, {"scenario_id": "rack c"}) for table in ("scenario", "failover", "failover_load")],
    "scenario.counts_as_failover": [edit("scenario", KILLED_0, no_replica_left=1)],
    "scenario.reads_survive_a_broker": [*leaderless(KILLED_0), edit("broker_pair", newly_offline=1), NO_REMEDY],
    "scenario.writes_survive_a_broker": [*refusing(KILLED_0), NO_REMEDY],
    "scenario.data_survives_a_broker": losing(KILLED_0),
    "scenario.writes_survive_a_rolling_restart": refusing(STOPPED_0),
    "scenario.quorum_survives_a_broker": [edit("scenario", KILLED_0, quorum_lost=True)],
    "scenario.reads_survive_a_rack": leaderless(RACK_A),
    "scenario.writes_survive_a_rack": refusing(RACK_A),
    "scenario.data_survives_a_rack": losing(RACK_A),
    "failover.every_touched_partition": [
        drop("failover", {**KILLED_0, "partition": 1}),
        edit("scenario", KILLED_0, partitions=5, at_min_isr=5),
    ],
    "failover.leader_is_live": [
        edit("broker", {"broker_id": 1}, live=False),
        drop("broker_pair", {"broker_id": 1}),
        drop("broker_pair", {"other_broker_id": 1}),
    ],
    "failover.leader_was_in_sync": [edit("failover", {**KILLED_0, "partition": 0}, isr_before=[0, 2])],
    "failover.leader_stays": [edit("failover", {**KILLED_0, "partition": 0}, leader_before=2)],
    "failover.leader_in_isr": [edit("failover", {**KILLED_0, "partition": 0}, isr=[0, 2])],
    "failover.survivors_as_counted": [edit("failover", {**KILLED_0, "partition": 0}, live_replicas_before=4)],
    "failover.state_as_led": [edit("failover", {**KILLED_0, "partition": 0}, state="OfflinePartition")],
    "failover.min_isr_as_counted": [edit("failover", {**KILLED_0, "partition": 0}, min_insync_replicas=1)],
    "failover_load.gains_are_moves": [edit("failover_load", KILLED_0, gained_leaders=1)],
    "failover_load.gained_shares_sum_to_one": [edit("failover_load", KILLED_0, gained_share=0.5)],
    "failover_load.survivors_have_capacity": [edit("failover_load", KILLED_0, network_out_share=0.81)],
    "failover_load.survivors_gain": [edit("failover_load", KILLED_0, broker_id=0)],
    "broker_pair.every_pair_played": [edit("broker_pair", {"broker_id": 1}, shared_partitions=5)],
    "broker_pair.no_less_than_one": [edit("broker_pair", {"broker_id": 1}, newly_offline=-1)],
    "broker_pair.data_survives_two_brokers": [edit("broker_pair", {"broker_id": 1}, newly_lost=1)],
    "broker_restart.every_broker_returns": [drop("broker_restart", {"broker_id": 2})],
    "broker_restart.turns_in_order": [edit("broker_restart", {"broker_id": 0}, restart_order=2)],
    "broker_restart.no_more_than_held": [edit("broker_restart", {"broker_id": 0}, regained_leaders=3)],
    "broker_restart.rolling_restart_has_an_order": [edit("broker_restart", {"broker_id": 2}, restart_order=None)],
    "remedy.every_harmed_partition": [NO_REMEDY],
    "joint_loss.fatal_among_all": [edit("joint_loss", {"deaths": 3}, copysets=2)],
    "broker_balance.carries_the_partitions": [edit("broker_balance", {"broker_id": 0}, in_sync_replicas=5)],
    "broker_balance.even_leaders": [
        edit("partition", {"partition": 1}, leader=0),
        edit("partition", {"partition": 2}, leader=0),
        edit("broker_balance", {"broker_id": 0}, leaders=4, leader_ratio=2.0),
        edit("broker_balance", {"broker_id": 1}, leaders=1, leader_ratio=0.5),
        edit("broker_balance", {"broker_id": 2}, leaders=1, leader_ratio=0.5),
    ],
    "broker_balance.even_replicas": [  # a fourth broker leads, and holds nothing
        add("broker", 3, "a", True, None, None, None, None),
        add("log_dir", 3, "/d", None, None, None, None),
        add("scenario", "nightly", "broker 3", "broker", [3], [], None, False, *[0] * 9, 0, None, 0, 0, 0, None, None, None),
        add("scenario", "nightly", "stop 3", "stop", [3], [], None, True, *[0] * 9, 0, None, 0, 0, 0, None, None, None),
        add("broker_restart", 3, True, 4, *[0] * 6),
        edit("partition", {"partition": 5}, leader=3),
        edit("broker_balance", {"broker_id": 2}, leaders=1),
        add("broker_balance", 3, "a", True, 0, 0, 1, 0, None, None, None, None, 4, 0.0, 0.7, None, None),
    ],
    "broker_balance.even_bytes": [edit("broker_balance", {"broker_id": 0}, byte_ratio=1.6)],
    "broker_balance.even_produced": [edit("broker_balance", {"broker_id": 0}, produced_ratio=1.6)],
    "broker_balance.capacities_hold_what_is_stored": [edit("broker_balance", {"broker_id": 0}, disk_used_share=1.1)],
    "goal_verdict.every_goal_judged": [drop("goal_verdict", {"goal": "PreferredLeaderElectionGoal"})],
    "goal_verdict.breaches_as_listed": [edit("goal_verdict", {"goal": "PreferredLeaderElectionGoal"}, breaches=1)],
    "goal_verdict.says_what_it_lacks": [edit("goal_verdict", {"goal": "PreferredLeaderElectionGoal"}, missing_input="a leader")],
    "cluster_balance.score_as_weighed": [edit("cluster_balance", highest_score=99.0, lowest_score=98.0)],
    "cluster_balance.enough_brokers": [edit("cluster_balance", provision="UNDER_PROVISIONED", brokers_to_add=1)],
    "goal_breach.breaks_its_limit": [
        add("goal_verdict", "OwnGoal", None, False, None, "violated", 1, None, None, False, None, "UNDECIDED", None, None, None),
        add("goal_breach", "OwnGoal", 1, None, None, 2.0, 2.0, "replicas <= 2", "", False),
    ],
    **{f"goal_breach.{rule}": breached(goal) for goal, (rule, _) in GOALS.items()},
    "partition_health.nothing_left_out": [
        edit("partition", {"partition": 0}, leader=None),
        edit("broker_balance", {"broker_id": 0}, leaders=1),
    ],
    "partition_health.something_amiss": [amiss()],
    "partition_health.every_partition_led": [amiss("leaderless")],
    "partition_health.fully_replicated": [amiss("under_replicated")],
    "partition_health.accepts_all_acks": [amiss("under_min_isr")],
    "partition_health.above_min_isr": [amiss("at_min_isr")],
    "partition_health.isr_within_replicas": [amiss("non_replica_in_isr")],
    "partition_health.replicas_on_live_brokers": [amiss("unknown_broker")],
    "partition_health.spread_over_racks": [amiss("rack_unsafe")],
    "partition_health.replicas_to_spare": [amiss("no_tolerance")],
    "partition_health.replicas_as_told": [amiss("replication_factor_mismatch")],
    "partition_health.replicas_for_all_acks": [amiss("unwritable")],
    "partition_health.preferred_leaders": [amiss("not_preferred")],
}
# A cluster of KRaft's, of its first night, that tells of its brokers without racks, and of its topics, and nothing else.
SILENT: list[Edit] = [
    edit("cluster", controller="kraft", kafka_cluster_id=None),
    lambda tables: tables.update({f"{PREVIOUS}{name}": [] for name in BY_NAME}),
    edit("broker", rack=None, disk_capacity_bytes=None, capacity_by_default=None),
    edit(
        "topic_balance",
        records=None,
        record_skew=None,
        size_bytes=None,
        fullest_partition=None,
        fullest_size_bytes=None,
        mean_record_bytes=None,
    ),
    drop("group_load"),
    edit("broker_balance", rack=None, size_bytes=None, byte_ratio=None, disk_used_share=None),
    edit("broker_balance", produced_records=None, produced_size_bytes=None, produced_ratio=None),
    edit("failover_load", network_out_bytes_per_s=None, network_out_share=None),
    edit("replica", size_bytes=None, log_dir=None, offset_lag=None),
    edit("partition", replica_size_bytes=[None, None, None]),
    *(drop(table, {"scenario_id": f"rack {rack}"}) for rack in "abc" for table in ("scenario", "failover", "failover_load")),
    *(drop(table) for table in ("log_dir", "log_storage", "disk_usage", "key_sample", "producer_load", "topic_load", "hot_key")),
    drop("topic_partitioner"),
    *(drop(table) for table in ("consumer_group", "group_member", "observed_assignment", "committed_offset")),
    *(drop(table) for table in ("consumer_assignment", "group_assignment")),
    *(edit("goal_verdict", {"goal": goal}, verdict="unknown", missing_input="its input") for goal in GOALS),
    edit("cluster_balance", balancedness_score=None, lowest_score=0.0, goals_unknown=16, provision="UNDECIDED"),
]
NOT_TOLD = {
    "change.no_broker_lost",
    "change.racks_as_before",
    "change.no_topic_deleted",
    "change.as_durable_as_before",
    "change.isr_shrank_for_a_reason",
    "change.no_group_gone",
    "change.sources_as_before",
    "cluster.each_another_kafka_cluster",
    "broker.capacities_of_its_own",
    "broker_balance.capacities_hold_what_is_stored",
    "log_dir.log_dirs_work",
    "log_dir.told_of_every_broker",
    "group_member.no_sarama",
    "disk_usage.disks_alike",
    "topic_balance.partitions_of_bounded_size",
    "topic_balance.records_even",
    "topic_balance.records_small",
    "group_load.members_read_alike",
    "group_load.hosts_read_alike",
    "group_load.reads_near_by",
    "group_load.few_topics_a_group",
    "replica.no_stray_replicas",
    "committed_offset.committed_within_log",
    "key_sample.sampled_partitions_exist",
    "topic_placement.placement_explained",
    "topic_load.even_producers",
    "topic_partitioner.one_partitioner",
    "hot_key.no_hot_key",
    "group_assignment.even_consumers",
    "group_assignment.no_idle_members",
    "group_assignment.assigned_as_predicted",
    "disk_usage.disks_not_full",
    "failover_load.survivors_have_capacity",
    "scenario.quorum_survives_a_broker",
    "scenario.reads_survive_a_rack",
    "scenario.writes_survive_a_rack",
    "scenario.data_survives_a_rack",
    "broker_balance.even_bytes",
    "broker_balance.even_produced",
    "partition_health.spread_over_racks",
    "cluster_balance.enough_brokers",
    *(f"goal_breach.{rule}" for rule, _ in GOALS.values()),
}
KEY = "one_row_per_key"


def night(edits: list[Edit]) -> dict:
    tables = copy.deepcopy(sound())
    for change in edits:
        change(tables)
    return tables


@pytest.fixture(scope="module", params=["duckdb", "spark"])
def judged(request: pytest.FixtureRequest) -> dict[tuple[str, str], tuple]:
    """What was judged of each cluster and rule: severity, success, broken rows, example, sentence."""
    cases = {"sound": [], "silent": SILENT, "twin": TWINS, OFFLINE_AFTER_STOP: leaderless(STOPPED_0), **BROKEN}
    clusters = {name: night([edit("cluster", kafka_cluster_id=name), *edits]) for name, edits in cases.items()}
    tables = InDuckdb(arrow(clusters)) if request.param == "duckdb" else InSpark(frames(request.getfixturevalue("spark"), clusters))
    rules = {suite: rules_of(suite, limits()) for suite in SUITES}
    rows = [tuple(row.values()) for row in judge(tables, rules, "s", docs=None).to_pylist()]
    assert len({row[:4] for row in rows}) == len(rows)
    return {(cluster, f"{suite}.{rule}"): rest for _, cluster, suite, rule, *rest in rows}


def outcome(judged: dict, cluster: str, success: bool | None) -> set[str]:
    return {rule for (of, rule), (_, it, *_) in judged.items() if of == cluster and it is success}


def test_every_rule_has_rows_that_break_it() -> None:
    names = {f"{suite}.{rule.meta['rule']}" for suite in SUITES for rule in rules_of(suite, limits())}
    assert {name for name in names if not name.endswith(KEY)} == BROKEN.keys()


def test_a_sound_cluster_breaks_nothing_and_tells_all(judged: dict) -> None:
    assert outcome(judged, "sound", False) == set()
    assert outcome(judged, "sound", None) == set()


@pytest.mark.parametrize("rule", BROKEN)
def test_near_miss_breaks_only_its_own_rule(judged: dict, rule: str) -> None:
    assert outcome(judged, rule, False) == {rule} | ALSO_BROKEN.get(rule, set())
    severity, _, broken_rows, example, _ = judged[rule, rule]
    assert broken_rows >= 1
    said = json.loads(example)
    assert said["cluster_id"] == rule
    if severity == "soft":  # a finding explains itself
        assert said.keys() >= {"measured", "limit_value", "formula", "smallest_change"}
        assert said["measured"] != said["limit_value"]
        assert None not in (said["measured"], said["limit_value"], said["formula"], said["smallest_change"])


@pytest.mark.parametrize(
    ("cluster", "rule"),
    [
        ("scenario.reads_survive_a_broker", "scenario.writes_survive_a_broker"),
        (OFFLINE_AFTER_STOP, "scenario.writes_survive_a_rolling_restart"),
        ("scenario.reads_survive_a_rack", "scenario.writes_survive_a_rack"),
    ],
)
def test_a_failure_with_offline_partitions_alone_fails_the_writes_rule(judged: dict, cluster: str, rule: str) -> None:
    severity, success, broken_rows, example, _ = judged[cluster, rule]
    assert (severity, success, broken_rows) == ("soft", False, 1)
    row = json.loads(example)
    assert (row["newly_offline"], row["newly_refusing_acks_all"], row["measured"]) == (1, 0, 1)


def test_a_rule_whose_input_is_not_told_neither_passes_nor_fails(judged: dict) -> None:
    assert outcome(judged, "silent", False) == set()
    assert outcome(judged, "silent", None) == NOT_TOLD


def test_only_soft_rules_may_lack_their_input() -> None:
    for suite in SUITES:
        for rule in rules_of(suite, limits()):
            assert rule.severity == "warning" or not rule.meta.get("told")


def test_a_row_that_stands_twice_breaks_the_key_of_its_table_in_its_cluster_alone() -> None:
    once, twice = sound(), sound()
    amiss("leaderless")(once), amiss("leaderless")(twice)
    NO_REMEDY(once), NO_REMEDY(twice)
    differ("broker lost", broker_id=3)(once), differ("broker lost", broker_id=3)(twice)
    for tables in (once, twice):
        for change in breached("ReplicaDistributionGoal"):
            change(tables)
        add("partition_load", "t", 0, 1.0, 1.0, 1.0, 1.0)(tables)
    add("rejected_input", "topics.txt", 3, 0, "?", "why")(once), add("rejected_input", "topics.txt", 3, 0, "?", "why")(twice)
    for tables in (once, twice):  # a null is a value as any other
        add("key_sample", "t", None, None, 1, 1, None, None)(tables)
    for rows in twice.values():
        rows[:] = [*rows, *rows[-1:]]
    rules = {suite: [one_row_per_key(BY_NAME[suite])] for suite in SUITES}
    rows = [tuple(row.values()) for row in judge(InDuckdb(arrow({"once": once, "twice": twice})), rules, "s", docs=None).to_pylist()]
    assert {(suite, success) for _, cluster, suite, _, _, success, *_ in rows if cluster == "twice"} == {(suite, False) for suite in SUITES}
    assert all(success for _, cluster, _, _, _, success, *_ in rows if cluster == "once")
