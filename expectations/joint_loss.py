"""joint_loss: fatal sets are among all sets, and more deaths are no safer."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import hard

READS = ()


def expectations(limits: Limits) -> list[Expectation]:
    return [
        hard(
            "fatal_among_all",
            "No more sets are fatal than there are, and every copyset is among those that lose data.",
            """
                SELECT cluster_id, deaths, broker_sets, copysets, data_loss_sets, write_outage_sets
                FROM {batch}
                WHERE data_loss_sets > broker_sets OR write_outage_sets > broker_sets OR copysets > data_loss_sets
            """,
        )
    ]
