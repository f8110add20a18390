"""The tables that decide what readers see: results of the rules, published snapshots, absent clusters, and sent messages."""

from __future__ import annotations

from jobs.schema.table import CLUSTER_COLUMNS, SNAPSHOT_COLUMNS, Table

# What a broken soft rule means, the worst first.
CONSEQUENCES = ("data loss", "unavailable", "writes refused", "less redundancy", "balance", "hygiene")
VALIDATION = Table(
    "validation",
    "the result of a rule on a cluster",
    ("snapshot_id", "cluster_id", "suite", "rule"),
    f"""
    {CLUSTER_COLUMNS},
    gate STRING COMMENT 'gate that evaluated the rule: ingest, computed, failover or balance',
    suite STRING NOT NULL COMMENT 'table that the rule is about',
    rule STRING NOT NULL COMMENT 'name of the rule within its suite',
    severity STRING NOT NULL COMMENT 'hard: the dumps (gate ingest) or a computed table contradict themselves, and the cluster is withheld; soft: a finding about the cluster',
    success BOOLEAN COMMENT 'no row breaks the rule, or only waived rows do; null: the input of the rule is missing, so it is neither passed nor failed',
    broken_rows BIGINT NOT NULL COMMENT 'number of rows that break the rule and are not waived',
    example STRING COMMENT 'one row that breaks the rule, as JSON; a waived one if all are waived; null: none',
    sentence STRING NOT NULL COMMENT 'the rule in a sentence',
    cause STRING COMMENT 'what the broken rules of one finding have in common; null: a hard rule',
    consequence STRING COMMENT 'what the broken rule means, from worst to least: data loss, unavailable, writes refused, less redundancy, balance or hygiene; null: a hard rule',
    problem STRING COMMENT 'what is wrong, with the number of broken rows; with that of waived rows if all are waived; null: a hard rule, or no row breaks it',
    smallest_change STRING COMMENT 'smallest change that repairs the row in example; null: a hard rule, or no row breaks it',
    owner STRING COMMENT 'names of the owners of the broken rows, or of the waived rows if all are waived (table owner), sorted, separated by a comma and a space; null: a hard rule, no row breaks it, or its rows have no owner',
    waived_rows BIGINT NOT NULL COMMENT 'number of rows that break the rule and are waived (table waiver)',
    waived_until DATE COMMENT 'last day on which all rows that break the rule are waived; null: a row without a waiver breaks it, or no row does'
""",
    partition_by=("snapshot_id", "gate"),
)
# Every query and every step reads all of `snapshot` and `absent_cluster`. Partitions would leave one file per night for ever.
SNAPSHOT = Table(
    "snapshot",
    "a published cluster of a night; readers see only rows of these",
    ("snapshot_id", "cluster_id"),
    f"""
    {CLUSTER_COLUMNS},
    attempt_id STRING NOT NULL COMMENT 'attempt of the night whose rows readers see, a number as text',
    previous_snapshot_id STRING COMMENT 'the cluster''s previous published snapshot, which changes and growth are measured from; null: none',
    published_at TIMESTAMP NOT NULL COMMENT 'when the snapshot was published'
""",
    partition_by=(),
)
ABSENT_CLUSTER = Table(
    "absent_cluster",
    "a cluster that a night does not publish, although it was read in that night or published shortly before",
    ("snapshot_id", "cluster_id"),
    f"""
    {CLUSTER_COLUMNS},
    last_snapshot_id STRING COMMENT 'newest published snapshot of the cluster before this night, which readers still see; null: it was never published',
    reason STRING NOT NULL COMMENT 'no folder: the source has no folder of this name; nothing readable: no file in its folder can be read; withheld: it breaks a hard rule, or a check has not run',
    detail STRING NOT NULL COMMENT 'first cause of the absence, in a sentence'
""",
    partition_by=(),
)
NOTIFICATION = Table(
    "notification",
    "a message about a night that was sent to a recipient",
    ("snapshot_id", "recipient", "digest"),
    f"""
    {SNAPSHOT_COLUMNS},
    recipient STRING NOT NULL COMMENT 'who got the message: owner and a name, or url and the start of the SHA-256 of its URL, which may contain a password',
    digest STRING NOT NULL COMMENT 'SHA-256 of the message, in hexadecimal digits: the same message is sent to a recipient once',
    title STRING NOT NULL COMMENT 'first line of the message',
    sent_at TIMESTAMP NOT NULL COMMENT 'when the message was sent; a rerun of the night keeps the time of the same message'
""",
)
