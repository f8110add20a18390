"""Plans of clusters made by hand: moves, waves, goals, brokers and failures before and after the plan."""

from __future__ import annotations

from jobs.schema import PARTITION_LOAD
from tests.jobs.plan.clusters import cluster_on_three_racks, plan_rows
from tests.jobs.rows import rows


def test_plan_replaces_replica_on_dead_broker_and_harms_no_partition_on_the_way() -> None:
    plan = plan_rows(cluster_on_three_racks([([1, 2, 3], 1, [1, 2, 3]), ([1, 3, 4], 1, [1, 3])], dead=(4,)), balance=False)
    # Rack c died with broker 4. On the two racks left, three replicas cannot be more even.
    assert [(move["partition"], move["replicas_before"], move["replicas"], move["reason"]) for move in plan.moves] == [
        (1, [1, 3, 4], [1, 3, 2], "dead or drained broker"),
    ]
    columns = ("moved_replicas", "moved_bytes", "waves", "stranded_replicas")
    assert tuple(plan.summary[name] for name in columns) == (1, 100.0, 1, 0)
    # With two live replicas, partition 1 refuses writes if one of them dies; with three it does not.
    assert (plan.summary["harmed_before"], plan.summary["harmed"]) == (1, 0)
    columns = ("wave", "moved_replicas", "moves_of_busiest_broker", "harmed")
    assert [tuple(wave[name] for name in columns) for wave in plan.waves] == [(1, 1, 1, 0)]
    breaches = {goal["goal"]: (goal["breaches_before"], goal["breaches"]) for goal in plan.goals}
    assert breaches["ReplicaDistributionGoal"] == (0, 0)
    # Three brokers live, on two racks.
    refusing = {row["scenario_id"]: (row["newly_refusing_acks_all_before"], row["newly_refusing_acks_all"]) for row in plan.scenarios}
    assert refusing == {
        "broker 1": (1, 0), "broker 2": (0, 0), "broker 3": (1, 0), "stop 1": (1, 0), "stop 2": (0, 0), "stop 3": (1, 0),
        "rack a": (2, 2), "rack b": (1, 0), "brokers 1+2": (2, 2), "brokers 1+3": (1, 2), "brokers 2+3": (2, 2),
    }  # fmt: skip
    # Before the plan, only brokers 1 and 3 have live replicas of partition 1. Without both it is offline, and not counted as refusing writes.
    offline = {row["scenario_id"]: (row["newly_offline_before"], row["newly_offline"]) for row in plan.scenarios}
    assert offline == {**dict.fromkeys(refusing, (0, 0)), "brokers 1+3": (1, 0)}
    assert {row["scenario_id"]: (row["partitions_before"], row["partitions"]) for row in plan.scenarios}["broker 2"] == (1, 2)


def test_wave_0_changes_leadership_only_and_needs_an_election() -> None:
    plan = plan_rows(cluster_on_three_racks([([1, 3], 3, [1, 3]), *[([1, 4], 1, [1, 4])] * 5]))
    leadership_moves = [move for move in plan.moves if move["wave"] == 0]
    assert leadership_moves
    assert all(move["added_replicas"] == [] for move in leadership_moves)
    assert plan.summary["elections"] == sum(move["leader_before"] != move["replicas"][0] for move in plan.moves)
    verdicts = {goal["goal"]: (goal["verdict_before"], goal["verdict"]) for goal in plan.goals}
    assert verdicts["PreferredLeaderElectionGoal"] == ("violated", "satisfied")
    assert verdicts["LeaderReplicaDistributionGoal"] == ("violated", "satisfied")
    assert verdicts["ReplicaDistributionGoal"] == ("violated", "satisfied")
    assert verdicts["CpuCapacityGoal"] == ("unknown", "unknown")
    assert [wave["wave"] for wave in plan.waves] == sorted({move["wave"] for move in plan.moves})


def test_each_broker_has_its_replicas_leaders_and_bytes_before_and_after() -> None:
    plan = plan_rows(cluster_on_three_racks([([1, 2], 2, [1, 2])]), balance=False)
    columns = ("broker_id", "replicas_before", "replicas", "leaders_before", "leaders", "size_bytes_before", "size_bytes")
    assert [tuple(row[name] for name in columns) for row in plan.brokers] == [
        (1, 1, 1, 0, 1, 100.0, 100.0),
        (2, 1, 0, 1, 0, 100.0, 0.0),
        (3, 0, 1, 0, 0, 0.0, 100.0),
        (4, 0, 0, 0, 0, 0.0, 0.0),
    ]


def test_plan_uses_the_loads_that_cruise_control_reports() -> None:
    tables = cluster_on_three_racks([([1, 3], 1, [1, 3]), ([1, 4], 1, [1, 4]), ([3, 1], 3, [1, 3])])
    rates = [(0, 500_000.0), (1, 400_000.0), (2, 10_000.0)]  # broker 1 sends 900,000 of 1,000,000; the limit is 80 %
    loads = ({"topic": "t", "partition": number, "network_out_bytes_per_s": rate, "disk_bytes": 100.0} for number, rate in rates)
    tables[PARTITION_LOAD] = rows(PARTITION_LOAD, *loads)
    plan = plan_rows(tables)
    verdicts = {goal["goal"]: (goal["verdict_before"], goal["verdict"]) for goal in plan.goals}
    assert verdicts["NetworkOutboundCapacityGoal"] == ("violated", "satisfied")
    assert verdicts["CpuCapacityGoal"] == ("unknown", "unknown")
    # The smallest load that is enough moves.
    assert {move["partition"]: move["reason"] for move in plan.moves}[1] == "capacity"


def test_bytes_of_unknown_size_are_unknown() -> None:
    plan = plan_rows(cluster_on_three_racks([([1, 2], 1, [1, 2])], size=None))
    assert (plan.summary["moved_replicas"], plan.summary["moved_bytes"]) == (1, None)
    assert [move["moved_bytes"] for move in plan.moves] == [wave["moved_bytes"] for wave in plan.waves] == [None]


def test_drained_broker_gives_up_its_replicas_and_new_broker_gets_some() -> None:
    tables = cluster_on_three_racks([([1, 3], 1, [1, 3]), ([2, 3], 2, [2, 3]), ([3, 4], 3, [3, 4])])
    plan = plan_rows(tables, drain=[3], add={7: "b"})
    assert all(3 not in move["replicas"] for move in plan.moves)
    assert any(7 in move["added_replicas"] for move in plan.moves)
    assert plan.summary["stranded_replicas"] == 0


def test_pair_that_shares_a_partition_only_after_the_plan_has_the_sum_of_its_brokers_before() -> None:
    plan = plan_rows(cluster_on_three_racks([([1, 2], 1, [1, 2]), ([3, 4], 3, [3, 4])]), balance=False)
    pairs = {tuple(row["brokers"]): row for row in plan.scenarios if row["kind"] == "pair"}
    (new_pair,) = set(pairs) - {(1, 2), (3, 4)}
    # Both partitions need two in-sync replicas, and each of these brokers has one of one partition.
    assert pairs[new_pair]["newly_refusing_acks_all_before"] == 2
    assert pairs[new_pair]["partitions_before"] == 2
