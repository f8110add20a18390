"""The plan that is chosen on generated clusters makes nothing worse."""

from __future__ import annotations

from typing import Any

import pytest

from expectations.limits import limits
from jobs.errors import NoSuchPlan
from jobs.schema import BROKER
from kafka_model.cruise_control.limits import balancedness_cost_by_goal
from tests.jobs.plan.clusters import generated_cluster, plan_rows


def score(goals: list[dict[str, Any]], verdict: str) -> float:
    """Return the balancedness score of the verdicts in this column."""
    weights = balancedness_cost_by_goal(limits(None).cruise_control)
    return 100 - sum(weights[row["goal"]] for row in goals if row["goal"] in weights and row[verdict] in ("violated", "unfixable"))


def test_no_chosen_plan_makes_its_cluster_worse() -> None:
    refusals, changing, incomplete = [], 0, 0
    for seed in range(60):
        try:
            plan = plan_rows(generated_cluster(seed))
        except NoSuchPlan as error:
            refusals.append(str(error))
            continue
        score_before, score_after = score(plan.goals, "verdict_before"), score(plan.goals, "verdict")
        assert score_after >= score_before - 1e-9
        assert (plan.summary["score_before"], plan.summary["score"]) == pytest.approx((score_before, score_after))
        for row in plan.goals:
            if row["hard"] and row["verdict_before"] != "unfixable":
                assert row["breaches"] <= row["breaches_before"]
        for kind in ("broker", "stop", "rack"):
            lost = [(row["newly_lost_before"], row["newly_lost"]) for row in plan.scenarios if row["kind"] == kind]
            assert sum(after for _, after in lost) <= sum(before for before, _ in lost)
            if not any(move["reason"] in ("dead or drained broker", "shared rack") for move in plan.moves):
                assert max((after for _, after in lost), default=0) <= max((before for before, _ in lost), default=0)
        changing += bool(plan.moves)
        incomplete += plan.summary["left_out"] is not None
    assert changing > 40
    assert incomplete > 0
    assert refusals
    assert all(error.startswith("cluster c has no plan that makes nothing worse: ") for error in refusals)


def test_plan_that_would_lower_the_score_omits_its_last_steps() -> None:
    plan = plan_rows(generated_cluster(13))
    assert plan.moves
    assert plan.summary["left_out"] == "balancing of network and cpu: the balancedness score falls from 86.9 to 84.8"
    assert score(plan.goals, "verdict") >= score(plan.goals, "verdict_before")


def test_plan_that_can_only_make_things_worse_is_refused_in_one_line() -> None:
    message = r"cluster c has no plan that makes nothing worse: the balancedness score falls from 84\.4 to 82\.2"
    with pytest.raises(NoSuchPlan, match=message):
        plan_rows(generated_cluster(39))


def test_balancing_never_makes_a_drain_worse_than_the_drain_alone() -> None:
    balanced, incomplete = 0, 0
    for seed in range(40):
        tables = generated_cluster(seed)
        live = [row["broker_id"] for row in tables[BROKER].to_pylist() if row["live"]]
        if len(live) < 4:
            continue
        plan = plan_rows(tables, drain=live[:1])
        drain_only = plan_rows(tables, drain=live[:1], balance=False)
        assert score(plan.goals, "verdict") >= score(drain_only.goals, "verdict") - 1e-9
        assert plan.summary["stranded_replicas"] <= drain_only.summary["stranded_replicas"]
        balanced += len(plan.moves) > drain_only.summary["changed_partitions"]
        incomplete += plan.summary["left_out"] is not None
    assert balanced > 5
    assert incomplete > 0
