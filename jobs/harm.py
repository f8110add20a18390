"""What counts as harm, and which failures are the death of one broker, said once for jobs, rules and views: SQL for Spark and DuckDB.

Of `failover`'s columns, and of `scenario`'s.
"""

from __future__ import annotations

OFFLINE = "(leader IS NULL AND leader_before IS NOT NULL)"
HARMED = f"({OFFLINE} OR (under_min_isr AND NOT under_min_isr_before))"
ONE_BROKER_KILLED = "(scenario_set = 'nightly' AND kind = 'broker')"
