"""The client's RangeAssignor; 2.0.0 knows neither static members nor racks, and its order of topics within a member is not asked."""

from __future__ import annotations

import random
from typing import Any

from kafka_model.assignor import Assignment
from kafka_model.assignor.range import assign
from kafka_model.java_hash import string_order
from tests.oracle.groups import as_members, counts, group, in_order, racks_of

PROGRAMS = {"2.0.0": "ClientAssignor20", "3.9.2": "ClientAssignor", "4.3.1": "ClientAssignor"}
RECORDED = 600


def case(rng: random.Random) -> dict[str, Any]:
    """A group of any kind."""
    return {"assignor": "range", **group(rng, claims=False)}


def answer(case: dict[str, Any], kafka: str) -> Assignment:
    """Who gets what, in Kafka's order."""
    if kafka == "2.0.0":
        return in_order(assign(counts(case), as_members(case, static=False, racks=False)), string_order)
    return assign(counts(case), as_members(case), racks=racks_of(case))
