"""The client's RangeAssignor. 2.0.0 and 2.1.1 have neither static members nor racks."""

from __future__ import annotations

import random
from typing import Any

from kafka_model.assignor.group import Assignment
from kafka_model.assignor.range import assign
from kafka_model.release import parse_release
from tests.oracle.groups import as_members, counts, group, racks_of

PROGRAMS = {"2.0.0": "ClientAssignor20", "2.1.1": "ClientAssignor20", "3.9.2": "ClientAssignor", "4.3.1": "ClientAssignor"}
RECORDED = 600


def case(rng: random.Random) -> dict[str, Any]:
    """Draw a group of any kind."""
    return {"assignor": "range", **group(rng, claims=False)}


def answer(case: dict[str, Any], kafka: str) -> Assignment:
    """Compute the assignment, in Kafka's order of partitions."""
    return assign(counts(case), as_members(case), racks=racks_of(case), version=parse_release(kafka))
