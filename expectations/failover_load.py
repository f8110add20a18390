"""Rules of failover_load: surviving brokers gain exactly the leaders that move, within their capacity."""

from __future__ import annotations

from expectations.limits import Limits
from expectations.rule import Rule, hard, mismatches, readable_bytes, soft


def rules(limits: Limits) -> list[Rule]:
    most = limits.cruise_control.network_outbound_capacity_threshold
    return [
        hard(
            "gains_match_moves",
            "The survivors of a scenario gain as many leaders as move.",
            mismatches(
                "cluster_id, scenario_set, scenario_id",
                stated="""
                    SELECT cluster_id, scenario_set, scenario_id,
                        struct_pack(gained := sum(gained_leaders), most_gained := max(gained_leaders)) AS stated
                    FROM failover_load GROUP BY ALL
                """,
                computed="""
                    SELECT cluster_id, scenario_set, scenario_id,
                        struct_pack(gained := moved_leaders, most_gained := busiest_gained_leaders) AS computed
                    FROM scenario WHERE moved_leaders > 0
                """,
            ),
        ),
        hard(
            "gained_shares_sum_to_one",
            "The shares that the survivors of a scenario gain sum to one.",
            """
                SELECT cluster_id, scenario_set, scenario_id, sum(gained_share) AS gained_shares FROM failover_load
                GROUP BY ALL HAVING abs(gained_shares - 1) > 1e-6
            """,
        ),
        hard(
            "survivors_gain",
            "No broker that fails gains a leader.",
            """
                SELECT cluster_id, scenario_set, scenario_id, broker_id, brokers
                FROM failover_load
                JOIN scenario USING (cluster_id, scenario_set, scenario_id)
                WHERE list_contains(brokers, broker_id)
            """,
        ),
        soft(
            "survivors_have_capacity",
            f"A broker that takes over leaders sends at most {most} of its network capacity afterwards.",
            f"""
                SELECT cluster_id, scenario_id, broker_id, network_out_bytes_per_s, network_out_share FROM failover_load
                WHERE scenario_set = 'nightly' AND network_out_share > {most}
            """,
            requires="SELECT cluster_id FROM failover_load WHERE network_out_share IS NOT NULL",
            measured="network_out_share",
            limit=most,
            formula="bytes out / capacity after the failure <= limit",
            change=f"""
                'move leaders or replicas that broker ' || broker_id || ' takes over in ' || scenario_id || ': '
                    || {readable_bytes(f"network_out_bytes_per_s * (1 - {most} / network_out_share)")} || '/s'
            """,
        ),
    ]
