"""Rules of committed_offset: committed offsets are within the log."""

from __future__ import annotations

from expectations.limits import Limits
from expectations.rule import Rule, soft


def rules(limits: Limits) -> list[Rule]:
    return [
        soft(
            "committed_within_log",
            "No group has committed an offset beyond the log end offset: its consumers would reset there, and skip or repeat records.",
            """
                SELECT cluster_id, group_id, topic, partition, current_offset, log_end_offset FROM committed_offset
                WHERE current_offset > log_end_offset
            """,
            requires="SELECT cluster_id FROM committed_offset WHERE current_offset IS NOT NULL AND log_end_offset IS NOT NULL",
            measured="current_offset",
            limit="log_end_offset",
            formula="committed offset <= log end offset",
            change="'reset group ' || group_id || ' on ' || topic || '-' || partition || ' to offset ' || log_end_offset",
        ),
    ]
