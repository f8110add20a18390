"""Rules of failover: every affected partition has the row of its pattern, and its leaders are live brokers."""

from __future__ import annotations

from expectations.failover_pattern import PATTERN_COLUMNS
from expectations.limits import Limits
from expectations.rule import Rule, hard, mismatches, rows_hash
from jobs.schema.failure import HARMS

_SCENARIO = "cluster_id, scenario_set, scenario_id"
_OUTCOME = "cluster_id, scenario_set, outcome_id"
# Each replica that fails, from the rows of failover: a partition with several has a row for each.
_STATED_DEATHS = f"""
    SELECT {_SCENARIO}, topic, partition, failover.leader_before, pattern, quorum_lost, controlled_shutdown, position
    FROM failover
    JOIN (SELECT {_OUTCOME}, quorum_lost, controlled_shutdown, hash({", ".join(PATTERN_COLUMNS)}) AS pattern, unnest(dying) AS position
          FROM failover_pattern)
    USING ({_OUTCOME})
    WHERE scenario_set = 'nightly'
"""
# The pattern of each partition, computed from its input. Most partitions have all replicas live and in sync, which needs no search of lists.
_PATTERN_OF_PARTITION = """
    SELECT cluster_id, topic, partition, replicas, if(list_contains(live, leader), leader, NULL) AS leader_before,
        if(healthy, range(1, len(replicas) + 1), list_transform(live, lambda id: list_position(members, id))) AS live_before,
        if(healthy, live_before, list_sort(list_transform(isr, lambda id: list_position(members, id)))) AS isr_before,
        list_transform(elr, lambda id: list_position(members, id)) AS elr_before,
        list_transform(last_known_elr, lambda id: list_position(members, id)) AS last_known_elr_before,
        hash(kraft, elr_enabled, unclean_elections, min_insync_replicas, factor, len(replicas), list_position(replicas, leader_before),
             isr_before, elr_before, last_known_elr_before, live_before) AS pattern
    FROM (
        SELECT *, if(healthy, replicas, list_filter(replicas, lambda id: list_contains(live_brokers, id))) AS live,
            if(healthy, replicas, list_filter(named, lambda id, nth: list_position(named, id) = nth)) AS members
        FROM (
            SELECT cluster_id, topic, partition, replicas, leader, isr, coalesce(elr, []) AS elr, coalesce(last_known_elr, []) AS last_known_elr,
                replicas || isr || coalesce(elr, []) || coalesce(last_known_elr, []) AS named, coalesce(live_brokers, []) AS live_brokers,
                controller = 'kraft' AS kraft, coalesce(cluster_elr, false) AND elr IS NOT NULL AS elr_enabled,
                coalesce(configs['unclean.leader.election.enable'] = 'true', false) AS unclean_elections,
                if(min_isr_capped, least(coalesce(topic.min_insync_replicas, 1), len(replicas)), coalesce(topic.min_insync_replicas, 1))
                    AS min_insync_replicas,
                if(topic.replication_factor > 0, topic.replication_factor, len(replicas)) AS factor,
                len(isr) = len(replicas) AND coalesce(len(elr), 0) + coalesce(len(last_known_elr), 0) = 0
                    AND list_has_all(replicas, isr)
                    AND len(list_filter(replicas, lambda id: list_contains(live_brokers, id))) = len(replicas) AS healthy
            FROM partition
            JOIN (SELECT cluster_id, controller, elr AS cluster_elr,
                      CAST(string_split(kafka_version, '.')[1:2] AS INT[]) >= [3, 7] AS min_isr_capped
                  FROM cluster) USING (cluster_id)
            LEFT JOIN (SELECT cluster_id, list(broker_id) AS live_brokers FROM broker WHERE live GROUP BY cluster_id) USING (cluster_id)
            LEFT JOIN topic USING (cluster_id, topic)
        )
    )
"""


def rules(limits: Limits) -> list[Rule]:
    deaths = rows_hash("topic", "partition", "leader_before", "pattern", "quorum_lost", "controlled_shutdown", "position")
    return [
        hard(
            "every_affected_partition",
            "A nightly scenario has a row for every partition with a replica on a broker that fails, and for no other partition. The row has the "
            "outcome of the pattern that follows from the partition, its topic, and the live and the failing brokers.",
            mismatches(
                _SCENARIO,
                stated=f"""
                    SELECT {_SCENARIO}, struct_pack(deaths := count(*), hash := {deaths}) AS stated FROM ({_STATED_DEATHS}) GROUP BY ALL
                """,
                computed=f"""
                    SELECT {_SCENARIO}, struct_pack(deaths := count(*), hash := {deaths}) AS computed
                    FROM (SELECT *, unnest(replicas) AS broker_id, generate_subscripts(replicas, 1) AS position FROM ({_PATTERN_OF_PARTITION}))
                    JOIN (SELECT {_SCENARIO}, unnest(brokers) AS broker_id, coalesce(quorum_lost, false) AS quorum_lost,
                              controlled_shutdown AND controller <> 'kraft' AS controlled_shutdown
                          FROM scenario JOIN (SELECT cluster_id, controller FROM cluster) USING (cluster_id)
                          WHERE scenario_set = 'nightly' AND failover_scenario_id = scenario_id)
                    USING (cluster_id, broker_id)
                    GROUP BY ALL
                """,
            ),
        ),
        hard(
            "deaths_in_order",
            "Several replicas of a partition fail in the order of their brokers.",
            # Materialized step by step: DuckDB would join each partition with all scenarios of its cluster.
            f"""
                WITH several AS MATERIALIZED (
                    SELECT {_SCENARIO}, topic, partition, dying FROM failover
                    JOIN (SELECT {_OUTCOME}, dying FROM failover_pattern WHERE len(dying) > 1) USING ({_OUTCOME})
                ), assigned AS MATERIALIZED (
                    SELECT several.*, replicas FROM several
                    JOIN (SELECT cluster_id, topic, partition, replicas FROM partition) USING (cluster_id, topic, partition)
                )
                SELECT {_SCENARIO}, topic, partition, replicas, dying, brokers
                FROM assigned
                JOIN (SELECT {_SCENARIO}, brokers FROM scenario WHERE len(log_dirs) = 0) USING ({_SCENARIO})
                WHERE list_transform(dying, lambda position: replicas[position])
                   <> list_filter(brokers, lambda id: list_contains(replicas, id))
            """,
        ),
        hard(
            "outcomes_match_patterns",
            "Every row has the leader and the harms of its row in failover_pattern.",
            f"""
                SELECT failover.*, {", ".join(f"pattern.{name} AS pattern_{name}" for name in ("leader_before", "leader", *HARMS))}
                FROM (
                    SELECT {_OUTCOME}, {", ".join(HARMS)}, leader IS NULL AS leaderless,
                        leader_before IS NULL AS leaderless_before, leader IS NOT DISTINCT FROM leader_before AS unchanged
                    FROM failover GROUP BY ALL
                ) AS failover
                LEFT JOIN (SELECT *, {", ".join(f"{harm} AS {name}" for name, harm in HARMS.items())} FROM failover_pattern) AS pattern
                USING ({_OUTCOME})
                WHERE pattern.state IS NULL
                   OR leaderless <> (pattern.leader IS NULL)
                   OR leaderless_before <> (pattern.leader_before IS NULL)
                   OR unchanged <> (pattern.leader IS NOT DISTINCT FROM pattern.leader_before)
                   OR {" OR ".join(f"failover.{name} <> pattern.{name}" for name in HARMS)}
            """,
        ),
        hard(
            "leader_is_live",
            "A leader is a live broker that does not fail.",
            f"""
                SELECT {_SCENARIO}, leader, brokers
                FROM (SELECT DISTINCT {_SCENARIO}, leader FROM failover WHERE leader IS NOT NULL)
                JOIN (SELECT {_SCENARIO}, brokers FROM scenario) USING ({_SCENARIO})
                LEFT JOIN (SELECT cluster_id, broker_id AS leader, live FROM broker) USING (cluster_id, leader)
                WHERE NOT coalesce(live, false) OR list_contains(brokers, leader)
            """,
        ),
        hard(
            "leader_has_its_position",
            "A newly elected leader is the replica at the position that its pattern elects.",
            f"""
                SELECT {_SCENARIO}, topic, partition, leader, replicas, position
                FROM (SELECT * FROM failover WHERE leader IS NOT NULL AND leader IS DISTINCT FROM leader_before)
                JOIN (SELECT {_OUTCOME}, leader AS position FROM failover_pattern) USING ({_OUTCOME})
                JOIN (SELECT cluster_id, topic, partition, replicas FROM partition) USING (cluster_id, topic, partition)
                WHERE replicas[position] IS DISTINCT FROM leader
            """,
        ),
    ]
