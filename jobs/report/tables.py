"""Tables of query results for the terminal, and the words for each harm. All reports use them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console, JustifyMethod, RenderableType
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from jobs.views import DuckdbViews

HARM_WORDS = {"newly_offline": "offline", "newly_refusing_acks_all": "refuse acks=all", "newly_lost": "lose data"}
# The order of the view `finding` in every report: waived findings last.
FINDINGS_WORST_FIRST = "waived_until IS NOT NULL, priority, NOT is_new, cluster_id, broken_rows DESC, cause"
# The query that every command suggests next.
HARMED_PARTITIONS = "SELECT cluster_id, scenario_id, topic, partition, trouble FROM harmed_partition"


def empty_table(title: str) -> Table:
    """Return a table without columns or rows, in the style of all reports."""
    return Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))


def query_table(
    connection: DuckdbViews, title: str, columns: Mapping[str, JustifyMethod], query: str, parameters: Sequence[object]
) -> Table:
    """Return a table of a query's rows; `columns` maps each heading to its alignment."""
    table = empty_table(title)
    for heading, justify in columns.items():
        table.add_column(heading, justify=justify, overflow="fold")
    for row in connection.execute(query, list(parameters)).fetchall():
        table.add_row(*(Text(str(value)) for value in row))
    return table


def print_parts(parts: Sequence[RenderableType]) -> None:
    """Print the parts of a report on the terminal."""
    console = Console(highlight=False)
    for part in parts:
        console.print(part)
