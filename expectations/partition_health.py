"""partition_health: what is amiss with the partitions of a cluster now, each sign a finding."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import hard, soft
from jobs.schema import BROKER, BROKER_BALANCE, PARTITION

READS = (BROKER, BROKER_BALANCE, PARTITION)

_IN_SYNC, _LEAST, _SETTLED, _ASSIGNED = "in_sync_replicas", "min_insync_replicas", "settled_replicas", "assigned_replicas"
_REVIVE = "'bring back a broker of its ISR or ELR'"
_CATCH_UP = "concat('bring back in sync: ', array_join(lagging_replicas, ', '))"
_ADD = f"concat('add ', 1 + {_LEAST} - {_ASSIGNED}, ' replicas')"
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
                WHERE NOT (leaderless OR under_replicated OR under_min_isr OR at_min_isr OR not_preferred OR non_replica_in_isr OR unknown_broker
                    OR coalesce(rack_unsafe, false) OR no_tolerance OR replication_factor_mismatch OR coalesce(unwritable, false))
            """,
        ),
        _amiss("leaderless", "every_partition_led", "Every partition has a leader that is live.", "0", "1", "live leaders = 1", _REVIVE),
        _amiss(
            "under_replicated",
            "fully_replicated",
            "Every replica of a partition is in its ISR.",
            _IN_SYNC,
            _SETTLED,
            "replicas in sync = replicas, those being added not counted",
            _CATCH_UP,
        ),
        _amiss(
            "under_min_isr",
            "accepts_all_acks",
            "Every partition has min.insync.replicas in sync, so that it accepts acks=all.",
            _IN_SYNC,
            _LEAST,
            "replicas in sync >= min.insync.replicas",
            _CATCH_UP,
        ),
        _amiss(
            "at_min_isr",
            "above_min_isr",
            "Every partition would accept acks=all with one replica fewer in sync.",
            _IN_SYNC,
            f"{_LEAST} + 1",
            "replicas in sync > min.insync.replicas",
            _CATCH_UP,
        ),
        _amiss(
            "non_replica_in_isr",
            "isr_within_replicas",
            "The ISR of a partition is among its replicas.",
            "1",
            "0",
            "brokers in sync that are no replica = 0",
            "'let the reassignment end, or restart the controller: its state contradicts itself'",
        ),
        _amiss(
            "unknown_broker",
            "replicas_on_live_brokers",
            "Every replica is on a live broker.",
            "1",
            "0",
            "replicas on dead brokers = 0",
            "'bring the broker back, or move the replica off it: see plan'",
        ),
        _amiss(
            "rack_unsafe",
            "spread_over_racks",
            "The replicas of a partition are on as many racks as there are for them.",
            "1",
            "0",
            "replicas on a rack that they need not share = 0",
            "'move a replica to a rack without one: see goal_breach and plan'",
            told=_RACKED,
        ),
        _amiss(
            "no_tolerance",
            "replicas_to_spare",
            "A partition has more replicas than min.insync.replicas, so that it accepts acks=all without one.",
            _ASSIGNED,
            f"{_LEAST} + 1",
            "replicas > min.insync.replicas",
            _ADD,
        ),
        _amiss(
            "replication_factor_mismatch",
            "replicas_as_told",
            "A partition has as many replicas as its topic tells.",
            _SETTLED,
            "replication_factor",
            "replicas, those being added not counted = replication factor",
            "'end the reassignment that left it so, or make another: see plan'",
        ),
        _amiss(
            "unwritable",
            "replicas_for_all_acks",
            "A partition has no fewer replicas than min.insync.replicas: else nothing in order can accept acks=all.",
            _ASSIGNED,
            _LEAST,
            "replicas >= min.insync.replicas",
            _ADD,
        ),
        soft(
            "preferred_leaders",
            f"At most {limits.not_preferred_share_most} of the partitions that prefer a broker are led by another, as Kafka allows.",
            f"""
                WITH led_by_others AS (
                    SELECT cluster_id, preferred_leader AS broker_id, count(*) AS not_preferred
                    FROM {{batch}}
                    WHERE not_preferred
                    GROUP BY ALL
                )
                SELECT cluster_id, broker_id, not_preferred, preferred_leaders
                FROM led_by_others
                JOIN broker_balance USING (cluster_id, broker_id)
                WHERE not_preferred > {limits.not_preferred_share_most} * preferred_leaders
            """,
            measured="not_preferred / preferred_leaders",
            limit=limits.not_preferred_share_most,
            formula="partitions that prefer the broker and others lead / all that prefer it <= limit",
            change="concat('hold a preferred election for ', not_preferred, ' partitions')",
        ),
    ]


def _amiss(
    sign: str, rule: str, sentence: str, measured: str, limit: str, formula: str, change: str, *, told: str | None = None
) -> Expectation:
    columns = f"{_ASSIGNED}, {_SETTLED}, {_IN_SYNC}, {_LEAST}, replication_factor, lagging_replicas"
    query = f"SELECT cluster_id, topic, partition, {columns} FROM {{batch}} WHERE {sign}"
    return soft(rule, sentence, query, measured=measured, limit=limit, formula=formula, change=change, told=told)
