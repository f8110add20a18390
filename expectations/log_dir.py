"""Rules of log_dir: every live broker reports its log dirs, without an error."""

from __future__ import annotations

from expectations.limits import Limits
from expectations.rule import Rule, soft


def rules(limits: Limits) -> list[Rule]:
    return [
        soft(
            "log_dirs_work",
            "No log dir reports an error.",
            "SELECT cluster_id, broker_id, log_dir, error FROM log_dir WHERE error IS NOT NULL",
            requires="SELECT cluster_id FROM log_dir",
            measured="1",
            limit=0,
            formula="errors of a log dir = 0",
            change="'repair ' || log_dir || ' of broker ' || broker_id || ', or drain it: ' || error",
        ),
        soft(
            "every_broker_reports_log_dirs",
            "If one live broker reports its log dirs, all do: the contents of the others are unknown.",
            """
                SELECT cluster_id, broker_id FROM broker SEMI JOIN log_dir USING (cluster_id)
                ANTI JOIN (SELECT cluster_id, broker_id FROM log_dir) AS reported USING (cluster_id, broker_id)
                WHERE live
            """,
            measured="0",
            limit=1,
            formula="live brokers that report their log dirs = all",
            change="'run kafka-log-dirs --describe for broker ' || broker_id || ' too'",
            requires="SELECT cluster_id FROM log_dir",
        ),
    ]
