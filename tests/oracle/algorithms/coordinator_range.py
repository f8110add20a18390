"""The coordinator's own RangeAssignor (KIP-848), which assigns as the client's does without racks."""

from __future__ import annotations

import random
from typing import Any

from kafka_model.assignor.group import Assignment
from kafka_model.assignor.range import assign
from kafka_model.java.hash_map import string_order
from tests.oracle.groups import as_members, modern_group, sorted_by_topic

PROGRAMS = {"4.3.1": "CoordinatorAssignor"}
RECORDED = 500
SINCE = "4.0.0"


def case(rng: random.Random) -> dict[str, Any]:
    """Draw a group of any kind."""
    drawn = modern_group(rng)
    for member in drawn["members"]:
        del member["owned"]  # range depends on subscriptions only
    return {"assignor": "range", **drawn}


def answer(case: dict[str, Any], kafka: str) -> Assignment:
    """Compute the assignment, sorted because Kafka's is a set."""
    return sorted_by_topic(assign(case["topics"], as_members(case)), string_order)
