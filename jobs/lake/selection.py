"""The rows of a table that a reader asks for, as a condition in SQL and in Arrow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import and_, or_

import pyarrow.compute as pc

Values = str | Sequence[str]  # the value of a column, or its values


class Selection:
    """Rows whose columns have these values; with `snapshots`, each cluster's rows of its own snapshot (cluster id -> snapshot id)."""

    def __init__(self, where: Mapping[str, Values], snapshots: Mapping[str, str] | None = None) -> None:
        self.where = {column: [values] if isinstance(values, str) else list(values) for column, values in where.items()}
        self._clusters: dict[str, list[str]] | None = None
        if snapshots is not None:
            self._clusters = defaultdict(list)
            for cluster_id, snapshot_id in snapshots.items():
                self._clusters[snapshot_id].append(cluster_id)
            self.where["snapshot_id"] = sorted(self._clusters)  # alone, so that readers skip the partitions of other snapshots

    @property
    def is_empty(self) -> bool:
        """Whether no row can match, since a column has no allowed value."""
        return not all(self.where.values())

    def sql(self, literal: Callable[[str], str]) -> str:
        """Return the condition as SQL; `literal` quotes a string for the dialect."""
        if self.is_empty:
            return "false"

        def is_in(column: str, values: Sequence[str]) -> str:
            return f"{column} IN ({', '.join(map(literal, values))})"

        conditions = [is_in(column, values) for column, values in self.where.items()]
        if self._clusters is not None:
            pairs = (f"{is_in('snapshot_id', [snapshot])} AND {is_in('cluster_id', ids)}" for snapshot, ids in self._clusters.items())
            conditions.append(f"({' OR '.join(pairs)})")
        return " AND ".join(conditions) or "true"

    def arrow(self, without: Sequence[str] = ()) -> pc.Expression | None:
        """Return the condition as an Arrow expression, or None if every row matches; the columns of `without` are not checked."""
        conditions = [pc.field(column).isin(values) for column, values in self.where.items() if column not in without]
        if self._clusters:
            pairs = ((pc.field("snapshot_id") == snapshot) & pc.field("cluster_id").isin(ids) for snapshot, ids in self._clusters.items())
            conditions.append(reduce(or_, pairs))
        return reduce(and_, conditions) if conditions else None
