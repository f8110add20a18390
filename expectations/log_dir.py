"""log_dir: the log dirs that brokers tell of work."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import soft

READS = ()


def expectations(limits: Limits) -> list[Expectation]:
    return [
        soft(
            "log_dirs_work",
            "No log dir tells an error.",
            "SELECT cluster_id, broker_id, log_dir, error FROM {batch} WHERE error IS NOT NULL",
            told="SELECT cluster_id FROM log_dir",
        ),
    ]
