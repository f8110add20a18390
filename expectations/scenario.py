"""scenario: the loss of every live broker and rack is played, with the outcome that its partitions tell; and the cluster survives it."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import equal, hard, soft
from jobs.schema import BROKER, FAILOVER
from jobs.schema.failure import LOST, MUST_BE_ZERO, OFFLINE, REFUSES_ACKS_ALL

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
                    SELECT cluster_id, scenario_set, scenario_id, struct(partitions, moved_leaders, leaderless, newly_offline,
                        under_min_isr, newly_refusing_acks_all, at_min_isr, unclean_leaders, no_replica_left, newly_lost, transitions,
                        at_risk_size_bytes) AS said
                    FROM {batch}
                    WHERE partitions > 0
                """,
                found=f"""
                    SELECT cluster_id, scenario_set, scenario_id, struct(
                        count(*) AS partitions,
                        count_if(leader IS NOT NULL AND leader IS DISTINCT FROM leader_before) AS moved_leaders,
                        count_if(leader IS NULL) AS leaderless,
                        count_if({OFFLINE}) AS newly_offline,
                        count_if(under_min_isr) AS under_min_isr,
                        count_if({REFUSES_ACKS_ALL}) AS newly_refusing_acks_all,
                        count_if(at_min_isr) AS at_min_isr,
                        count_if(unclean AND leader IS NOT NULL) AS unclean_leaders,
                        count_if(live_replicas = 0) AS no_replica_left,
                        count_if({LOST}) AS newly_lost,
                        sum(size(transitions)) AS transitions,
                        coalesce(sum(at_risk_size_bytes), 0) AS at_risk_size_bytes) AS found
                    FROM failover
                    GROUP BY ALL
                """,
            ),
        ),
        _survives("reads_survive_a_broker", "If any one broker dies, no partition loses its leader.", "broker", "reads"),
        _survives("writes_survive_a_broker", "If any one broker dies, every partition still accepts acks=all.", "broker", "writes"),
        _survives(
            "data_survives_a_broker",
            "If any one broker dies, every partition keeps a replica with all acknowledged records.",
            "broker",
            "data",
        ),
        _survives(
            "writes_survive_a_rolling_restart",
            "While any one broker is stopped for a restart, every partition still accepts acks=all.",
            "stop",
            "writes",
        ),
        _survives("reads_survive_a_rack", "If any one rack is lost, no partition loses its leader.", "rack", "reads"),
        _survives("writes_survive_a_rack", "If any one rack is lost, every partition still accepts acks=all.", "rack", "writes"),
        _survives(
            "data_survives_a_rack",
            "If any one rack is lost, every partition keeps a replica with all acknowledged records.",
            "rack",
            "data",
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


def _survives(rule: str, sentence: str, kind: str, harm: str) -> Expectation:
    """No failure of this kind harms a partition for data, reads or writes."""
    counts, harmed = ", ".join(MUST_BE_ZERO[harm]), " + ".join(MUST_BE_ZERO[harm])
    return soft(
        rule,
        sentence,
        f"SELECT cluster_id, scenario_id, {counts} FROM {{batch}} WHERE scenario_set = 'nightly' AND kind = '{kind}' AND {harmed} > 0",
        measured=harmed,
        limit=0,
        formula=f"partitions {harmed.replace('_', ' ')} in a failure = 0",
        change=f"concat('see remedy for the change to each of the ', {harmed}, ' partitions')",
        told=_RACKED if kind == "rack" else None,
    )
