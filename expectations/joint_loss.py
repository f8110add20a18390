"""Rules of joint_loss: the counts of fatal broker sets are possible."""

from __future__ import annotations

from expectations.limits import Limits
from expectations.rule import Rule, hard


def rules(limits: Limits) -> list[Rule]:
    return [
        hard(
            "fatal_sets_within_all",
            "At most all broker sets of a size are fatal, and every copyset is a set that loses data.",
            """
                SELECT cluster_id, deaths, broker_sets, copysets, data_loss_sets, write_outage_sets
                FROM joint_loss
                WHERE data_loss_sets > broker_sets OR write_outage_sets > broker_sets OR copysets > data_loss_sets
            """,
        )
    ]
