"""change: the differences between a cluster's snapshot and its previous published snapshot, one row each, with their cause.

    cluster     controller type, ELR, sources of the dumps
    broker      added, removed, lost, returned; rack; failed log dirs
    topic       created, deleted (both if it was recreated under its name); partition count, replication factor, configs
    partition   added, removed; replicas, ISR, ELR, leader, reassignment, recovery
    group       appeared, gone; protocol, assignor, state, coordinator, members

Sizes and offsets grow every night and belong to producer_load. Missing input is no change: an entity is added or removed only if both
snapshots report entities of its kind or have the same sources, and a value changes only if both snapshots report it.

A change has a cause if Kafka makes it in response to another change: the loss of a broker shrinks ISRs and moves leaders. If several causes
are possible, the first of a fixed order is named (a lost broker before a reassignment). Without a known cause, the column is null.

The work is SQL that Spark and DuckDB run: change_<kind>.sql beside this module pairs the entities of both snapshots, and change.sql has the
rows of all kinds. Few of the fleet's partitions differ, so these are found first (change_differing_partition.sql).
"""

from __future__ import annotations

from typing import Any

from jobs.engine import Engine, sql_text
from jobs.schema import BROKER, CHANGE, CLUSTER, CONSUMER_GROUP, GROUP_MEMBER, LOG_DIR, PARTITION, TOPIC
from jobs.steps.stage import Stage, Stages

READS = (CLUSTER, BROKER, LOG_DIR, TOPIC, PARTITION, CONSUMER_GROUP, GROUP_MEMBER)
READS_PREVIOUS = READS
WRITES = (CHANGE,)

# Formats of dumps that report the configs of topics. Configs are compared only if both snapshots have the same of these sources.
CONFIG_SOURCES = ("kafka-topics", "topology-capture", "kafka-configs", "metadata-log", "kafka-dump-log", "zookeeper")


def _cause(brokers: str, singular: str, plural: str) -> str:
    """Return the SQL of the cause that a list of brokers is, as text; null if it is empty or null."""
    one, several = (f"'{noun} ' || array_join({brokers}, ', ') || ' {verb}'" for noun, verb in (("broker", singular), ("brokers", plural)))
    return f"CASE WHEN size({brokers}) = 1 THEN {one} WHEN size({brokers}) > 1 THEN {several} END"


def _reassignment(prefix: str) -> str:
    """Return the SQL of the replicas that an ongoing reassignment adds and removes, as text; empty if there is none."""
    columns = {verb: f"{prefix}{verb}_replicas" for verb in ("adding", "removing")}
    parts = (f"CASE WHEN size({column}) > 0 THEN '{verb} ' || array_join({column}, ',') END" for verb, column in columns.items())
    return f"concat_ws(', ', {', '.join(parts)})"


_COMPARED_CLUSTER = sql_text(__file__, "change_compared_cluster", CONFIG_SOURCES=f"split('{','.join(CONFIG_SOURCES)}', ',')")
_DIFFERING_PARTITION, _CHANGE = (sql_text(__file__, name) for name in ("change_differing_partition", "change"))
_EXPRESSIONS = {
    "REASSIGNED": "'its replicas were reassigned'",
    "LEFT_BY_LOSS": _cause("left_by_loss", "was lost", "were lost"),
    "LEFT_BY_FAILURE": _cause("left_by_failure", "has a log dir that failed", "have log dirs that failed"),
    "JOINED_BY_RETURN": _cause("joined_by_return", "returned", "returned"),
    "REASSIGNMENT_BEFORE": _reassignment("previous_"),
    "REASSIGNMENT_AFTER": _reassignment(""),
}
_KINDS = {kind: sql_text(__file__, f"change_{kind}", **_EXPRESSIONS) for kind in ("cluster", "broker", "topic", "partition", "group")}


def transform(*inputs: Any, engine: Engine) -> Stages[tuple[Any, ...]]:
    if not len(inputs[len(READS)]):  # the first night of every cluster
        return (engine.from_arrow(CHANGE.schema.empty_table(), CHANGE),)
    names = [*(table.name for table in READS), *(f"previous_{table.name}" for table in READS_PREVIOUS)]
    tables = {name: engine.from_arrow(rows) for name, rows in zip(names, inputs, strict=True)}
    tables["compared_cluster"] = yield Stage(engine.sql(_COMPARED_CLUSTER, **tables))
    tables["differing_partition"] = yield Stage(engine.sql(_DIFFERING_PARTITION, **tables))
    changes = {f"{kind}_change": engine.sql(text, **tables) for kind, text in _KINDS.items()}
    return (engine.sql(_CHANGE, compared_cluster=tables["compared_cluster"], **changes),)
