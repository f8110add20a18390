"""The coordinator's UniformAssignor (KIP-848), homogeneous or not, from a current assignment."""

from __future__ import annotations

import random
from typing import Any

from kafka_model.assignor.group import Assignment
from kafka_model.assignor.uniform import assign
from kafka_model.java.hash_map import string_order
from kafka_model.release import parse_release
from tests.oracle.groups import as_members, modern_group, sorted_by_topic

PROGRAMS = {"4.0.0": "CoordinatorAssignor", "4.0.1": "CoordinatorAssignor", "4.3.1": "CoordinatorAssignor"}
RECORDED = 800
SINCE = "4.0.0"
ERRORS = {"PartitionAssignorException": "BrokenClaims", "ArrayIndexOutOfBoundsException": "BrokenClaims"}


def case(rng: random.Random) -> dict[str, Any]:
    """Draw a group of any kind."""
    return {"assignor": "uniform", **modern_group(rng)}


def answer(case: dict[str, Any], kafka: str) -> Assignment:
    """Compute the assignment, sorted because Kafka's is a set."""
    return sorted_by_topic(assign(case["topics"], case["ids"], as_members(case), version=parse_release(kafka)), string_order)
