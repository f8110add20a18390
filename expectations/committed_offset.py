"""committed_offset: groups stand within the log that they read."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import soft

READS = ()


def expectations(limits: Limits) -> list[Expectation]:
    return [
        soft(
            "committed_within_log",
            "No group has committed an offset beyond the end of the log: it would be reset there, and skip or repeat records.",
            """
                SELECT cluster_id, group_id, topic, partition, current_offset, log_end_offset FROM {batch}
                WHERE current_offset > log_end_offset
            """,
            told="SELECT cluster_id FROM committed_offset WHERE current_offset IS NOT NULL AND log_end_offset IS NOT NULL",
            measured="current_offset",
            limit="log_end_offset",
            formula="committed offset <= log end offset",
            change="concat('reset group ', group_id, ' on ', topic, '-', partition, ' to ', log_end_offset)",
        ),
    ]
