"""The coordinator's own RangeAssignor (KIP-848): what the client's answers without racks."""

from __future__ import annotations

import random
from typing import Any

from kafka_model.assignor.group import Assignment
from kafka_model.assignor.range import assign
from kafka_model.java.hash_map import string_order
from tests.oracle.groups import as_members, in_order, modern_group

PROGRAMS = {"4.3.1": "CoordinatorAssignor"}
RECORDED = 500
KAFKAS = ("4.0", "9.9")


def case(rng: random.Random) -> dict[str, Any]:
    """A group of any kind."""
    drawn = modern_group(rng)
    for member in drawn["members"]:
        del member["owned"]  # range goes by subscriptions alone
    return {"assignor": "range", **drawn}


def answer(case: dict[str, Any], kafka: str) -> Assignment:
    """Who gets what; a set, told sorted."""
    return in_order(assign(case["topics"], as_members(case)), string_order)
