"""What a plan leaves undone, with the reasons, in its summary and its commands."""

from __future__ import annotations

from jobs.plan.files import commands
from tests.jobs.plan.clusters import GIB, cluster_on_three_racks, cluster_with_disks, plan_rows


def test_impossible_drain_is_stated_with_its_reason() -> None:
    tables = cluster_with_disks({number: ([1, 2], GIB) for number in range(3)}, capacity=None, racks={1: "a", 2: "b"})
    plan = plan_rows(tables, drain=[2])
    assert plan.summary["unfulfilled"] == (
        "broker 2 cannot be drained: 3 replicas stay on it "
        "(3: every live broker that may take it has a replica of the partition; for example t-0)"
    )
    assert [(row["partition"], row["blocked_replicas"], row["reason"]) for row in plan.blocked] == [
        (number, 1, "dead or drained broker") for number in range(3)
    ]
    assert commands(plan.summary, plan.moves)[0] == f"# NOT FULFILLED: {plan.summary['unfulfilled']}"
    assert plan_rows(tables, drain=[2], add={3: "c"}).summary["unfulfilled"] is None


def test_impossible_replication_factor_and_topic_are_stated_with_their_reasons() -> None:
    without_leader = [([1, 3], 1, [1, 3]), ([4], None, [])]
    plan = plan_rows(cluster_on_three_racks(without_leader, dead=(4,)), replication_factor={"t": 3}, balance=False)
    assert plan.summary["unfulfilled"] == (
        "topic t cannot have 3 replicas: 1 partitions do not (1: no live leader to copy from; for example t-1)"
    )
    assert {(row["reason"], row["blocked_replicas"]) for row in plan.blocked} == {("replication factor", 2), ("dead or drained broker", 1)}
    plan = plan_rows(cluster_with_disks({0: ([1, 2], 1)}, capacity=None, racks={1: "a", 2: "a"}), topics=["t"])
    assert plan.summary["unfulfilled"] == ("1 partitions of t cannot be fixed (1: fewer live racks than replicas; for example t-0)")


def test_new_broker_without_a_replica_is_stated() -> None:
    tables = cluster_with_disks({number: ([1], 40 * GIB) for number in range(4)}, capacity=200.0 * GIB, racks={1: "a"})
    assert plan_rows(tables, add={2: "a"}).summary["unfulfilled"] is None
    too_full = plan_rows(tables, add={2: "a"}, disk_limit=0.1).summary["unfulfilled"]
    assert too_full.startswith("broker 2 gets no replica (")
