"""The tables that ingest writes from topology-audit.toml: who owns what, which findings are waived, and which limits differ from the defaults."""

from __future__ import annotations

from jobs.schema.table import CLUSTER_COLUMNS, Table

_CLUSTERS = "clusters STRING COMMENT 'pattern of the clusters that the entry applies to, which matches this cluster; null: all clusters'"

OWNER = Table(
    "owner",
    "an entry [[owner]] of topology-audit.toml, in a cluster that it applies to",
    ("snapshot_id", "cluster_id", "entry"),
    f"""
    {CLUSTER_COLUMNS},
    entry INT NOT NULL COMMENT 'number of the [[owner]] entry in the file, from 1; if several entries match a row, its owner is that of the last one',
    owner STRING NOT NULL COMMENT 'name of the owner',
    contact STRING COMMENT 'how to reach the owner: an Apprise URL or other text; null: not configured',
    {_CLUSTERS},
    topics STRING COMMENT 'pattern of the topics that the owner has; null: none, or all rows of the cluster if groups is null too',
    groups STRING COMMENT 'pattern of the groups that the owner has; null: none, or all rows of the cluster if topics is null too'
""",
)
WAIVER = Table(
    "waiver",
    "an entry [[waiver]] of topology-audit.toml, in a cluster that it applies to: rows that break a soft rule and are accepted for some time",
    ("snapshot_id", "cluster_id", "entry"),
    f"""
    {CLUSTER_COLUMNS},
    entry INT NOT NULL COMMENT 'number of the [[waiver]] entry in the file, from 1',
    suite STRING NOT NULL COMMENT 'table that the waived rule is about',
    rule STRING NOT NULL COMMENT 'name of the waived rule within its suite',
    reason STRING NOT NULL COMMENT 'why the broken rows are accepted',
    owner STRING NOT NULL COMMENT 'who is responsible for the waiver',
    expires DATE NOT NULL COMMENT 'last day on which the waiver is in force',
    snapshot_date DATE COMMENT 'day of the night, which is compared with expires: the date at the start of snapshot_id, otherwise the day (UTC) of captured_at in cluster; null: unknown, so the waiver is not in force',
    {_CLUSTERS},
    topics STRING COMMENT 'pattern that the topic of a row must match; null: rows of any topic or of none',
    groups STRING COMMENT 'pattern that the group of a row must match; null: rows of any group or of none'
""",
)
POLICY = Table(
    "policy",
    "a limit of an entry [[limit]] of topology-audit.toml, in a cluster that it applies to; it replaces the limit of the night",
    ("snapshot_id", "cluster_id", "entry", "limit_name"),
    f"""
    {CLUSTER_COLUMNS},
    entry INT NOT NULL COMMENT 'number of the [[limit]] entry in the file, from 1; if several entries set a limit of a row, the last one applies',
    limit_name STRING NOT NULL COMMENT 'name of the limit, as in expectations/limits.toml',
    limit_value DOUBLE NOT NULL COMMENT 'value of the limit',
    {_CLUSTERS},
    topics STRING COMMENT 'pattern that the topic of a row must match; null: rows of any topic or of none',
    groups STRING COMMENT 'pattern that the group of a row must match; null: rows of any group or of none'
""",
)
