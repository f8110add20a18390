"""Rules of scenario: every failure is simulated, its counts match its partitions, and the cluster survives it."""

from __future__ import annotations

from expectations.limits import Limits
from expectations.rule import Rule, counted, hard, mismatches, soft
from jobs.schema.failure import LOST, MUST_BE_ZERO, OFFLINE, REFUSES_ACKS_ALL

_WITH_RACKS = "SELECT cluster_id FROM scenario WHERE scenario_set = 'nightly' AND kind = 'rack'"
# Over groups of partitions with equal outcomes: the sum of `rows`, for the groups that fulfil a condition.
_COUNTS = {
    name: f"coalesce(sum(rows) FILTER ({condition}), 0)"
    for name, condition in {
        "partitions": "true",
        "moved_leaders": "leader IS NOT NULL AND leader IS DISTINCT FROM leader_before",
        "leaderless": "leader IS NULL",
        "newly_offline": OFFLINE,
        "under_min_isr": "under_min_isr",
        "newly_refusing_acks_all": REFUSES_ACKS_ALL,
        "at_min_isr": "at_min_isr",
        "unclean_leaders": "unclean AND leader IS NOT NULL",
        "no_replica_left": "live_replicas = 0",
        "newly_lost": LOST,
    }.items()
} | {
    "transitions": "sum(rows * len(transitions))",
    "at_risk_size_bytes": "coalesce(sum(at_risk_size_bytes), 0)",
}


def rules(limits: Limits) -> list[Rule]:
    return [
        hard(
            "every_failure_simulated",
            "Every live broker has a scenario for its death and for its controlled shutdown, and every rack with a live broker has one.",
            """
                WITH failure AS (
                    SELECT cluster_id, 'broker' AS kind, CAST(broker_id AS VARCHAR) AS name FROM broker WHERE live
                    UNION SELECT cluster_id, 'stop', CAST(broker_id AS VARCHAR) FROM broker WHERE live
                    UNION SELECT cluster_id, 'rack', rack FROM broker WHERE live AND rack IS NOT NULL
                ), simulated AS (
                    SELECT cluster_id, kind, unnest(if(kind = 'rack', racks, CAST(brokers AS VARCHAR[]))) AS name
                    FROM scenario
                    WHERE scenario_set = 'nightly'
                )
                SELECT cluster_id, kind, name FROM failure ANTI JOIN simulated USING (cluster_id, kind, name)
            """,
        ),
        hard(
            "counts_match_failover",
            "The counts of a scenario match its partitions, and those of scenarios with the same partitions are equal.",
            mismatches(
                "cluster_id, scenario_set, scenario_id",
                stated=f"""
                    SELECT cluster_id, scenario_set, scenario_id,
                        struct_pack({", ".join(f"{name} := {name}" for name in _COUNTS)}) AS stated
                    FROM scenario
                    WHERE partitions > 0
                """,
                computed=f"""
                    SELECT cluster_id, scenario_set, scenario_id,
                        struct_pack({", ".join(f"{name} := {count}" for name, count in _COUNTS.items())}) AS computed
                    FROM (
                        SELECT cluster_id, scenario_set, scenario_id AS failover_scenario_id, outcome_id, count(*) AS rows,
                            sum(at_risk_size_bytes) AS at_risk_size_bytes
                        FROM failover GROUP BY ALL
                    )
                    JOIN failover_pattern USING (cluster_id, scenario_set, outcome_id)
                    JOIN (SELECT cluster_id, scenario_set, scenario_id, failover_scenario_id FROM scenario)
                    USING (cluster_id, scenario_set, failover_scenario_id)
                    GROUP BY ALL
                """,
            ),
        ),
        hard(
            "shared_outcomes_are_equal",
            "Only the controlled shutdown of a broker of a KRaft cluster shares the partitions of another scenario, which is the death of this broker.",
            """
                SELECT cluster_id, scenario_set, scenario_id, failover_scenario_id FROM scenario
                ANTI JOIN (
                    SELECT cluster_id, scenario_set, scenario_id AS failover_scenario_id, brokers, 'stop' AS kind
                    FROM scenario JOIN (SELECT cluster_id, controller FROM cluster) USING (cluster_id)
                    WHERE kind = 'broker' AND controller = 'kraft'
                ) USING (cluster_id, scenario_set, failover_scenario_id, brokers, kind)
                WHERE failover_scenario_id <> scenario_id
            """,
        ),
        _survives("reads_survive_a_broker", "If any one broker dies, no partition loses its leader.", "broker", "reads"),
        _survives("writes_survive_a_broker", "If any one broker dies, no partition stops accepting acks=all writes.", "broker", "writes"),
        _survives(
            "data_survives_a_broker",
            "If any one broker dies, every partition keeps a replica with all acknowledged records.",
            "broker",
            "data",
        ),
        _survives(
            "writes_survive_a_rolling_restart",
            "While any one broker is stopped for a restart, no partition stops accepting acks=all writes.",
            "stop",
            "writes",
        ),
        _survives("reads_survive_a_rack", "If any one rack is lost, no partition loses its leader.", "rack", "reads"),
        _survives("writes_survive_a_rack", "If any one rack is lost, no partition stops accepting acks=all writes.", "rack", "writes"),
        _survives(
            "data_survives_a_rack",
            "If any one rack is lost, every partition keeps a replica with all acknowledged records.",
            "rack",
            "data",
        ),
        soft(
            "quorum_survives_a_broker",
            "If any one broker is lost, enough controllers remain to elect leaders.",
            "SELECT cluster_id, scenario_id FROM scenario WHERE scenario_set = 'nightly' AND kind = 'broker' AND quorum_lost",
            requires="SELECT cluster_id FROM scenario WHERE quorum_lost IS NOT NULL UNION SELECT cluster_id FROM cluster WHERE controller = 'zookeeper'",
            measured="1",
            limit=0,
            formula="brokers whose loss costs the controller quorum = 0",
            change="'add a controller on a broker other than ' || scenario_id",
        ),
    ]


def _survives(name: str, sentence: str, kind: str, harm: str) -> Rule:
    """Return the rule that no failure of a kind harms a partition for data, reads or writes."""
    counts, harmed = ", ".join(MUST_BE_ZERO[harm]), " + ".join(MUST_BE_ZERO[harm])
    return soft(
        name,
        sentence,
        f"SELECT cluster_id, scenario_id, {counts} FROM scenario WHERE scenario_set = 'nightly' AND kind = '{kind}' AND {harmed} > 0",
        measured=harmed,
        limit=0,
        formula=f"partitions {harmed.replace('_', ' ')} in a failure = 0",
        change=f"'see remedy for the change to ' || {counted(harmed, 'partition')}",
        requires=_WITH_RACKS if kind == "rack" else None,
    )
