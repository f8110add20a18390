"""Every rule has rows that break this rule and no other. Each case is one cluster of a night, which is evaluated once."""

from __future__ import annotations

import copy
import json
from datetime import date

import pyarrow as pa
import pytest

from expectations import rules_of
from expectations.goal_breach import GOALS
from expectations.limits import limits
from expectations.rule import PREVIOUS, Rule, one_row_per_key, rows_hash
from jobs.gates.duckdb_tables import DuckdbTables
from jobs.gates.gate import evaluate
from jobs.schema import BY_NAME
from tests.expectations.lake import (
    Edit,
    add,
    add_change,
    arrow,
    breached,
    drop,
    edit,
    edit_outcome,
    in_previous_night,
    sound,
)

PLANS = {"plan", "plan_move", "plan_wave", "plan_goal", "plan_broker", "plan_scenario", "plan_blocked", "plan_rule"}
# No gate evaluates tables without a cluster, and those that are written after the gates or by a plan.
WITHOUT_RULES = {"parameter", "validation", "verdict", "snapshot", "absent_cluster", "notification", *PLANS}
ROWS_OF_EVERY_CLUSTER = {"cluster", "goal_verdict", "cluster_balance"}  # even of a cluster without partitions
SUITES = sorted(BY_NAME.keys() - WITHOUT_RULES)

KILLED_0 = {"scenario_id": "broker 0"}
RACK_A = {"scenario_id": "rack a"}
STOPPED_0 = {"scenario_id": "stop 0"}
PROBLEMS = [
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
    "min_isr_above_replicas",
]


def unhealthy(*problems: str) -> Edit:
    return add("partition_health", "t", 0, *(problem in problems for problem in PROBLEMS), 0, 2, 2, 1, 3, 3, 4, [2])


def leaderless(scenario: dict[str, str]) -> list[Edit]:
    """Return edits with which partition 0 goes offline in a scenario; it does not also count as refusing acks=all."""
    outcome = {"leader": None, "state": "OfflinePartition", "isr": [], "under_min_isr": True, "at_min_isr": False}
    row = {**scenario, "partition": 0}
    counts = {"moved_leaders": 1, "leaderless": 1, "newly_offline": 1, "under_min_isr": 1, "at_min_isr": 5, "busiest_gained_leaders": 1}
    return [
        edit("failover", row, leader=None, newly_offline=True),
        edit_outcome(row, **outcome),
        edit("scenario", scenario, **counts),
        edit("failover_load", scenario, gained_leaders=1),
    ]


def refusing(scenario: dict[str, str]) -> list[Edit]:
    """Return edits with which partition 0 has one in-sync replica left in a scenario."""
    row = {**scenario, "partition": 0}
    return [
        edit("failover", row, newly_refusing_acks_all=True),
        edit_outcome(row, isr=[2], under_min_isr=True, at_min_isr=False),
        edit("scenario", scenario, under_min_isr=1, newly_refusing_acks_all=1, at_min_isr=5),
    ]


def losing(scenario: dict[str, str]) -> list[Edit]:
    """Return edits with which no replica with all acknowledged records of partition 0 is left in a scenario."""
    row = {**scenario, "partition": 0}
    return [edit("failover", row, newly_lost=True), edit_outcome(row, safe_replicas=0), edit("scenario", scenario, newly_lost=1)]


def double_failure(dying: list[int]) -> list[Edit]:
    """Return edits that add the deaths of brokers 0 and 1, with partition 0, whose replicas fail in this order."""
    names = ["w", "w"]
    counts = [1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 2, 1, 0, 1]  # from partitions to changed_partitions
    before = [False, False, False, "2.0.0", "2.0.0", 2, 2, 3, 3, 1, [1, 2, 3], [], [], [1, 2, 3], dying, 2, False, False]
    after = ["OnlinePartition", "OnlinePartition", [], "offline", 3, [3], None, None, [3], False, True, False, False]
    replicas_after = [3, 1, 3, 1, None, 2, False]
    return [
        add("scenario", *names, "what-if", [0, 1], [], None, False, *counts),
        edit("scenario", {"scenario_set": "w"}, log_dirs=[], transitions=0, at_risk_size_bytes=0, failover_scenario_id="w"),
        add("failover_load", *names, 2, 2, 1, 10, 100, 1.0, None, 5.0, 0.5),
        add("failover", *names, "t", 0, 900, 0, 2, False, True, False, 0, None, None),
        add("failover_pattern", "w", 900, *before, *after, *replicas_after),
    ]


OFFLINE_AFTER_STOP = "offline after a stop"
# A partition without a leader accepts no writes, so a case of these rules breaks the rules on writes too.
ALSO_BROKEN = {
    "scenario.reads_survive_a_broker": {"scenario.writes_survive_a_broker"},
    "scenario.reads_survive_a_rack": {"scenario.writes_survive_a_rack"},
    # The sound cluster has no partition whose only replica with every record fails.
    "scenario.data_survives_a_broker": {"failover_pattern.survivors_counted"},
    "scenario.data_survives_a_rack": {"failover_pattern.survivors_counted"},
    "failover.leader_is_live": {"failover.leader_has_its_position"},
    "failover_pattern.leader_survives": {"failover.leader_is_live"},
    # All replicas of the sound cluster are in sync.
    "failover_pattern.leader_was_in_sync": {"failover.every_affected_partition"},
    # The outcomes were computed before the edit of the partition or topic.
    **{
        rule: {"failover.every_affected_partition"}
        for rule in (
            "topic.min_insync_replicas_known",
            "topic.enough_replicas",
            "broker_balance.even_leaders",
            "broker_balance.even_replicas",
            "partition_health.every_unhealthy_partition",
        )
    },
}
AT_MIN_ISR_5 = edit("scenario", KILLED_0, at_min_isr=5)
NO_REMEDY = add("remedy", "t", 0, ["broker 0"], True, None, None, None)
START_REQUESTED = edit("topic_placement", start_requested=True, matching_partitions=5, explained=False, first_unexplained_partition=0)

TWINS: list[Edit] = [edit("cluster", kafka_cluster_id="both")]
# The rule, and the edits of the sound cluster that break it alone.
BROKEN: dict[str, list[Edit]] = {
    "input_file.entries_add_up": [edit("input_file", entries=8)],
    "input_file.rejected_entries_have_rows": [edit("input_file", accepted=6, rejected=1)],
    "input_file.formats_recognised": [edit("input_file", format=None)],
    "rejected_input.nothing_rejected": [
        edit("input_file", accepted=6, rejected=1),
        add("rejected_input", "topics.txt", 3, 0, "Topic: ?", "no partition"),
    ],
    "cluster.version_has_controller": [edit("cluster", kafka_version="4.0.0")],
    "cluster.kafka_cluster_read_once": TWINS,
    "broker.brokers_are_known": [add("log_dir", 9, "/d", None, None, None, None)],
    "broker.capacities_configured": [
        edit(
            "broker",
            {"broker_id": 0},
            capacity_by_default=True,
            disk_capacity_bytes=104857600000.0,
            network_in_capacity_bytes_per_s=10240000.0,
            network_out_capacity_bytes_per_s=10240000.0,
        ),
    ],
    "broker.all_brokers_have_racks": [edit("broker", {"broker_id": 2}, rack=None)],
    "log_dir.log_dirs_work": [edit("log_dir", {"broker_id": 2}, error="KafkaStorageException")],
    "log_dir.every_broker_reports_log_dirs": [drop("log_dir", {"broker_id": 2})],
    "topic.partitions_have_topics": [
        add("partition", "u", 0, 0, [], [], [], [], None, None, 0, None, None),
        edit("broker_balance", {"broker_id": 0}, leaders=3),
    ],
    "topic.partitions_described": [
        edit("topic", partitions=7),
        *(drop(table) for table in ("group_member", "observed_assignment", "consumer_assignment", "group_assignment")),
    ],
    "topic.enough_replicas": [edit("topic", replication_factor=2)],
    "waiver.waivers_in_force": [edit("waiver", snapshot_date=date(2026, 2, 1), owner="other team")],
    "topic.min_insync_replicas_known": [edit("topic", min_insync_replicas=None)],
    "partition.not_empty": [lambda tables: tables.update({name: [] for name in tables if name not in ROWS_OF_EVERY_CLUSTER})],
    "partition.no_reassignment_in_progress": [edit("partition", {"partition": 0}, removing_replicas=[2])],
    "replica.replicas_as_assigned": [edit("replica", {"partition": 0, "broker_id": 1}, in_sync=False)],
    "replica.no_stray_replicas": [add("replica", "t", 6, 0, None, False, "/d", None, None, None, None)],
    "group_member.members_have_groups": [
        drop(table, {"group_id": "g"}) for table in ("consumer_group", "consumer_assignment", "group_assignment")
    ],
    "group_member.no_sarama": [edit("group_member", {"member_id": "m0"}, client_id="sarama")],
    "observed_assignment.owners_are_members": [edit("observed_assignment", {"partition": 1}, member_id="gone")],
    "committed_offset.committed_within_log": [edit("committed_offset", {"partition": 0}, current_offset=101)],
    "key_sample.sampled_partitions_exist": [add("key_sample", "t", b"key0", 6, 5, 50, None, None)],
    "change.broker_changes_recorded": [in_previous_night(edit("broker", {"broker_id": 0}, live=False))],
    "change.topic_changes_recorded": [in_previous_night(edit("topic", topic_id="other"))],
    "change.partition_changes_recorded": [in_previous_night(edit("partition", {"partition": 0}, leader=1))],
    "change.group_changes_recorded": [add_change("group appeared", group_id="g")],
    "change.causes_recorded": [
        in_previous_night(edit("partition", {"partition": 0}, isr=[1, 2])),
        add_change("ISR grew", topic="t", partition=0, cause="brokers 3, 4 were lost"),
    ],
    "change.no_broker_lost": [
        in_previous_night(add("broker", 3, "a", True, None, None, None, None)),
        add_change("broker lost", broker_id=3),
        add_change("broker removed", broker_id=3),
    ],
    "change.racks_unchanged": [add_change("rack changed", broker_id=0, value_before="b", value_after="a")],
    "change.no_topic_deleted": [in_previous_night(add("topic", "u", None, 1, 1, None, {})), add_change("topic deleted", topic="u")],
    "change.durability_not_lowered": [
        add_change("config changed", topic="t", name="min.insync.replicas", value_before="2", value_after="1")
    ],
    "change.isr_shrinks_explained": [
        in_previous_night(edit("partition", {"partition": 0}, isr=[0, 1, 2, 3])),
        add_change("ISR shrank", topic="t", partition=0, value_before="0,1,2,3", value_after="0,1,2"),
    ],
    "change.no_group_missing": [
        in_previous_night(add("consumer_group", "h", None, None, None, None, 0)),
        add_change("group gone", group_id="h"),
    ],
    "change.no_source_missing": [add_change("source gone", name="kafka-log-dirs")],
    "replica_assignment.every_partition_placed": [edit("replica_assignment", {"partition": 0}, replicas=[0, 2, 1], observed=[0, 2, 1])],
    "replica_assignment.one_replica_per_broker": [
        edit("replica_assignment", {"partition": 0}, replicas=[0, 0, 1], drifted=True, misplaced_replicas=1),
        START_REQUESTED,
    ],
    "replica_assignment.placed_on_known_brokers": [
        edit("replica_assignment", {"partition": 0}, replicas=[0, 1, 9], drifted=True, misplaced_replicas=1),
        START_REQUESTED,
    ],
    "replica_assignment.drift_matches_replicas": [edit("replica_assignment", {"partition": 0}, misplaced_replicas=1)],
    "topic_placement.every_topic_has_a_placement": [drop("topic_placement"), drop("replica_assignment")],
    "topic_placement.matching_partitions_counted": [edit("topic_placement", matching_partitions=5)],
    "topic_placement.placement_explained": [
        edit("replica_assignment", {"partition": 0}, replicas=[0, 2, 1], drifted=True),
        edit("topic_placement", matching_partitions=5, explained=False, first_unexplained_partition=0),
    ],
    "topic_placement.algorithm_of_the_controller": [edit("topic_placement", algorithm="striped")],
    "topic_placement.placeable": [edit("topic_placement", refusal="not all brokers have rack information")],
    "producer_load.load_matches_sample": [add("key_sample", "t", None, None, 1, 1, None, None)],
    "producer_load.kinds_add_up": [edit("producer_load", {"partition": 0}, unkeyed_records=1)],
    "topic_load.load_matches_partitions": [edit("topic_load", keys=7)],
    "topic_load.skew_not_below_floor": [edit("topic_load", skew_floor=1.1)],
    "topic_load.even_producers": [edit("topic_load", skew_lower_bound=2.1)],
    "topic_partitioner.explained_records_add_up": [edit("topic_partitioner", explained_records=59)],
    "topic_partitioner.one_partitioner": [edit("topic_partitioner", split_keys=1, split_records=10)],
    "hot_key.hottest_keys": [edit("hot_key", {"rank": 6}, records=9)],
    "hot_key.no_hot_key": [edit("hot_key", {"rank": 1}, record_share=0.26)],
    "consumer_assignment.every_partition_assigned": [
        drop("consumer_assignment", {"assignor": "roundrobin", "members_change": 1, "partition": 0}),
        edit("group_assignment", {"assignor": "roundrobin", "members_change": 1}, partitions=5),
    ],
    "consumer_assignment.one_member_per_partition": [
        edit("consumer_assignment", {"assignor": "roundrobin", "members_change": 1, "partition": 4}, partition=0),
        edit("group_assignment", {"assignor": "roundrobin", "members_change": 1}, moved_partitions=2),
    ],
    "consumer_assignment.assigned_to_subscribers": [edit("group_member", {"member_id": "m0"}, topics=["u"])],
    "group_assignment.every_group_computed": [
        drop(table, {"assignor": "roundrobin", "members_change": 1}) for table in ("consumer_assignment", "group_assignment")
    ],
    "group_assignment.counts_match_assignment": [edit("group_assignment", {"members_change": 1}, idle_members=1)],
    "group_assignment.moves_match_assignment": [edit("group_assignment", {"members_change": 1}, moved_partitions=2)],
    "group_assignment.assignment_as_predicted": [edit("group_assignment", {"observed_differences": 0}, observed_differences=1)],
    "log_storage.sizes_match_replicas": [
        edit("replica", {"partition": 0, "broker_id": 0}, size_bytes=101),
        edit("partition", {"partition": 0}, replica_size_bytes=[101, 100, 100]),
    ],
    "log_storage.segments_fit_size": [
        edit("log_storage", {"partition": 0, "broker_id": 0}, deletable_bytes=1),
        edit("disk_usage", {"broker_id": 0}, deletable_bytes=1),
    ],
    "disk_usage.usage_matches_replicas": [edit("disk_usage", {"broker_id": 0}, index_bytes=20)],
    "disk_usage.disks_not_full": [edit("disk_usage", used_share=0.81)],
    "disk_usage.disks_evenly_used": [edit("disk_usage", {"broker_id": 0}, used_share=0.57)],
    "topic_balance.several_partitions": [edit("topic_balance", partitions=1)],
    "topic_balance.partition_size_limited": [edit("topic_balance", fullest_size_bytes=(1 << 40) + 1)],
    "topic_balance.even_records": [edit("topic_balance", records=6000, record_skew=0.76)],
    "topic_balance.record_size_limited": [edit("topic_balance", mean_record_bytes=614401.0)],
    "group_load.even_consumers": [edit("group_load", {"group_id": "g"}, max_partitions=3, min_partitions=1)],
    "group_load.no_idle_members": [edit("group_load", {"group_id": "g"}, idle_members=1)],
    "group_load.members_share_records": [edit("group_load", {"group_id": "g"}, record_ratio=2.1)],
    "group_load.hosts_share_records": [edit("group_load", {"group_id": None}, record_ratio=2.1)],
    "group_load.reads_stay_in_rack": [edit("group_load", {"group_id": "g"}, local_replica_size_bytes=200, avoidable_share=0.11)],
    "group_load.topics_per_group_limited": [edit("group_load", {"group_id": "g"}, topics=2)],
    "net_imbalance.replicas_per_broker_limited": [
        edit("net_imbalance", {"level": "replicas"}, fullest_broker_items=4001, fullest_broker_id=0)
    ],
    "net_imbalance.partitions_per_cluster_limited": [edit("net_imbalance", {"level": "leaders"}, items=200_001)],
    "scenario.every_failure_simulated": [drop(table, {"scenario_id": "rack c"}) for table in ("scenario", "failover", "failover_load")],
    "scenario.counts_match_failover": [edit("scenario", KILLED_0, no_replica_left=1)],
    "scenario.shared_outcomes_are_equal": [drop("failover", STOPPED_0), edit("scenario", STOPPED_0, failover_scenario_id="broker 0")],
    "scenario.reads_survive_a_broker": [*leaderless(KILLED_0), edit("broker_pair", newly_offline=1), NO_REMEDY],
    "scenario.writes_survive_a_broker": [*refusing(KILLED_0), NO_REMEDY],
    "scenario.data_survives_a_broker": losing(KILLED_0),
    "scenario.writes_survive_a_rolling_restart": refusing(STOPPED_0),
    "scenario.quorum_survives_a_broker": [edit("scenario", KILLED_0, quorum_lost=True), edit_outcome(KILLED_0, quorum_lost=True)],
    "scenario.reads_survive_a_rack": leaderless(RACK_A),
    "scenario.writes_survive_a_rack": refusing(RACK_A),
    "scenario.data_survives_a_rack": losing(RACK_A),
    "failover.every_affected_partition": [
        drop("failover", {**KILLED_0, "partition": 1}),
        edit("scenario", KILLED_0, partitions=5, at_min_isr=5),
    ],
    "failover.leader_is_live": [edit("failover", {**KILLED_0, "partition": 0}, leader=9)],
    "failover.leader_has_its_position": [edit("failover", {**KILLED_0, "partition": 0}, leader=2)],
    "failover.outcomes_match_patterns": [edit("failover", {**KILLED_0, "partition": 0}, newly_lost=True)],
    "failover.deaths_in_order": double_failure(dying=[2, 1]),
    "failover_pattern.ids_identify_outcomes": [
        lambda tables: tables["failover_pattern"].append(tables["failover_pattern"][0] | {"scenario_set": "w", "leader_epochs": 7})
    ],
    "failover_pattern.leader_survives": [
        edit("failover", {**KILLED_0, "partition": 0}, leader=0),
        edit_outcome({**KILLED_0, "partition": 0}, leader=1, isr=[1, 3]),
        edit("scenario", KILLED_0, moved_leaders=1, busiest_gained_leaders=1),
        edit("failover_load", KILLED_0, gained_leaders=1),
    ],
    "failover_pattern.leader_was_in_sync": [
        edit_outcome({**KILLED_0, "partition": 0}, isr_before=[1, 3], safe_replicas_before=2, safe_replicas=1)
    ],
    "failover_pattern.unclean_elections_allowed": [
        edit_outcome({**KILLED_0, "partition": 0}, unclean=True),
        edit("scenario", KILLED_0, unclean_leaders=1),
    ],
    "failover_pattern.leader_stays": [
        edit("failover", {**KILLED_0, "partition": 1}, leader=2),
        edit_outcome({**KILLED_0, "partition": 1}, leader=2),
        edit("scenario", KILLED_0, moved_leaders=3),
        edit("failover_load", KILLED_0, gained_share=2 / 3),
        add("failover_load", "nightly", "broker 0", 2, 2, 1, 10, 100, 1 / 3, None, 5.0, 0.5),
    ],
    "failover_pattern.leader_in_isr": [edit_outcome({**KILLED_0, "partition": 0}, isr=[1, 3])],
    "failover_pattern.state_matches_leader": [edit_outcome({**KILLED_0, "partition": 0}, state="OfflinePartition")],
    "failover_pattern.min_isr_matches_isr": [edit_outcome({**KILLED_0, "partition": 0}, at_min_isr=False), AT_MIN_ISR_5],
    "failover_pattern.survivors_counted": [edit_outcome({**KILLED_0, "partition": 0}, live_replicas_before=4)],
    "failover_pattern.deaths_counted": [edit_outcome({**KILLED_0, "partition": 0}, effective_deaths=0)],
    "failover_pattern.rules_match_version": [edit_outcome({**KILLED_0, "partition": 0}, depends_on_version=True)],
    "failover_load.gains_match_moves": [edit("failover_load", KILLED_0, gained_leaders=1)],
    "failover_load.gained_shares_sum_to_one": [edit("failover_load", KILLED_0, gained_share=0.5)],
    "failover_load.survivors_have_capacity": [edit("failover_load", KILLED_0, network_out_share=0.81)],
    "failover_load.survivors_gain": [edit("failover_load", KILLED_0, broker_id=0)],
    "broker_pair.every_pair_simulated": [edit("broker_pair", {"broker_id": 1}, shared_partitions=5)],
    "broker_pair.pair_loses_as_much_as_each_broker": [edit("broker_pair", {"broker_id": 1}, newly_offline=-1)],
    "broker_pair.data_survives_two_brokers": [edit("broker_pair", {"broker_id": 1}, newly_lost=1)],
    "broker_restart.every_broker_returns": [drop("broker_restart", {"broker_id": 2})],
    "broker_restart.turns_in_order": [edit("broker_restart", {"broker_id": 0}, restart_order=2)],
    "broker_restart.returns_within_assignment": [edit("broker_restart", {"broker_id": 0}, regained_leaders_after_kill=3)],
    "broker_restart.rolling_restart_has_an_order": [edit("broker_restart", {"broker_id": 2}, restart_order=None)],
    "remedy.every_harmed_partition": [NO_REMEDY],
    "joint_loss.fatal_sets_within_all": [edit("joint_loss", {"deaths": 3}, copysets=2)],
    "broker_balance.counts_match_partitions": [edit("broker_balance", {"broker_id": 0}, in_sync_replicas=5)],
    "broker_balance.even_leaders": [
        edit("partition", {"partition": 1}, leader=0),
        edit("partition", {"partition": 2}, leader=0),
        edit("broker_balance", {"broker_id": 0}, leaders=4, leader_ratio=2.0),
        edit("broker_balance", {"broker_id": 1}, leaders=1, leader_ratio=0.5),
        edit("broker_balance", {"broker_id": 2}, leaders=1, leader_ratio=0.5),
    ],
    "broker_balance.even_replicas": [  # a fourth broker leads a partition and has no replica
        add("broker", 3, "a", True, None, None, None, None),
        add("log_dir", 3, "/d", None, None, None, None),
        add("scenario", "nightly", "broker 3", "broker", [3], [], None, False, *[0] * 9, 0, None, 0, 0, 0, None, None, None),
        add("scenario", "nightly", "stop 3", "stop", [3], [], None, True, *[0] * 9, 0, None, 0, 0, 0, None, None, None),
        add("broker_restart", 3, True, 4, *[0] * 9),
        edit("partition", {"partition": 5}, leader=3),
        edit("broker_balance", {"broker_id": 2}, leaders=1),
        add("broker_balance", 3, "a", True, 0, 0, 1, 0, None, None, None, None, 4, 0.0, 0.7, None, None),
    ],
    "broker_balance.even_bytes": [edit("broker_balance", {"broker_id": 0}, byte_ratio=1.6)],
    "broker_balance.even_produced_bytes": [edit("broker_balance", {"broker_id": 0}, produced_ratio=1.6)],
    "broker_balance.stored_bytes_within_capacity": [edit("broker_balance", {"broker_id": 0}, disk_used_share=1.1)],
    "goal_verdict.every_goal_has_a_verdict": [drop("goal_verdict", {"goal": "PreferredLeaderElectionGoal"})],
    "goal_verdict.breaches_counted": [edit("goal_verdict", {"goal": "PreferredLeaderElectionGoal"}, breaches=1)],
    "goal_verdict.missing_input_stated": [edit("goal_verdict", {"goal": "PreferredLeaderElectionGoal"}, missing_input="a leader")],
    "cluster_balance.score_matches_weights": [edit("cluster_balance", highest_score=99.0, lowest_score=98.0)],
    "cluster_balance.enough_brokers": [edit("cluster_balance", provision="UNDER_PROVISIONED", brokers_to_add=1)],
    "goal_breach.breaches_exceed_limits": [
        add("goal_verdict", "OwnGoal", None, False, None, "violated", 1, None, None, False, None, "UNDECIDED", None, None, None),
        add("goal_breach", "OwnGoal", 1, None, None, 2.0, 2.0, "replicas <= 2", "", False),
    ],
    **{f"goal_breach.{rule}": breached(goal) for goal, (rule, _) in GOALS.items()},
    "partition_health.every_unhealthy_partition": [
        edit("partition", {"partition": 0}, leader=None),
        edit("broker_balance", {"broker_id": 0}, leaders=1),
    ],
    "partition_health.listed_partitions_are_unhealthy": [unhealthy()],
    "partition_health.every_partition_has_a_leader": [unhealthy("leaderless")],
    "partition_health.fully_replicated": [unhealthy("under_replicated")],
    "partition_health.accepts_acks_all": [unhealthy("under_min_isr")],
    "partition_health.above_min_isr": [unhealthy("at_min_isr")],
    "partition_health.isr_within_replicas": [unhealthy("non_replica_in_isr")],
    "partition_health.replicas_on_live_brokers": [unhealthy("unknown_broker")],
    "partition_health.spread_over_racks": [unhealthy("rack_unsafe")],
    "partition_health.more_replicas_than_min_isr": [unhealthy("no_tolerance")],
    "partition_health.replication_factor_of_topic": [unhealthy("replication_factor_mismatch")],
    "partition_health.enough_replicas_for_min_isr": [unhealthy("min_isr_above_replicas")],
    "partition_health.preferred_leaders": [unhealthy("not_preferred")],
}
# The first night of a KRaft-based cluster whose dumps contain topics and brokers without racks, and nothing else.
MINIMAL_DUMPS: list[Edit] = [
    edit("cluster", controller="kraft", kafka_cluster_id=None),
    edit("topic_placement", algorithm=None, start_index=None, shift=None, matching_partitions=None, explained=None),
    drop("replica_assignment"),
    lambda tables: tables.update({f"{PREVIOUS}{name}": [] for name in BY_NAME}),
    edit("failover_pattern", kraft=True, controlled_shutdown=False),
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
UNKNOWN = {
    "change.no_broker_lost",
    "change.racks_unchanged",
    "change.no_topic_deleted",
    "change.durability_not_lowered",
    "change.isr_shrinks_explained",
    "change.no_group_missing",
    "change.no_source_missing",
    "cluster.kafka_cluster_read_once",
    "broker.capacities_configured",
    "broker_balance.stored_bytes_within_capacity",
    "log_dir.log_dirs_work",
    "log_dir.every_broker_reports_log_dirs",
    "group_member.no_sarama",
    "disk_usage.disks_evenly_used",
    "topic_balance.partition_size_limited",
    "topic_balance.even_records",
    "topic_balance.record_size_limited",
    "group_load.members_share_records",
    "group_load.hosts_share_records",
    "group_load.reads_stay_in_rack",
    "group_load.topics_per_group_limited",
    "replica.no_stray_replicas",
    "committed_offset.committed_within_log",
    "key_sample.sampled_partitions_exist",
    "topic_placement.placement_explained",
    "topic_load.even_producers",
    "topic_partitioner.one_partitioner",
    "hot_key.no_hot_key",
    "group_load.even_consumers",
    "group_load.no_idle_members",
    "group_assignment.assignment_as_predicted",
    "disk_usage.disks_not_full",
    "failover_load.survivors_have_capacity",
    "scenario.quorum_survives_a_broker",
    "scenario.reads_survive_a_rack",
    "scenario.writes_survive_a_rack",
    "scenario.data_survives_a_rack",
    "broker_balance.even_bytes",
    "broker_balance.even_produced_bytes",
    "partition_health.spread_over_racks",
    "cluster_balance.enough_brokers",
    *(f"goal_breach.{rule}" for rule, _ in GOALS.values()),
}


# Outcomes of another pattern than that of the partition, each with an edit that breaks the same rule.
OTHER_PATTERNS = {
    f"outcome of another {name}": [edit_outcome({**KILLED_0, "partition": 0}, **{name: value})]
    for name, value in {
        "kraft": True,
        "elr_enabled": True,
        "unclean_elections": True,
        "min_insync_replicas": 1,
        "replication_factor": 2,
        "assigned_replicas": 4,
        "leader_before": 2,
        "isr_before": [1, 2],
        "elr_before": [3],
        "last_known_elr_before": [1],
        "live_before": [1, 2],
        "dying": [2],
        "quorum_lost": True,
        "controlled_shutdown": True,
    }.items()
} | {"another leader before": [edit("failover", {**KILLED_0, "partition": 0}, leader_before=2)]}


def night(edits: list[Edit]) -> dict:
    tables = copy.deepcopy(sound())
    for change in edits:
        change(tables)
    return tables


@pytest.fixture(scope="module")
def verdicts() -> dict[tuple[str, str], dict]:
    """Return the verdicts of all cases, by cluster and rule."""
    cases = {"sound": [], "minimal": MINIMAL_DUMPS, "twin": TWINS, OFFLINE_AFTER_STOP: leaderless(STOPPED_0), **OTHER_PATTERNS, **BROKEN}
    clusters = {name: night([edit("cluster", kafka_cluster_id=name), *edits]) for name, edits in cases.items()}
    rows = evaluate(DuckdbTables(arrow(clusters)), all_rules(), "s", docs=None).to_pylist()
    found = {(row["cluster_id"], f"{row['suite']}.{row['rule']}"): row for row in rows}
    assert len(found) == len(rows)
    return found


def all_rules() -> dict[str, list[Rule]]:
    return {suite: rules_of(BY_NAME[suite], limits()) for suite in SUITES}


def rules_with(verdicts: dict, cluster: str, success: bool | None) -> set[str]:
    return {rule for (cluster_id, rule), row in verdicts.items() if cluster_id == cluster and row["success"] is success}


def test_every_rule_has_rows_that_break_it() -> None:
    names = {f"{suite}.{rule.name}" for suite, rules in all_rules().items() for rule in rules}
    assert {name for name in names if not name.endswith(".one_row_per_key")} == BROKEN.keys()


def test_sound_cluster_passes_every_rule(verdicts: dict) -> None:
    assert rules_with(verdicts, "sound", False) == set()
    assert rules_with(verdicts, "sound", None) == set()


@pytest.mark.parametrize("rule", BROKEN)
def test_near_miss_breaks_only_its_own_rule(verdicts: dict, rule: str) -> None:
    assert rules_with(verdicts, rule, False) == {rule} | ALSO_BROKEN.get(rule, set())
    verdict = verdicts[rule, rule]
    assert verdict["broken_rows"] >= 1
    example = json.loads(verdict["example"])
    assert example["cluster_id"] == rule
    if verdict["severity"] == "soft":  # a finding explains itself
        assert example.keys() >= {"measured", "limit_value", "formula", "smallest_change"}
        assert example["measured"] != example["limit_value"]
        assert None not in (example["measured"], example["limit_value"], example["formula"], example["smallest_change"])
        assert verdict["owner"] == ("other team" if rule == "waiver.waivers_in_force" else "team")


@pytest.mark.parametrize(
    ("rule", "assigned", "in_sync", "min_isr", "effective", "lagging", "change"),
    [
        ("enough_replicas_for_min_isr", 1, 1, 2, 1, [], "add 1 replica, or lower min.insync.replicas to 1"),
        ("more_replicas_than_min_isr", 2, 2, 2, 2, [], "add 1 replica, or lower min.insync.replicas to 1"),
        ("more_replicas_than_min_isr", 1, 1, 2, 1, [], "add 2 replicas"),
        ("above_min_isr", 3, 2, 2, 2, [7], "bring back in sync: broker 7"),
        ("above_min_isr", 2, 2, 2, 2, [], "add 1 replica, or lower min.insync.replicas to 1"),
        ("above_min_isr", 2, 2, 3, 2, [], "add 2 replicas, or lower min.insync.replicas to 1"),
        ("accepts_acks_all", 3, 1, 2, 2, [7, 8], "bring back in sync: brokers 7, 8"),
        ("accepts_acks_all", 2, 1, 3, 2, [7], "bring back in sync: broker 7"),
        # before Kafka 3.7
        ("accepts_acks_all", 1, 1, 2, 2, [], "add 1 replica, or lower min.insync.replicas to 1"),
        ("accepts_acks_all", 2, 1, 3, 3, [7], "bring back in sync: broker 7; add 1 replica, or lower min.insync.replicas to 2"),
    ],
)
def test_a_finding_on_min_isr_suggests_what_helps(
    rule: str, assigned: int, in_sync: int, min_isr: int, effective: int, lagging: list[int], change: str
) -> None:
    column = {
        "enough_replicas_for_min_isr": "min_isr_above_replicas",
        "more_replicas_than_min_isr": "no_tolerance",
        "above_min_isr": "at_min_isr",
        "accepts_acks_all": "under_min_isr",
    }[rule]
    problems = (problem == column for problem in PROBLEMS)
    row = add("partition_health", "t", 0, *problems, 0, assigned, assigned, in_sync, min_isr, effective, assigned, lagging)
    (broken,) = [each for each in rules_of(BY_NAME["partition_health"], limits()) if each.name == rule]
    (found,) = DuckdbTables(arrow({"c": night([row])})).query(broken.query, rule)
    assert found["smallest_change"] == change


@pytest.mark.parametrize(
    ("rule", "edits", "change"),
    [
        (
            "broker_balance.even_bytes",
            [edit("broker_balance", {"broker_id": 0}, size_bytes=5 * 2**20, byte_ratio=2.5)],
            "move 2.0 MiB off broker 0",
        ),
        (
            "broker_balance.even_produced_bytes",
            [edit("broker_balance", {"broker_id": 0}, produced_size_bytes=5 * 2**20, produced_ratio=2.5)],
            "move leaders that receive 2.0 MiB of the sampled bytes off broker 0",
        ),
        (
            "broker_balance.stored_bytes_within_capacity",
            [edit("broker_balance", {"broker_id": 0}, size_bytes=3 * 2**30, disk_used_share=1.1)],
            "set the disk capacity of broker 0 in capacity.json: it stores 3.0 GiB",
        ),
        (
            "disk_usage.disks_not_full",
            [edit("disk_usage", {"broker_id": 0}, size_bytes=9 * 2**30, capacity_bytes=10 * 2**30, used_share=0.9)],
            "move 1.0 GiB off /d of broker 0",
        ),
        (
            "failover_load.survivors_have_capacity",
            [edit("failover_load", KILLED_0, network_out_bytes_per_s=4 * 2**20, network_out_share=1.6)],
            "move leaders or replicas that broker 1 takes over in broker 0: 2.0 MiB/s",
        ),
        (
            "group_load.reads_stay_in_rack",
            [edit("group_load", {"group_id": "g"}, local_replica_size_bytes=2048, avoidable_share=0.2)],
            "set replica.selector.class to RackAwareReplicaSelector: 2.0 KiB stay in their rack",
        ),
    ],
)
def test_the_smallest_change_has_bytes_with_a_unit(rule: str, edits: list[Edit], change: str) -> None:
    suite, _, name = rule.partition(".")
    (broken,) = [each for each in rules_of(BY_NAME[suite], limits()) if each.name == name]
    assert change in {row["smallest_change"] for row in DuckdbTables(arrow({"c": night(edits)})).query(broken.query, name)}


@pytest.mark.parametrize("case", OTHER_PATTERNS)
def test_an_outcome_of_another_pattern_breaks_the_recount_of_the_partitions(verdicts: dict, case: str) -> None:
    assert "failover.every_affected_partition" in rules_with(verdicts, case, False)


@pytest.mark.parametrize(("kafka_version", "effective"), [("3.6.2", 4), ("3.7.0", 3)])
def test_min_insync_replicas_of_an_outcome_follow_from_the_kafka_version(kafka_version: str, effective: int) -> None:
    """Every partition has three replicas, and min.insync.replicas of every topic is 4."""
    (rule,) = [each for each in rules_of(BY_NAME["failover"], limits()) if each.name == "every_affected_partition"]
    outcomes_match = {}
    for stated in (3, 4):
        edits = [edit("cluster", kafka_version=kafka_version), edit("topic", min_insync_replicas=4)]
        tables = DuckdbTables(arrow({"c": night([*edits, edit("failover_pattern", min_insync_replicas=stated)])}))
        outcomes_match[stated] = not tables.query(rule.query, rule.name)
    assert outcomes_match == {stated: stated == effective for stated in (3, 4)}


def test_brokers_that_fail_in_their_order_break_no_rule() -> None:
    tables = arrow({"c": night(double_failure(dying=[1, 2]))})
    rows = evaluate(DuckdbTables(tables), all_rules(), "s", docs=None).to_pylist()
    assert [row["rule"] for row in rows if row["success"] is False] == []


@pytest.mark.parametrize(
    ("cluster", "rule"),
    [
        ("scenario.reads_survive_a_broker", "scenario.writes_survive_a_broker"),
        (OFFLINE_AFTER_STOP, "scenario.writes_survive_a_rolling_restart"),
        ("scenario.reads_survive_a_rack", "scenario.writes_survive_a_rack"),
    ],
)
def test_offline_partitions_alone_break_the_rule_on_writes(verdicts: dict, cluster: str, rule: str) -> None:
    verdict = verdicts[cluster, rule]
    assert (verdict["severity"], verdict["success"], verdict["broken_rows"]) == ("soft", False, 1)
    row = json.loads(verdict["example"])
    assert (row["newly_offline"], row["newly_refusing_acks_all"], row["measured"]) == (1, 0, 1)


def test_rule_with_missing_input_is_unknown(verdicts: dict) -> None:
    assert rules_with(verdicts, "minimal", False) == set()
    assert rules_with(verdicts, "minimal", None) == UNKNOWN


def test_only_soft_rules_can_be_unknown() -> None:
    rules = [rule for rules in all_rules().values() for rule in rules]
    assert {rule.severity for rule in rules if rule.requires} == {"soft"}


def test_repeated_row_breaks_the_key_of_its_table_in_its_cluster_alone() -> None:
    once, twice = sound(), sound()
    for tables in (once, twice):
        for change in (unhealthy("leaderless"), NO_REMEDY, add_change("broker lost", broker_id=3), *breached("ReplicaDistributionGoal")):
            change(tables)
        add("partition_load", "t", 0, 1.0, 1.0, 1.0, 1.0)(tables)
        add("rejected_input", "topics.txt", 3, 0, "?", "why")(tables)
        add("key_sample", "t", None, None, 1, 1, None, None)(tables)  # nulls are compared as values
    for rows in twice.values():
        rows[:] = [*rows, *rows[-1:]]
    rules = {suite: [one_row_per_key(BY_NAME[suite])] for suite in SUITES}
    verdicts = evaluate(DuckdbTables(arrow({"once": once, "twice": twice})), rules, "s", docs=None).to_pylist()
    assert {(row["suite"], row["success"]) for row in verdicts if row["cluster_id"] == "twice"} == {(suite, False) for suite in SUITES}
    assert all(row["success"] for row in verdicts if row["cluster_id"] == "once")


@pytest.mark.parametrize(("sizes", "equal"), [([5, 7], True), ([7, 5], False)])
def test_hash_of_rows_depends_on_the_row_of_each_value(sizes: list[int], equal: bool) -> None:
    tables = DuckdbTables({name: pa.table({"id": [1, 2], "size": values}) for name, values in (("one", [5, 7]), ("other", sizes))})
    ((one,), (other,)) = (tables.query(f"SELECT {rows_hash('id', 'size')} AS hash FROM {name}", name) for name in ("one", "other"))
    assert (one == other) == equal


@pytest.mark.parametrize(
    ("partitions", "repeated"), [([0, 63, 64, 127, 128], {}), ([63, 64, 63], {63: 2}), ([70, 6, 70, 134, 70], {70: 3}), ([-1, 63, 127], {})]
)
def test_partitions_that_share_a_group_of_keys_are_compared(partitions: list[int], repeated: dict[int, int]) -> None:
    rows = pa.table({"cluster_id": ["c"] * len(partitions), "topic": ["t"] * len(partitions), "partition": partitions})
    found = DuckdbTables({"partition": rows}).query(one_row_per_key(BY_NAME["partition"]).query, "the rule")
    assert {row["partition"]: row["rows"] for row in found} == repeated
