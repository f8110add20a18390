"""The definition of each harm that a failure does to a partition, and of a broker's death: SQL over `failover` and `scenario`, for Spark and DuckDB.

jobs.failure.patterns.harm_of is the same definition in Python; a test compares the two.
"""

from __future__ import annotations

# The two availability harms are disjoint: a partition without a leader counts as offline only. Lost records are a separate question.
OFFLINE = "(leader IS NULL AND leader_before IS NOT NULL)"
REFUSES_ACKS_ALL = "(leader IS NOT NULL AND under_min_isr AND NOT under_min_isr_before)"
LOST = "(safe_replicas = 0 AND safe_replicas_before > 0)"
# The column that counts each harm, in `scenario`, `broker_pair` and `plan_scenario`.
HARMS = {"newly_offline": OFFLINE, "newly_refusing_acks_all": REFUSES_ACKS_ALL, "newly_lost": LOST}
# A failure is survived for data, for reads or for writes if all of these counts are 0. Counts given together are disjoint, so that they add up.
MUST_BE_ZERO = {"data": ("newly_lost",), "reads": ("newly_offline",), "writes": ("newly_offline", "newly_refusing_acks_all")}
HARMED = f"({OFFLINE} OR {REFUSES_ACKS_ALL})"  # writes with acks=all no longer succeed
ONE_BROKER_KILLED = "(scenario_set = 'nightly' AND kind = 'broker')"
# The failures of `verdict`, and how the columns begin that state whether the cluster survives them.
SURVIVES = {"broker": "any_broker", "rolling_restart": "rolling_restart", "rack": "any_rack", "two": "any_two"}
