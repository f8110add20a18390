"""What each published cluster survives: the first table that a reader asks."""

from __future__ import annotations

from collections.abc import Iterator

from jobs.schema.failure import MUST_BE_ZERO, SURVIVES
from jobs.schema.table import CLUSTER_COLUMNS, Table

_FAILURES = {
    "broker": "the death of any one broker",
    "rolling_restart": "a rolling restart, in which any one broker is stopped by controlled shutdown",
    "rack": "the loss of any one rack",
    "two": "the death of any two brokers",
}
_HARMLESS = {
    "data": "no partition loses its last live replica with every acknowledged record",
    "reads": "no partition goes offline",
    "writes": "no partition goes offline or begins to refuse acks=all",
}
_COUNTS = {
    "newly_lost": "partitions that lose their last live replica with every acknowledged record",
    "newly_offline": "partitions that go offline",
    "newly_refusing_acks_all": "partitions that keep a leader and begin to refuse acks=all",
}


def _survival_columns() -> Iterator[str]:
    for failure, prefix in SURVIVES.items():
        for harm, counts in MUST_BE_ZERO.items():
            worst = f"worst_{failure}_{harm}"
            yield f"{prefix}_{harm} BOOLEAN COMMENT '{_HARMLESS[harm]} in {_FAILURES[failure]}; null: no such failure was simulated'"
            yield f"{worst} STRING COMMENT 'scenario_id of the worst failure of this kind for {harm}; null: the cluster survives all'"
            for count in counts:
                yield f"{failure}_{harm}_{count} BIGINT COMMENT '{_COUNTS[count]} in {worst}; null: the cluster survives all'"


# Every query of the newest verdicts reads the whole table. Partitions would leave one file per night for ever.
VERDICT = Table(
    "verdict",
    "what a published cluster survives, how even its load is, and how many rules it breaks",
    ("snapshot_id", "cluster_id"),
    f"""
    {CLUSTER_COLUMNS},
    live_brokers BIGINT COMMENT 'brokers that are live',
    brokers BIGINT COMMENT 'brokers, live or dead',
    {f",{chr(10)}    ".join(_survival_columns())},
    quorum_survives_any_broker BOOLEAN COMMENT 'the KRaft quorum keeps its majority if any one broker dies; null: voters unknown, or ZooKeeper',
    restartable BOOLEAN COMMENT 'every live broker has a place in a rolling restart',
    leader_skew DOUBLE COMMENT 'largest ratio of the leaders of a broker to the mean of the live brokers',
    byte_skew DOUBLE COMMENT 'largest ratio of the bytes of a broker to the mean of the live brokers; null: sizes unknown',
    producer_skew_lower_bound DOUBLE COMMENT 'largest lower bound, over all topics, of the ratio of the records of a partition to the mean of its topic; null: no key sample',
    consumer_spread BIGINT COMMENT 'largest difference, over all consumer groups, in partitions between two members of a group; null: no assignment is known',
    leaderless_now BIGINT COMMENT 'partitions without a leader in the snapshot; null: every partition is healthy',
    under_min_isr_now BIGINT COMMENT 'partitions that refuse acks=all in the snapshot; null: every partition is healthy',
    broken_rules BIGINT COMMENT 'rules that the cluster breaks',
    unknown_rules BIGINT COMMENT 'rules whose input the dumps do not contain'
""",
    partition_by=(),
)
