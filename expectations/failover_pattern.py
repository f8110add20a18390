"""Rules of failover_pattern: leaders survive and are in sync, unaffected leaders stay, and an id has one outcome."""

from __future__ import annotations

from expectations.limits import Limits
from expectations.rule import Rule, hard
from jobs.schema import FAILOVER_PATTERN

_KEY = "cluster_id, scenario_set, outcome_id"
# The columns that the outcome follows from.
PATTERN_COLUMNS = (
    *("kraft", "elr_enabled", "unclean_elections", "min_insync_replicas", "replication_factor", "assigned_replicas"),
    *("leader_before", "isr_before", "elr_before", "last_known_elr_before", "live_before"),
)
EVENT_COLUMNS = ("dying", "effective_deaths", "quorum_lost", "controlled_shutdown")


def _columns() -> str:
    key = {"snapshot_id", *_KEY.split(", ")}
    return ", ".join(name for name in FAILOVER_PATTERN.schema.names if name not in key)


def rules(limits: Limits) -> list[Rule]:
    key_columns = ", ".join(PATTERN_COLUMNS + EVENT_COLUMNS)
    safe = "list_distinct(isr_before || elr_before)"
    return [
        hard(
            "ids_identify_outcomes",
            "Rows with the same outcome_id are equal, in all clusters and scenario sets.",
            f"""
                SELECT {_KEY}, {key_columns} FROM failover_pattern
                WHERE outcome_id IN (
                    SELECT outcome_id FROM failover_pattern GROUP BY outcome_id HAVING count(DISTINCT hash({_columns()})) > 1
                )
            """,
        ),
        hard(
            "leader_survives",
            "A leader is a replica on a live broker that does not fail.",
            f"SELECT {_KEY}, leader, live_before, dying FROM failover_pattern "
            "WHERE leader IS NOT NULL AND (NOT list_contains(live_before, leader) OR list_contains(dying, leader))",
        ),
        hard(
            "leader_was_in_sync",
            "A newly elected leader was in the ISR or was an eligible leader replica, except in an unclean election.",
            f"""
                SELECT {_KEY}, leader_before, leader, isr_before, elr_before FROM failover_pattern
                WHERE leader IS DISTINCT FROM leader_before
                  AND NOT unclean
                  AND NOT list_contains(isr_before, leader)
                  AND NOT (elr_enabled AND list_contains(elr_before, leader))
            """,
        ),
        hard(
            "unclean_elections_allowed",
            "An unclean election takes place where it is allowed, or elects the last known leader.",
            f"""
                SELECT {_KEY}, leader, last_known_elr_before FROM failover_pattern
                WHERE unclean AND leader IS NOT NULL AND NOT unclean_elections AND NOT elr_enabled
            """,
        ),
        hard(
            "leader_stays",
            "A leader in the ISR that does not fail stays the leader.",
            f"""
                SELECT {_KEY}, leader_before, leader, isr_before, dying FROM failover_pattern
                WHERE list_contains(isr_before, leader_before)
                  AND NOT list_contains(dying, leader_before)
                  AND leader IS DISTINCT FROM leader_before
            """,
        ),
        hard(
            "leader_in_isr",
            "A leader is in the ISR.",
            f"SELECT {_KEY}, leader, isr FROM failover_pattern WHERE NOT list_contains(isr, leader)",
        ),
        hard(
            "state_matches_leader",
            "A partition with a leader is an OnlinePartition, and one without a leader is an OfflinePartition.",
            f"""
                SELECT {_KEY}, state, leader, state_before, leader_before FROM failover_pattern
                WHERE state <> if(leader IS NULL, 'OfflinePartition', 'OnlinePartition')
                   OR state_before <> if(leader_before IS NULL, 'OfflinePartition', 'OnlinePartition')
            """,
        ),
        hard(
            "min_isr_matches_isr",
            "A partition is under min.insync.replicas if it has no leader or a smaller ISR, and at min.insync.replicas if its ISR has that size. "
            "Without a controller quorum, dead brokers stay in the ISR, so a partition with a larger ISR may be under it too.",
            f"""
                SELECT {_KEY}, leader, isr, min_insync_replicas, under_min_isr, at_min_isr, under_min_isr_before FROM failover_pattern
                WHERE under_min_isr <> (leader IS NULL OR len(isr) < min_insync_replicas) AND NOT (under_min_isr AND quorum_lost)
                   OR at_min_isr <> (NOT under_min_isr AND len(isr) = min_insync_replicas)
                   OR under_min_isr_before <> (leader_before IS NULL OR len(isr_before) < min_insync_replicas)
            """,
        ),
        hard(
            "survivors_counted",
            "The survivors are the live replicas that do not fail, and the safe replicas are those of them that were in the ISR or ELR.",
            f"""
                SELECT {_KEY}, live_before, dying, survivors, live_replicas, live_replicas_before, safe_replicas, safe_replicas_before
                FROM failover_pattern
                WHERE survivors <> list_filter(live_before, lambda position: NOT list_contains(dying, position))
                   OR live_replicas <> len(survivors)
                   OR live_replicas_before <> len(live_before)
                   OR safe_replicas_before <> len(list_intersect({safe}, live_before))
                   OR safe_replicas <> len(list_intersect({safe}, survivors))
            """,
        ),
        hard(
            "deaths_counted",
            "The controllers react to every death unless their quorum is lost.",
            f"""
                SELECT {_KEY}, dying, effective_deaths, quorum_lost FROM failover_pattern
                WHERE effective_deaths NOT BETWEEN 0 AND len(dying) OR NOT quorum_lost AND effective_deaths <> len(dying) OR len(dying) = 0
            """,
        ),
        hard(
            "rules_match_version",
            "The election rules are not newer than the Kafka version of the cluster, and no outcome depends on a version that is configured.",
            f"""
                SELECT {_KEY}, kafka_version, kafka_version_source, rules_since, oldest_rules_since,
                    min_insync_replicas, oldest_min_insync_replicas, depends_on_version
                FROM failover_pattern
                JOIN cluster USING (cluster_id)
                WHERE kraft AND {_numbers("rules_since")} > {_numbers("kafka_version")}
                   OR {_numbers("oldest_rules_since")} > {_numbers("rules_since")}
                   OR kafka_version_source = 'configured'
                      AND (oldest_rules_since <> rules_since OR oldest_min_insync_replicas <> min_insync_replicas)
                   OR depends_on_version AND oldest_rules_since = rules_since AND oldest_min_insync_replicas = min_insync_replicas
            """,
        ),
    ]


def _numbers(version: str) -> str:
    """Return the SQL for a version as numbers, which compare in the order of versions."""
    return f"string_split({version}, '.')::INT[]"
