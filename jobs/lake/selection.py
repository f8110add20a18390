"""The rows of a table that a reader asks for, as a condition in SQL and in Arrow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from operator import and_, or_
from typing import NamedTuple

import pyarrow.compute as pc

Values = str | Sequence[str]  # the value of a column, or its values


class Attempt(NamedTuple):
    """An attempt of a night. Later attempts of a night have higher numbers."""

    snapshot_id: str
    attempt_id: str  # a number

    @property
    def number(self) -> int:
        return int(self.attempt_id)


def newest_attempts(attempts: Iterable[Attempt]) -> dict[str, Attempt]:
    """Return the newest attempt of each snapshot, by snapshot id."""
    return {attempt.snapshot_id: attempt for attempt in sorted(attempts, key=lambda attempt: attempt.number)}


class Selection:
    """Rows whose columns have these values; with `attempts`, each cluster's rows of its own attempt (cluster id -> attempt)."""

    def __init__(self, where: Mapping[str, Values], attempts: Mapping[str, Attempt] | None = None) -> None:
        self.where = {column: [values] if isinstance(values, str) else list(values) for column, values in where.items()}
        self._clusters: dict[Attempt, list[str]] | None = None
        if attempts is not None:
            self._clusters = defaultdict(list)
            for cluster_id, attempt in attempts.items():
                self._clusters[attempt].append(cluster_id)
            # One condition per partition column, so that readers skip the partitions of other nights.
            for column in Attempt._fields:
                self.where[column] = sorted({getattr(attempt, column) for attempt in self._clusters})

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
            slices = (
                " AND ".join(is_in(column, values) for column, values in _columns(attempt, ids).items())
                for attempt, ids in self._clusters.items()
            )
            conditions.append(f"({' OR '.join(slices)})")
        return " AND ".join(conditions) or "true"

    def arrow(self, without: Sequence[str] = ()) -> pc.Expression | None:
        """Return the condition as an Arrow expression, or None if every row matches; the columns of `without` are not checked."""
        conditions = [pc.field(column).isin(values) for column, values in self.where.items() if column not in without]
        if self._clusters:
            slices = (
                reduce(and_, (pc.field(column).isin(values) for column, values in _columns(attempt, ids).items()))
                for attempt, ids in self._clusters.items()
            )
            conditions.append(reduce(or_, slices))
        return reduce(and_, conditions) if conditions else None


def _columns(attempt: Attempt, cluster_ids: Sequence[str]) -> dict[str, Sequence[str]]:
    """Return the values of the columns of these clusters' rows in an attempt."""
    return {"snapshot_id": [attempt.snapshot_id], "attempt_id": [attempt.attempt_id], "cluster_id": cluster_ids}


def any_of_sql(snapshot_ids: Sequence[str], attempts: Iterable[Attempt], literal: Callable[[str], str]) -> str:
    """Return the condition for the rows of these snapshots and of these attempts as SQL."""
    selections = [Selection({"snapshot_id": snapshot_ids}), *(Selection(attempt._asdict()) for attempt in attempts)]
    return " OR ".join(f"({selection.sql(literal)})" for selection in selections)
