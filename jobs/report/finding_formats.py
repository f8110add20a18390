"""The findings of a night for other programs: JSON, JUnit XML, SARIF and Markdown."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from enum import StrEnum
from io import BytesIO
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from jobs.report.query_output import Format, text
from jobs.report.rows import Row, rows
from jobs.report.tables import FINDINGS_WORST_FIRST

if TYPE_CHECKING:
    from jobs.views import DuckdbViews

_COLUMNS = (
    "cluster_id", "priority", "consequence", "cause", "problem", "broken_rows", "since_snapshot_id", "nights", "is_new", "smallest_change",
    "suite", "rule", "symptoms",
)  # fmt: skip
_SARIF_LEVELS = {"data loss": "error", "unavailable": "error", "writes refused": "error", "less redundancy": "warning"}  # others: note


class FindingFormat(StrEnum):
    json = "json"
    junit = "junit"
    sarif = "sarif"
    markdown = "markdown"


def formatted_findings(connection: DuckdbViews, snapshot_id: str, format: FindingFormat) -> str:
    """Return the findings of a published night, the worst first."""
    query = f"SELECT {', '.join(_COLUMNS)} FROM finding WHERE snapshot_id = ? ORDER BY {FINDINGS_WORST_FIRST}"
    clusters = [
        row["cluster_id"] for row in rows(connection, "SELECT cluster_id FROM snapshot WHERE snapshot_id = ? ORDER BY 1", [snapshot_id])
    ]
    return _WRITERS[format](snapshot_id, clusters, rows(connection, query, [snapshot_id]))


def _json(snapshot_id: str, clusters: Sequence[str], findings: Sequence[Row]) -> str:
    return json.dumps({"snapshot_id": snapshot_id, "clusters": clusters, "findings": findings}, indent=1, ensure_ascii=False) + "\n"


def _markdown(snapshot_id: str, clusters: Sequence[str], findings: Sequence[Row]) -> str:
    columns = ("consequence", "cluster_id", "problem", "since_snapshot_id", "smallest_change")
    heading = f"### Kafka topology audit, night {snapshot_id}: {len(findings)} findings in {len(clusters)} clusters\n\n"
    return heading + text(columns, [[row[name] for name in columns] for row in findings], Format.markdown)


def _junit(snapshot_id: str, clusters: Sequence[str], findings: Sequence[Row]) -> str:
    """A test suite per cluster. Each finding is a failed test case; a cluster without findings has one passed case."""
    suites = ElementTree.Element(
        "testsuites", name=f"Kafka topology audit {snapshot_id}", tests=str(len(findings)), failures=str(len(findings))
    )
    for cluster_id in clusters:
        of_cluster = [row for row in findings if row["cluster_id"] == cluster_id]
        suite = ElementTree.SubElement(
            suites, "testsuite", name=cluster_id, tests=str(max(len(of_cluster), 1)), failures=str(len(of_cluster))
        )
        for row in of_cluster:
            case = ElementTree.SubElement(suite, "testcase", classname=cluster_id, name=f"{row['suite']}.{row['rule']}")
            failure = ElementTree.SubElement(case, "failure", type=row["consequence"], message=row["problem"])
            failure.text = f"{row['problem']}. Since {row['since_snapshot_id']}. Smallest change: {row['smallest_change']}"
        if not of_cluster:
            ElementTree.SubElement(suite, "testcase", classname=cluster_id, name="no findings")
    written = BytesIO()
    ElementTree.indent(suites)
    ElementTree.ElementTree(suites).write(written, encoding="utf-8", xml_declaration=True)
    return written.getvalue().decode() + "\n"


def _sarif(snapshot_id: str, clusters: Sequence[str], findings: Sequence[Row]) -> str:
    """SARIF 2.1.0. The location of a finding is its cluster, as a logical location."""
    rules = sorted({(f"{row['suite']}.{row['rule']}", row["cause"]) for row in findings})
    results: list[dict[str, Any]] = [
        {
            "ruleId": f"{row['suite']}.{row['rule']}",
            "level": _SARIF_LEVELS.get(row["consequence"], "note"),
            "message": {"text": f"{row['cluster_id']}: {row['problem']}. Smallest change: {row['smallest_change']}"},
            "locations": [{"logicalLocations": [{"name": row["cluster_id"], "kind": "resource"}]}],
            "partialFingerprints": {"cause": f"{row['cluster_id']}/{row['cause']}"},
            "baselineState": "new" if row["is_new"] else "unchanged",
        }
        for row in findings
    ]
    driver = {
        "name": "topology-audit",
        "rules": [{"id": rule, "shortDescription": {"text": cause}} for rule, cause in rules],
    }
    run = {"tool": {"driver": driver}, "automationDetails": {"id": f"topology-audit/{snapshot_id}"}, "results": results}
    schema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
    return json.dumps({"$schema": schema, "version": "2.1.0", "runs": [run]}, indent=1, ensure_ascii=False) + "\n"


_WRITERS: dict[FindingFormat, Callable[[str, Sequence[str], Sequence[Row]], str]] = {
    FindingFormat.json: _json, FindingFormat.junit: _junit, FindingFormat.sarif: _sarif, FindingFormat.markdown: _markdown
}  # fmt: skip
