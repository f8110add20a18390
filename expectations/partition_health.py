"""partition_health: what is amiss with the partitions of a cluster now, each sign a finding."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import hard, soft
from jobs.tables import BROKER, BROKER_BALANCE, PARTITION

READS = (BROKER, BROKER_BALANCE, PARTITION)

_RACKED = "SELECT cluster_id FROM broker GROUP BY cluster_id HAVING bool_and(rack IS NOT NULL)"


def expectations(limits: Limits) -> list[Expectation]:
    return [
        hard(
            "nothing_left_out",
            "A partition without a leader, with a short ISR or one outside its replicas has its row.",
            """
                SELECT cluster_id, topic, partition, leader, replicas, isr
                FROM partition
                ANTI JOIN {batch} USING (cluster_id, topic, partition)
                WHERE leader IS NULL
                   OR size(array_except(isr, replicas)) > 0
                   OR size(isr) < size(replicas) - size(coalesce(adding_replicas, array()))
            """,
        ),
        hard(
            "something_amiss",
            "A partition that is listed has something amiss.",
            """
                SELECT cluster_id, topic, partition
                FROM {batch}
                WHERE NOT (leaderless OR under_replicated OR under_min_isr OR at_min_isr OR not_preferred OR isr_outside OR unknown_broker
                    OR coalesce(rack_unsafe, false) OR no_tolerance OR odd_replication_factor)
            """,
        ),
        _amiss("leaderless", "every_partition_led", "Every partition has a leader that is live."),
        _amiss("under_replicated", "fully_replicated", "Every replica of a partition is in its ISR."),
        _amiss("under_min_isr", "accepts_all_acks", "Every partition has min.insync.replicas in sync, so that it accepts acks=all."),
        _amiss("at_min_isr", "above_min_isr", "Every partition would accept acks=all with one replica fewer in sync."),
        _amiss("isr_outside", "isr_within_replicas", "The ISR of a partition is among its replicas."),
        _amiss("unknown_broker", "replicas_on_live_brokers", "Every replica is on a live broker."),
        _amiss("rack_unsafe", "spread_over_racks", "The replicas of a partition are on as many racks as there are for them.", told=_RACKED),
        _amiss(
            "no_tolerance",
            "replicas_to_spare",
            "A partition has more replicas than min.insync.replicas, so that it accepts acks=all without one.",
        ),
        _amiss("odd_replication_factor", "replicas_as_told", "A partition has as many replicas as its topic tells."),
        soft(
            "preferred_leaders",
            f"At most {limits.not_preferred_share_most} of the partitions that prefer a broker are led by another, as Kafka allows.",
            f"""
                WITH led_by_others AS (
                    SELECT cluster_id, get(replicas, 0) AS broker_id, count(*) AS not_preferred
                    FROM {{batch}}
                    JOIN partition USING (cluster_id, topic, partition)
                    WHERE not_preferred
                    GROUP BY ALL
                )
                SELECT cluster_id, broker_id, not_preferred, preferred_leaders
                FROM led_by_others
                JOIN broker_balance USING (cluster_id, broker_id)
                WHERE not_preferred > {limits.not_preferred_share_most} * preferred_leaders
            """,
        ),
    ]


def _amiss(sign: str, rule: str, sentence: str, *, told: str | None = None) -> Expectation:
    return soft(rule, sentence, f"SELECT cluster_id, topic, partition FROM {{batch}} WHERE {sign}", told=told)
