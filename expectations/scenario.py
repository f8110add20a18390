"""scenario: the loss of every live broker and rack is played, with the outcome that its partitions tell; and the cluster survives it."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import equal, hard, soft
from jobs.tables import BROKER, FAILOVER

READS = (BROKER, FAILOVER)

_RACKED = "SELECT cluster_id FROM scenario WHERE scenario_set = 'nightly' AND kind = 'rack'"


def expectations(limits: Limits) -> list[Expectation]:
    return [
        hard(
            "every_failure_played",
            "The loss of every live broker, its stop in order, and the loss of every rack with one, has its scenario.",
            """
                WITH failing AS (
                    SELECT cluster_id, 'broker' AS kind, CAST(broker_id AS STRING) AS name FROM broker WHERE live
                    UNION SELECT cluster_id, 'stop', CAST(broker_id AS STRING) FROM broker WHERE live
                    UNION SELECT cluster_id, 'rack', rack FROM broker WHERE live AND rack IS NOT NULL
                ), played AS (
                    SELECT cluster_id, kind, explode(if(kind = 'rack', racks, transform(brokers, id -> CAST(id AS STRING)))) AS name
                    FROM {batch}
                    WHERE scenario_set = 'nightly'
                )
                SELECT cluster_id, kind, name FROM failing ANTI JOIN played USING (cluster_id, kind, name)
            """,
        ),
        hard(
            "counts_as_failover",
            "A scenario's counts are those of its partitions.",
            equal(
                "cluster_id, scenario_set, scenario_id",
                said="""
                    SELECT cluster_id, scenario_set, scenario_id, struct(partitions, moved_leaders, leaderless, newly_leaderless,
                        under_min_isr, newly_under_min_isr, at_min_isr, unclean_leaders, no_replica_left, newly_lost, transitions,
                        at_risk_size_bytes) AS said
                    FROM {batch}
                    WHERE partitions > 0
                """,
                found="""
                    SELECT cluster_id, scenario_set, scenario_id, struct(
                        count(*) AS partitions,
                        count_if(leader IS NOT NULL AND leader IS DISTINCT FROM leader_before) AS moved_leaders,
                        count_if(leader IS NULL) AS leaderless,
                        count_if(leader IS NULL AND leader_before IS NOT NULL) AS newly_leaderless,
                        count_if(under_min_isr) AS under_min_isr,
                        count_if(under_min_isr AND NOT under_min_isr_before) AS newly_under_min_isr,
                        count_if(at_min_isr) AS at_min_isr,
                        count_if(unclean AND leader IS NOT NULL) AS unclean_leaders,
                        count_if(live_replicas = 0) AS no_replica_left,
                        count_if(safe_replicas = 0 AND safe_replicas_before > 0) AS newly_lost,
                        sum(size(transitions)) AS transitions,
                        coalesce(sum(at_risk_size_bytes), 0) AS at_risk_size_bytes) AS found
                    FROM failover
                    GROUP BY ALL
                """,
            ),
        ),
        _survives("reads_survive_a_broker", "Whichever broker is lost, no partition loses its leader.", "broker", "newly_leaderless"),
        _survives(
            "writes_survive_a_broker", "Whichever broker is lost, no partition stops to accept acks=all.", "broker", "newly_under_min_isr"
        ),
        _survives(
            "data_survives_a_broker",
            "Whichever broker is lost, every partition keeps a replica with all acknowledged records.",
            "broker",
            "newly_lost",
        ),
        _survives(
            "writes_survive_a_rolling_restart",
            "Whichever broker is stopped in order, no partition stops to accept acks=all.",
            "stop",
            "newly_under_min_isr",
        ),
        _survives("reads_survive_a_rack", "Whichever rack is lost, no partition loses its leader.", "rack", "newly_leaderless"),
        _survives("writes_survive_a_rack", "Whichever rack is lost, no partition stops to accept acks=all.", "rack", "newly_under_min_isr"),
        _survives(
            "data_survives_a_rack",
            "Whichever rack is lost, every partition keeps a replica with all acknowledged records.",
            "rack",
            "newly_lost",
        ),
        soft(
            "quorum_survives_a_broker",
            "Whichever broker is lost, enough controllers are left to elect leaders.",
            "SELECT cluster_id, scenario_id FROM {batch} WHERE scenario_set = 'nightly' AND kind = 'broker' AND quorum_lost",
            told="SELECT cluster_id FROM scenario WHERE quorum_lost IS NOT NULL UNION SELECT cluster_id FROM cluster WHERE controller = 'zookeeper'",
            measured="1",
            limit=0,
            formula="brokers that take the quorum with them = 0",
            change="concat('have a controller more, apart from ', scenario_id)",
        ),
    ]


def _survives(rule: str, sentence: str, kind: str, loss: str) -> Expectation:
    return soft(
        rule,
        sentence,
        f"SELECT cluster_id, scenario_id, {loss} FROM {{batch}} WHERE scenario_set = 'nightly' AND kind = '{kind}' AND {loss} > 0",
        measured=loss,
        limit=0,
        formula=f"partitions {loss.replace('_', ' ')} in a failure = 0",
        change=f"concat('see remedy for the change to each of the ', {loss}, ' partitions')",
        told=_RACKED if kind == "rack" else None,
    )
