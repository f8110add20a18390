"""The client's CooperativeStickyAssignor: claims of older generations, conflicting claims, deleted partitions."""

from __future__ import annotations

import random
from typing import Any

from kafka_model.assignor.cooperative_sticky import assign, pack
from kafka_model.assignor.group import Assignment
from kafka_model.release import parse_release
from tests.oracle.groups import as_members, contested_group, counts, group, maybe_packed, racks_of

PROGRAMS = {"3.5.1": "ClientAssignor", "3.9.2": "ClientAssignor", "4.3.1": "ClientAssignor"}
RECORDED = 800
SINCE = "3.5.0"
ERRORS = {"ArithmeticException": "EmptyGroup", "IllegalStateException": "BrokenClaims", "NullPointerException": "BrokenClaims"}


def case(rng: random.Random) -> dict[str, Any]:
    """Draw a group of any kind."""
    return {"assignor": "cooperative-sticky", **maybe_packed(rng, contested_group(rng) if rng.random() < 0.3 else group(rng, claims=True))}


def answer(case: dict[str, Any], kafka: str) -> Assignment:
    """Compute the assignment, in Kafka's order of partitions."""
    generations = {member["id"]: member["subscription_generation"] for member in case["members"]}
    return assign(
        counts(case), as_members(case, pack=pack), racks=racks_of(case), subscription_generations=generations, version=parse_release(kafka)
    )
