"""The coordinator's SimpleAssignor for share groups (KIP-932), homogeneous or not, from a current assignment."""

from __future__ import annotations

import random
from typing import Any

from kafka_model.assignor.group import Assignment
from kafka_model.assignor.share_simple import assign
from kafka_model.java.hash_map import string_order
from kafka_model.release import parse_release
from tests.oracle.groups import as_members, share_group, sorted_by_topic

PROGRAMS = {"4.3.1": "CoordinatorAssignor"}
RECORDED = 800
SINCE = "4.2.0"
ERRORS = {"NoSuchElementException": "NobodyToShare"}


def case(rng: random.Random) -> dict[str, Any]:
    """Draw a share group of any kind."""
    return {"assignor": "simple", **share_group(rng)}


def answer(case: dict[str, Any], kafka: str) -> Assignment:
    """Compute the assignment, sorted because Kafka's is a set."""
    return sorted_by_topic(
        assign(case["topics"], case["ids"], as_members(case), assignable=case.get("assignable"), version=parse_release(kafka)), string_order
    )
