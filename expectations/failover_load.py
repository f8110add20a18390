"""failover_load: survivors gain the leaders that move, and nobody else."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import equal, hard, soft
from jobs.schema import SCENARIO

READS = (SCENARIO,)


def expectations(limits: Limits) -> list[Expectation]:
    most = limits.cruise_control.network_outbound_capacity_threshold
    return [
        hard(
            "gains_are_moves",
            "The survivors of a scenario gain as many leaders as move.",
            equal(
                "cluster_id, scenario_set, scenario_id",
                said="""
                    SELECT cluster_id, scenario_set, scenario_id, struct(sum(gained_leaders) AS gained,
                        max(gained_leaders) AS busiest) AS said
                    FROM {batch} GROUP BY ALL
                """,
                found="""
                    SELECT cluster_id, scenario_set, scenario_id, struct(moved_leaders AS gained,
                        busiest_gained_leaders AS busiest) AS found
                    FROM scenario WHERE moved_leaders > 0
                """,
            ),
        ),
        hard(
            "gained_shares_sum_to_one",
            "The shares of the survivors of a scenario sum to one.",
            """
                SELECT cluster_id, scenario_set, scenario_id, sum(gained_share) AS gained_shares FROM {batch}
                GROUP BY ALL HAVING abs(gained_shares - 1) > 1e-6
            """,
        ),
        hard(
            "survivors_gain",
            "No broker that fails gains a leader.",
            """
                SELECT cluster_id, scenario_set, scenario_id, broker_id, brokers
                FROM {batch}
                JOIN scenario USING (cluster_id, scenario_set, scenario_id)
                WHERE array_contains(brokers, broker_id)
            """,
        ),
        soft(
            "survivors_have_capacity",
            f"Whoever takes over leaders sends at most {limits.cruise_control.network_outbound_capacity_threshold} of its network capacity then.",
            f"""
                SELECT cluster_id, scenario_id, broker_id, network_out_bytes_per_s, network_out_share FROM {{batch}}
                WHERE scenario_set = 'nightly' AND network_out_share > {limits.cruise_control.network_outbound_capacity_threshold}
            """,
            told="SELECT cluster_id FROM failover_load WHERE network_out_share IS NOT NULL",
            measured="network_out_share",
            limit=most,
            formula="bytes out / capacity after the failure <= limit",
            change=f"""
                concat('move leaders or replicas that broker ', broker_id, ' takes over in ', scenario_id, ': ',
                    CAST(network_out_bytes_per_s * (1 - {most} / network_out_share) AS BIGINT), ' bytes/s')
            """,
        ),
    ]
