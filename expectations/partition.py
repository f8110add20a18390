"""partition: there are some, since a cluster of which no partition is known must not pass for a healthy one."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import hard
from jobs.tables import CLUSTER

READS = (CLUSTER,)


def expectations(limits: Limits) -> list[Expectation]:
    return [
        hard(
            "not_empty",
            "Every cluster has a partition that could be read: without kafka-topics --describe, nothing can be said of it.",
            "SELECT cluster_id FROM cluster ANTI JOIN {batch} USING (cluster_id)",
        ),
    ]
