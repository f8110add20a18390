"""A rule: a name, a sentence, a severity, and a query in DuckDB's SQL that returns the rows that break it.

A query names the tables of the snapshot as they are declared, and those of the cluster's previous snapshot as `previous_<table>`. Every row
that it returns has the `cluster_id` of its cluster, because a broken rule counts against that cluster alone. Example:

    SELECT cluster_id, topic FROM partition WHERE leader IS NULL

Call `unnest` in the SELECT list: DuckDB evaluates it in FROM as a join, which takes ten times longer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from jobs.schema import Table

PREVIOUS = "previous_"
# An aggregate of partitions with the same `partition >> 6`: a number with a bit for each of these 64 partitions.
PARTITION_BITS = "bit_or(CAST(1 AS UBIGINT) << (partition & 63))"


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of one table. It is unknown for a cluster that `requires` does not return; without `requires` it is known for all."""

    name: str
    sentence: str
    severity: Literal["hard", "soft"]
    query: str
    requires: str | None = None


def hard(name: str, sentence: str, query: str) -> Rule:
    """Return a rule about computed rows: if they contradict themselves or their input, the cluster is not published."""
    return Rule(name, sentence, "hard", query)


def soft(
    name: str, sentence: str, query: str, *, measured: str, limit: object, formula: str, change: str, requires: str | None = None
) -> Rule:
    """Return a rule about the cluster, whose broken rows are findings.

    `measured`, `limit` and `change` are expressions over the columns of the query: the measured value, its limit and the smallest change
    that repairs the row. `formula` is a text without quotes that states what must hold between the two.
    """
    explanation = f"{measured} AS measured, {limit} AS limit_value, '{formula}' AS formula, {change} AS smallest_change"
    return soft_explained(name, sentence, f"SELECT broken.*, {explanation} FROM ({query}) AS broken", requires=requires)


def soft_explained(name: str, sentence: str, query: str, *, requires: str | None = None) -> Rule:
    """Return a rule like `soft` whose query already has the columns measured, limit_value, formula and smallest_change."""
    return Rule(name, sentence, "soft", query, requires)


def counted(count: str, noun: str) -> str:
    """Return an expression for a count and its noun, for example `1 replica` or `2 replicas`."""
    return f"({count}) || if(({count}) = 1, ' {noun}', ' {noun}s')"


def readable_bytes(size: str) -> str:
    """Return an expression for a size in bytes with a unit, for example `2.3 GiB`."""
    return f"format_bytes(CAST(ceil({size}) AS BIGINT))"


def mismatches(key: str, *, stated: str, computed: str) -> str:
    """Return a query for the keys where the column `stated` of one query differs from the column `computed` of another.

    A key that only one of the two queries returns is a mismatch.
    """
    return f"SELECT * FROM ({stated}) FULL JOIN ({computed}) USING ({key}) WHERE stated IS DISTINCT FROM computed"


def rows_hash(*columns: str) -> str:
    """Return an aggregate that is equal for equal sets of rows, in any order."""
    # DuckDB combines columns by XOR, as this does with rows: without the outer hash, two rows that exchange a value would be equal.
    return f"bit_xor(hash(hash({', '.join(columns)})))"


def one_row_per_key(table: Table) -> Rule:
    """Return the rule that no two rows of a table have the same key. Nulls are compared as values."""
    columns = [column for column in table.key if column != "snapshot_id"]
    key = ", ".join(columns)
    group, repeats = _group_of_keys(table, columns)
    # The keys themselves are compared only in groups with a repeated key.
    repeated = f"SELECT {group} AS key_group FROM {table.name} GROUP BY key_group HAVING {repeats}"
    query = f"SELECT {key}, count(*) AS rows FROM {table.name} WHERE {group} IN ({repeated}) GROUP BY {key} HAVING count(*) > 1"
    return hard("one_row_per_key", f"Every row of {table.name} has a different key ({key}).", query)


def _group_of_keys(table: Table, columns: list[str]) -> tuple[str, str]:
    """Return an expression that groups keys by a hash, and the condition that a group has a repeated key.

    64 partitions of a topic share a group, which counts its different partitions: tens of millions of keys then need a tenth of the groups,
    which fit into memory.
    """
    if "partition" not in columns or table.schema.field("partition").nullable:
        return f"hash({', '.join(columns)})", "count(*) > 1"
    others = ", ".join(column for column in columns if column != "partition")
    return f"hash({others}, partition >> 6)", f"count(*) > bit_count({PARTITION_BITS})"
