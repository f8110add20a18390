"""The SQL of the view `failover`: its stored rows, with everything that follows from `failover_pattern`, `partition` and `scenario`."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from jobs.schema import FAILOVER, FAILOVER_PATTERN, PARTITION, PUBLISHED_FAILOVER, SCENARIO, Table

_SCENARIO_SET = ("snapshot_id", "attempt_id", "cluster_id", "scenario_set")
_PARTITION = ("snapshot_id", "attempt_id", "cluster_id", "topic", "partition")
_MEMBERS = "CASE WHEN f.other_members IS NULL THEN p.replicas ELSE p.replicas || f.other_members END"


class Dialect(Enum):
    """The SQL of an engine where it differs from the other one's: the brokers at `positions` among `members`."""

    DUCKDB = "list_transform({positions}, lambda position: ({members})[position])"
    SPARK = "transform({positions}, position -> element_at({members}, position))"

    def brokers(self, positions: str) -> str:
        """Return the SQL for the ids of the brokers at a list of positions of a partition."""
        return self.value.format(positions=positions, members=_MEMBERS)


def failover_rows(raw: Callable[[Table], str], dialect: Dialect) -> str:
    """Return the SELECT of the columns PUBLISHED_FAILOVER.

    Every row has an outcome and a partition. The joins are outer ones because they keep their order: with inner joins DuckDB first joins all
    outcomes of a cluster with all its partitions.
    """
    lists = {name: dialect.brokers(f"o.{name}") for name in ("isr", "elr", "last_known_elr", "survivors")}
    columns = {
        **{name: f"o.{name}" for name in FAILOVER_PATTERN.stored.schema.names},
        **{name: f"f.{name}" for name in FAILOVER.stored.schema.names},
        **{name: f"array_sort({brokers})" for name, brokers in lists.items()},
        "isr_before": "p.isr",
        "survivors": lists["survivors"],
    }
    selected = ", ".join(f"{columns[name]} AS {name}" for name in PUBLISHED_FAILOVER.stored.schema.names)
    return f"""
        SELECT {selected}
        FROM ({stored_rows(raw)}) f
        LEFT JOIN {raw(FAILOVER_PATTERN)} o ON {_equal("o", *_SCENARIO_SET)} AND o.outcome_id = f.outcome_id
        LEFT JOIN {raw(PARTITION)} p ON {_equal("p", *_PARTITION)}
    """


def stored_rows(raw: Callable[[Table], str]) -> str:
    """Return the SELECT of the stored rows of every scenario, also of those that share the rows of another one.

    Most queries need no join with `scenario`.
    """
    names = FAILOVER.stored.schema.names
    stored = ", ".join(f"f.{name}" for name in names)
    shared = ", ".join("s.scenario_id" if name == "scenario_id" else f"f.{name}" for name in names)
    return f"""
        SELECT {stored} FROM {raw(FAILOVER)} f
        UNION ALL
        SELECT {shared} FROM {raw(FAILOVER)} f
        JOIN {raw(SCENARIO)} s ON {_equal("s", *_SCENARIO_SET)} AND s.failover_scenario_id = f.scenario_id
             AND s.failover_scenario_id <> s.scenario_id
    """


def _equal(alias: str, *columns: str) -> str:
    return " AND ".join(f"{alias}.{name} = f.{name}" for name in columns)
