"""Two published nights of the same real clusters; one of the clusters loses a broker between them."""

from __future__ import annotations

from pathlib import Path

from expectations.limits import limits
from jobs import views
from jobs.cli import BUNDLED
from jobs.lake.lake import Lake
from jobs.lake.publication import Outcome
from jobs.night import NightlyRun

SNAPSHOTS = Path(__file__).parents[1] / "snapshots"
FIRST, SECOND = "2026-01-01", "2026-01-02"


def write_two_nights(lake: Lake) -> None:
    """Run both nights, and write the Data Docs of the second one into the lake's folder."""
    assert run(NightlyRun(lake, FIRST), SNAPSHOTS / "night-before").absent == []
    assert run(NightlyRun(lake, SECOND), BUNDLED, docs=f"{lake.uri}/docs").absent == []


def run(night: NightlyRun, source: Path, docs: str | None = None) -> Outcome:
    """Run a night with the default limits."""
    return night.run(str(source), {}, limits(), docs)


def query(lake: Lake, sql: str) -> list[tuple[object, ...]]:
    """Return the rows of a query on the published views."""
    return views.DuckdbViews(lake).execute(sql).fetchall()
