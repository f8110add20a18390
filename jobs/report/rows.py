"""Rows of queries on the published views, as dicts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jobs.views import DuckdbViews

Row = Mapping[str, Any]


def rows(connection: DuckdbViews, query: str, parameters: Sequence[object] = ()) -> list[dict[str, Any]]:
    """Return the rows of a query."""
    result = connection.execute(query, parameters)
    names = [column[0] for column in result.description or ()]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def by_cluster(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Return the rows of each cluster. A cluster without rows has an empty list."""
    clusters: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        clusters[row["cluster_id"]].append(row)
    return clusters
