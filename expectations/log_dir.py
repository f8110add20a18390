"""log_dir: the log dirs that brokers tell of work."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import soft
from jobs.schema import BROKER

READS = (BROKER,)


def expectations(limits: Limits) -> list[Expectation]:
    return [
        soft(
            "log_dirs_work",
            "No log dir tells an error.",
            "SELECT cluster_id, broker_id, log_dir, error FROM {batch} WHERE error IS NOT NULL",
            told="SELECT cluster_id FROM log_dir",
            measured="1",
            limit=0,
            formula="errors of a log dir = 0",
            change="concat('mend ', log_dir, ' of broker ', broker_id, ', or drain it: ', error)",
        ),
        soft(
            "told_of_every_broker",
            "Every live broker tells its log dirs, if any does: what is on the others is not known.",
            """
                SELECT cluster_id, broker_id FROM broker SEMI JOIN {batch} USING (cluster_id)
                ANTI JOIN (SELECT cluster_id, broker_id FROM {batch}) AS told USING (cluster_id, broker_id)
                WHERE live
            """,
            measured="0",
            limit=1,
            formula="live brokers that tell their log dirs = all",
            change="concat('ask broker ', broker_id, ' too: kafka-log-dirs --describe')",
            told="SELECT cluster_id FROM log_dir",
        ),
    ]
