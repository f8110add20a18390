"""Assignments under range and round robin, with the members of a group and with one more and one fewer."""

from pyspark.sql import Row, SparkSession

from jobs.schema import CONSUMER_GROUP, GROUP_MEMBER, OBSERVED_ASSIGNMENT, TOPIC
from jobs.steps import consumer_assignment
from tests.jobs.rows import run_step


def run(
    spark: SparkSession,
    partitions: dict[str, int],
    members: dict[str, list[str]],
    assignor: str = "range",
    observed_members: dict[int, str] | None = None,
) -> tuple[dict[tuple[str, int], dict[str, list[int]]], dict[tuple[str, int], Row]]:
    topic = spark.createDataFrame([("s", "c", name, None, count, 1, 1, {}) for name, count in partitions.items()], TOPIC.columns)
    group = spark.createDataFrame([("s", "c", "g", "classic", assignor, "Stable", 1, len(members))], CONSUMER_GROUP.columns)
    member = spark.createDataFrame(
        [("s", "c", "g", id, None, None, None, topics, None, None) for id, topics in members.items()], GROUP_MEMBER.columns
    )
    observed = spark.createDataFrame(
        [("s", "c", "T1", partition, "g", id) for partition, id in (observed_members or {}).items()], OBSERVED_ASSIGNMENT.columns
    )
    assignment, summary = run_step(consumer_assignment, topic, group, member, observed)
    assigned: dict[tuple[str, int], dict[str, list[int]]] = {}
    for row in assignment.orderBy("topic", "partition").collect():
        assigned.setdefault((row.assignor, row.members_change), {}).setdefault(row.member_id, []).append(row.partition)
    return assigned, {(row.assignor, row.members_change): row for row in summary.collect()}


def test_range_gives_ten_partitions_to_four_members_as_3_3_2_2(spark: SparkSession) -> None:
    assigned, summary = run(spark, {"T1": 10}, {f"C{n}": ["T1"] for n in (1, 2, 3, 4)})
    assert assigned["range", 0] == {"C1": [0, 1, 2], "C2": [3, 4, 5], "C3": [6, 7], "C4": [8, 9]}
    assert assigned["range", -1] == {"C1": [0, 1, 2, 3], "C2": [4, 5, 6], "C3": [7, 8, 9]}
    # One fewer: partition 3 goes to C1, 6 to C2, 8 and 9 to C3.
    assert (summary["range", -1].moved_partitions, summary["range", -1].spread, summary["range", -1].members) == (4, 1, 3)
    # One more, five of 2 each: 2 to C2, 4 and 5 to C3, 6 and 7 to C4, 8 and 9 to the new one.
    assert (summary["range", 1].moved_partitions, summary["range", 1].members, summary["range", 1].spread) == (7, 5, 0)


def test_round_robin_skips_members_that_do_not_subscribe(spark: SparkSession) -> None:
    assigned, _ = run(spark, {"T1": 4, "T2": 6}, {"C1": ["T1"], "C2": ["T1", "T2"], "C3": ["T2"]})
    # T1 1..4 are 0..3 here, and T2 5..10 are 0..5.
    assert assigned["roundrobin", 0] == {"C1": [0, 2], "C2": [1, 3, 1, 3, 5], "C3": [0, 2, 4]}


def test_members_beyond_the_partitions_are_idle(spark: SparkSession) -> None:
    _, summary = run(spark, {"T1": 2}, {f"C{n}": ["T1"] for n in (1, 2, 3)})
    found = summary["range", 0]
    assert (found.members, found.idle_members, found.min_partitions, found.max_partitions, found.spread) == (3, 1, 0, 1, 1)


def test_a_partition_observed_at_another_member_than_the_group_s_assignor_gives_is_a_difference(spark: SparkSession) -> None:
    _, summary = run(spark, {"T1": 4}, {"C1": ["T1"], "C2": ["T1"]}, observed_members={0: "C1", 1: "C1", 2: "C2", 3: "C1"})
    assert summary["range", 0].observed_differences == 1
    assert summary["roundrobin", 0].observed_differences is None
    assert summary["range", 1].observed_differences is None


def test_a_share_group_is_left_out(spark: SparkSession) -> None:
    """A group with an unknown protocol is not left out."""
    topic = spark.createDataFrame([("s", "c", "T1", None, 2, 1, 1, {})], TOPIC.columns)
    group = spark.createDataFrame(
        [("s", "c", name, protocol, None, "Stable", 1, 1) for name, protocol in (("g", None), ("q", "share"))], CONSUMER_GROUP.columns
    )
    member = spark.createDataFrame(
        [("s", "c", name, "C1", None, None, None, ["T1"], None, None) for name in ("g", "q")], GROUP_MEMBER.columns
    )
    observed = spark.createDataFrame([("s", "c", "T1", 0, "q", "C1")], OBSERVED_ASSIGNMENT.columns)
    for df in run_step(consumer_assignment, topic, group, member, observed):
        assert {row.group_id for row in df.collect()} == {"g"}


def test_a_single_member_has_no_case_with_one_fewer(spark: SparkSession) -> None:
    _, summary = run(spark, {"T1": 3}, {"C1": ["T1"]})
    assert set(summary) == {(assignor, change) for assignor in ("range", "roundrobin") for change in (0, 1)}
