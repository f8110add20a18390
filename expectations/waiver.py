"""Rules of waiver: an expired waiver is a finding."""

from __future__ import annotations

from expectations.limits import Limits
from expectations.rule import Rule, soft


def rules(limits: Limits) -> list[Rule]:
    return [
        soft(
            "waivers_in_force",
            "No waiver has expired before the day of the night, and that day is known.",
            """
                SELECT cluster_id, entry, suite || '.' || rule AS waived_rule, reason, owner, expires, snapshot_date FROM waiver
                WHERE snapshot_date IS NULL OR expires < snapshot_date
            """,
            measured="coalesce(CAST(snapshot_date AS VARCHAR), 'unknown')",
            limit="expires",
            formula="day of the night <= day on which the waiver expires",
            change="'repair what it waives, or renew or remove [[waiver]] ' || entry || ' in topology-audit.toml'",
        ),
    ]
