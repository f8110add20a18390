"""Assignments of groups by the assignors of their protocol, with their members and with one more and one fewer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from jobs.schema import BROKER, CLUSTER, CONSUMER_GROUP, GROUP_MEMBER, OBSERVED_ASSIGNMENT, PARTITION, TOPIC
from jobs.steps import consumer_assignment
from kafka_model.release import LATEST
from tests.jobs.rows import run_step, sorted_rows, table

RACKS = {1: "a", 2: "b", 3: "c"}
TOPIC_ID = "AAAAAAAAAAEAAAAAAAAAAQ"
Case = tuple[str, int]  # assignor and members_change


def run(
    spark: SparkSession,
    partitions: Mapping[str, int],
    members: Mapping[str, Mapping[str, Any]],
    group: Mapping[str, Any],
    observed: Mapping[str, Mapping[str, Sequence[int]]] | None = None,
    *,
    replicas: Sequence[int] = (1, 2, 3),
    racks: Mapping[int, str | None] = RACKS,
    sources: Sequence[str] = ("kafka-broker-api-versions",),
    version: str = str(LATEST),
) -> tuple[dict[Case, dict[str, list[tuple[str, int]]]], dict[Case, Row]]:
    """Compute one group. Partition p of every topic is on broker `replicas[p % len(replicas)]`; `observed` is by member and topic."""
    in_group = {"group_id": "g"}
    assignment, summary = run_step(
        consumer_assignment,
        table(spark, CLUSTER, {"kafka_version": version, "kafka_version_source": "metadata_version", "sources": list(sources)}),
        table(spark, BROKER, *({"broker_id": id, "rack": rack, "live": True} for id, rack in racks.items())),
        table(spark, TOPIC, *({"topic": name, "topic_id": TOPIC_ID, "partitions": count} for name, count in partitions.items())),
        table(
            spark, PARTITION,
            *({"topic": name, "partition": p, "replicas": [replicas[p % len(replicas)]]} for name, count in partitions.items() for p in range(count)),
        ),
        table(spark, CONSUMER_GROUP, in_group | {"state": "Stable", "protocol": "classic"} | dict(group)),
        table(spark, GROUP_MEMBER, *(in_group | {"member_id": id, "rack_known": True} | dict(member) for id, member in members.items())),
        table(
            spark, OBSERVED_ASSIGNMENT,
            *(
                in_group | {"member_id": id, "topic": topic, "partition": p}
                for id, topics in (observed or {}).items() for topic, numbers in topics.items() for p in numbers
            ),
        ),
    )  # fmt: skip
    assigned: dict[Case, dict[str, list[tuple[str, int]]]] = {}
    for row in assignment.orderBy("topic", "partition").collect():
        assigned.setdefault((row.assignor, row.members_change), {}).setdefault(row.member_id, []).append((row.topic, row.partition))
    return assigned, {(row.assignor, row.members_change): row for row in summary.collect()}


def reading(*topics: str, **values: Any) -> dict[str, Any]:
    return {"topics": list(topics), **values}


def of_t(*numbers: int) -> list[tuple[str, int]]:
    return [("T", number) for number in numbers]


def test_range_gives_ten_partitions_to_four_members_as_3_3_2_2(spark: SparkSession) -> None:
    observed = {"C1": {"T": [0, 1, 2]}, "C2": {"T": [3, 4, 5]}, "C3": {"T": [6, 7]}, "C4": {"T": [9, 8]}}
    assigned, summary = run(spark, {"T": 10}, dict.fromkeys(observed, reading("T")), {"assignor": "range"}, observed)
    assert assigned["range", 0] == {"C1": of_t(0, 1, 2), "C2": of_t(3, 4, 5), "C3": of_t(6, 7), "C4": of_t(8, 9)}
    assert assigned["range", -1] == {"C1": of_t(0, 1, 2, 3), "C2": of_t(4, 5, 6), "C3": of_t(7, 8, 9)}
    # One fewer: partition 3 goes to C1, 6 to C2, 8 and 9 to C3.
    assert (summary["range", -1].moved_partitions, summary["range", -1].spread, summary["range", -1].members) == (4, 1, 3)
    # One more, five of 2 each: 2 to C2, 4 and 5 to C3, 6 and 7 to C4, 8 and 9 to the new one.
    assert (summary["range", 1].moved_partitions, summary["range", 1].members, summary["range", 1].spread) == (7, 5, 0)
    assert {case: row.observed_differences for case, row in summary.items() if row.observed_differences is not None} == {("range", 0): 0}


def test_round_robin_skips_members_that_do_not_subscribe(spark: SparkSession) -> None:
    members = {"C1": reading("T1"), "C2": reading("T1", "T2"), "C3": reading("T2")}
    observed = {"C1": {"T1": [0, 2]}, "C2": {"T1": [1, 3], "T2": [1, 3, 5]}, "C3": {"T2": [0, 2, 4]}}
    assigned, summary = run(spark, {"T1": 4, "T2": 6}, members, {"assignor": "roundrobin"}, observed)
    # T1 1..4 are 0..3 here, and T2 5..10 are 0..5.
    assert assigned["roundrobin", 0]["C2"] == [("T1", 1), ("T1", 3), ("T2", 1), ("T2", 3), ("T2", 5)]
    assert summary["roundrobin", 0].observed_differences == 0
    # Without C3, C2 alone reads T2.
    assert summary["roundrobin", -1].max_partitions == 8


def test_a_topic_that_only_the_leaving_member_reads_is_not_assigned_without_it(spark: SparkSession) -> None:
    assigned, _ = run(spark, {"T": 2, "U": 1}, {"C1": reading("T"), "C2": reading("U")}, {"assignor": "range"})
    assert assigned["range", -1] == {"C1": of_t(0, 1)}


def test_a_group_without_an_existing_topic_has_only_idle_members(spark: SparkSession) -> None:
    assigned, summary = run(spark, {"T": 2}, {"C1": reading("U"), "C2": reading("T", "U")}, {"assignor": "sticky"})
    assert {change: summary["sticky", change].partitions for change in (0, 1, -1)} == {0: 2, 1: 2, -1: 0}
    without_t = summary["sticky", -1]
    assert (without_t.idle_members, without_t.max_partitions, without_t.moved_partitions, without_t.missing_input) == (1, 0, 0, None)
    assert ("sticky", -1) not in assigned


def test_members_beyond_the_partitions_are_idle(spark: SparkSession) -> None:
    _, summary = run(spark, {"T": 2}, {f"C{n}": reading("T") for n in (1, 2, 3)}, {"assignor": "range"})
    found = summary["range", 0]
    assert (found.members, found.idle_members, found.min_partitions, found.max_partitions, found.spread) == (3, 1, 0, 1, 1)


@pytest.mark.parametrize("assignor", ["sticky", "cooperative-sticky"])
def test_sticky_members_keep_what_they_have_and_give_the_rest_to_a_new_one(spark: SparkSession, assignor: str) -> None:
    observed = {"C1": {"T": [0, 2, 4]}, "C2": {"T": [1, 3, 5]}}
    assigned, summary = run(spark, {"T": 6}, {"C1": reading("T"), "C2": reading("T")}, {"assignor": assignor}, observed)
    assert assigned[assignor, 0] == {"C1": of_t(0, 2, 4), "C2": of_t(1, 3, 5)}
    assert assigned[assignor, 1] == {"C1": of_t(0, 2), "C2": of_t(1, 3), "C2+1": of_t(4, 5)}
    assert assigned[assignor, -1] == {"C1": of_t(0, 1, 2, 3, 4, 5)}
    assert [summary[assignor, change].moved_partitions for change in (0, 1, -1)] == [0, 2, 3]
    assert summary[assignor, 0].observed_differences == 0


def test_a_sticky_member_with_too_many_partitions_is_a_difference(spark: SparkSession) -> None:
    observed = {"C1": {"T": [0, 1, 2]}, "C2": {"T": [3]}}
    _, summary = run(spark, {"T": 4}, {"C1": reading("T"), "C2": reading("T")}, {"assignor": "sticky"}, observed)
    assert summary["sticky", 0].observed_differences == 1


def test_uniform_starts_from_the_observed_assignment(spark: SparkSession) -> None:
    observed = {"C2": {"T": [0]}}
    group = {"protocol": "consumer", "assignor": "uniform"}
    assigned, summary = run(spark, {"T": 1}, {"C1": reading("T"), "C2": reading("T")}, group, observed)
    assert assigned["uniform", 0] == {"C2": of_t(0)}
    assert summary["uniform", 0].observed_differences == 0
    assert summary["range", 0].observed_differences is None
    assert {row.depends_on_version for row in summary.values()} == {False}


def test_an_assignment_that_differs_between_patches_is_flagged(spark: SparkSession) -> None:
    """C2 keeps the only partition since 4.0.1; 4.0.0 gives it to C1."""
    members, group = {"C1": reading("T"), "C2": reading("T")}, {"protocol": "consumer", "assignor": "uniform"}
    assigned, summary = run(spark, {"T": 1}, members, group, {"C2": {"T": [0]}}, version="4.0.2")
    assert assigned["uniform", 0] == {"C2": of_t(0)}
    assert [summary[assignor, 0].depends_on_version for assignor in ("uniform", "range")] == [True, False]
    # With one member there is no other choice.
    assert summary["uniform", -1].depends_on_version is False
    assigned, _ = run(spark, {"T": 1}, members, group, {"C2": {"T": [0]}}, version="4.0.0")
    assert assigned["uniform", 0] == {"C1": of_t(0)}


def test_members_of_a_share_group_share_partitions(spark: SparkSession) -> None:
    """Four members on three partitions: two places per partition make six places."""
    members = {f"C{n}": reading("T") for n in (1, 2, 3, 4)}
    observed = {"C1": {"T": [0, 2]}, "C2": {"T": [0]}, "C3": {"T": [1, 2]}, "C4": {"T": [1]}}
    assigned, summary = run(spark, {"T": 3}, members, {"protocol": "share", "assignor": None}, observed)
    assert {assignor for assignor, _ in summary} == {"simple"}
    assert assigned["simple", 0] == {member: of_t(*topics["T"]) for member, topics in observed.items()}
    assert (summary["simple", 0].partitions, summary["simple", 0].observed_differences) == (6, 0)
    # Three members of the four share three partitions: one each. A member keeps one of its own, or gets one that nobody has.
    assert sorted(pair for owned in assigned["simple", -1].values() for pair in owned) == of_t(0, 1, 2)


def test_a_partition_of_another_topic_or_without_a_member_is_a_difference(spark: SparkSession) -> None:
    observed = {"C1": {"T": [0, 1], "U": [7]}, "C2": {"T": [2]}}
    _, summary = run(spark, {"T": 4}, {"C1": reading("T"), "C2": reading("T")}, {"assignor": "range"}, observed)
    assert summary["range", 0].observed_differences == 2


def test_a_group_with_unknown_subscriptions_is_unknown_under_every_assignor(spark: SparkSession) -> None:
    members = {"C1": reading("T"), "C2": {"topics": None}}
    assigned, summary = run(spark, {"T": 4}, members, {"assignor": "sticky"}, {"C1": {"T": [0, 1, 2, 3]}})
    assert assigned == {}
    assert set(summary) == {(assignor, change) for assignor in ("range", "roundrobin", "sticky") for change in (-1, 0, 1)}
    assert {(row.missing_input, row.partitions, row.observed_differences) for row in summary.values()} == {("subscriptions", None, None)}


def test_an_observed_partition_beyond_those_of_its_topic_makes_the_number_of_partitions_unknown(spark: SparkSession) -> None:
    _, summary = run(spark, {"T": 2}, {"C1": reading("T")}, {"assignor": "range"}, {"C1": {"T": [0, 1, 2]}})
    assert summary["range", 0].missing_input == "partitions of topics"


def test_racks_of_clients_decide_where_partitions_are_on_different_racks(spark: SparkSession) -> None:
    """Partition p is on rack a, b or c in turn: range by racks gives each member the partition on its rack."""
    members = {f"C{n}": reading("T", rack=rack) for n, rack in ((1, "c"), (2, "a"), (3, "b"))}
    observed = {"C1": {"T": [2]}, "C2": {"T": [0]}, "C3": {"T": [1]}}
    assigned, summary = run(spark, {"T": 3}, members, {"assignor": "range"}, observed)
    assert assigned["range", 0] == {"C1": of_t(2), "C2": of_t(0), "C3": of_t(1)}
    assert summary["range", 0].observed_differences == 0
    # The coordinator's range ignores racks.
    assigned, _ = run(spark, {"T": 3}, members, {"protocol": "consumer", "assignor": "range"})
    assert assigned["range", 0] == {"C1": of_t(0), "C2": of_t(1), "C3": of_t(2)}


def test_unknown_racks_of_clients_matter_only_where_partitions_are_on_different_racks(spark: SparkSession) -> None:
    members = {"C1": reading("T", rack_known=False), "C2": reading("T", rack_known=False)}

    def missing(assignor: str, topics: dict[str, int] | None = None, **options: Any) -> dict[str, str | None]:
        _, summary = run(spark, topics or {"T": 2}, members, {"assignor": assignor}, **options)
        return {name: row.missing_input for (name, change), row in summary.items() if change == 0}

    assert missing("sticky") == {"range": "client racks", "roundrobin": None, "sticky": "client racks"}
    assert missing("sticky", replicas=[1]) == {"range": None, "roundrobin": None, "sticky": None}
    no_racks = dict.fromkeys(RACKS)
    assert missing("range", racks=no_racks)["range"] is None
    # kafka-topics does not report racks: the brokers may have some.
    assert missing("range", racks=no_racks, sources=["kafka-topics"])["range"] == "client racks"


def test_a_group_that_rebalances_has_no_answer_that_starts_from_its_assignment(spark: SparkSession) -> None:
    group = {"assignor": "cooperative-sticky", "state": "PreparingRebalance"}
    _, summary = run(spark, {"T": 4}, {"C1": reading("T")}, group)
    assert {assignor: row.missing_input for (assignor, change), row in summary.items() if change == 0} == {
        "range": None,
        "roundrobin": None,
        "cooperative-sticky": "stable assignment",
    }


def test_a_single_member_has_no_case_with_one_fewer(spark: SparkSession) -> None:
    _, summary = run(spark, {"T": 3}, {"C1": reading("T")}, {"assignor": None, "protocol": None})
    assert set(summary) == {(assignor, change) for assignor in ("range", "roundrobin") for change in (0, 1)}


def test_a_group_reads_the_topics_and_racks_of_its_own_cluster(spark: SparkSession) -> None:
    """The clusters have a group and a topic of the same names. In one, members read on their racks; another has no topic."""
    counts = {"few": 2, "racks": 3, "none": 0}
    assignment, summary = run_step(
        consumer_assignment,
        table(spark, CLUSTER, *({"cluster_id": id, "sources": ["zookeeper"]} for id in counts)),
        table(spark, BROKER, *({"cluster_id": "racks", "broker_id": id, "rack": rack, "live": True} for id, rack in RACKS.items())),
        table(spark, TOPIC, *({"cluster_id": id, "topic": "T", "partitions": count} for id, count in counts.items() if count)),
        table(
            spark,
            PARTITION,
            *({"cluster_id": id, "topic": "T", "partition": p, "replicas": [p + 1]} for id, count in counts.items() for p in range(count)),
        ),
        table(
            spark, CONSUMER_GROUP,
            *({"cluster_id": id, "group_id": "g", "state": "Stable", "protocol": "classic", "assignor": "range"} for id in counts),
            {"group_id": "without members"},
        ),
        table(
            spark,
            GROUP_MEMBER,
            *(
                {"cluster_id": id, "group_id": "g", "member_id": f"C{rack}", "topics": ["T"], "rack": rack, "rack_known": True}
                for id in counts for rack in ("b", "a")
            ),
        ),
        table(
            spark, OBSERVED_ASSIGNMENT,
            {"cluster_id": "few", "group_id": "g", "member_id": "Ca", "topic": "T", "partition": 1},
            {"cluster_id": "racks", "group_id": "without members", "member_id": "Ca", "topic": "T", "partition": 1},
        ),
    )  # fmt: skip
    of_range = "assignor = 'range' AND members_change = 0"
    assert sorted_rows(assignment.where(of_range), "cluster_id", "partition", "member_id") == [
        ("few", 0, "Ca"), ("few", 1, "Cb"), ("racks", 0, "Ca"), ("racks", 1, "Cb"), ("racks", 2, "Ca"),
    ]  # fmt: skip
    assert sorted_rows(summary.where(of_range), "cluster_id", "group_id", "partitions", "observed_differences", "missing_input") == [
        ("few", "g", 2, 2, None), ("none", "g", 0, 0, None), ("racks", "g", 3, 3, None),
    ]  # fmt: skip
