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
    "cluster_id", "priority", "consequence", "cause", "problem", "broken_rows", "owner", "waived_rows", "waived_until", "since_snapshot_id",
    "nights", "is_new", "smallest_change", "suite", "rule", "symptoms",
)  # fmt: skip
_SARIF_LEVELS = {"data loss": "error", "unavailable": "error", "writes refused": "error", "less redundancy": "warning"}  # others: note


class FindingFormat(StrEnum):
    json = "json"
    junit = "junit"
    sarif = "sarif"
    markdown = "markdown"


def formatted_findings(connection: DuckdbViews, snapshot_id: str, format: FindingFormat) -> str:
    """Return the findings of a published night, the worst first. Those that are waived are marked in the way of the format."""
    query = f"SELECT {', '.join(_COLUMNS)} FROM finding WHERE snapshot_id = ? ORDER BY {FINDINGS_WORST_FIRST}"
    clusters = [
        row["cluster_id"] for row in rows(connection, "SELECT cluster_id FROM snapshot WHERE snapshot_id = ? ORDER BY 1", [snapshot_id])
    ]
    return _WRITERS[format](snapshot_id, clusters, rows(connection, query, [snapshot_id]))


def _json(snapshot_id: str, clusters: Sequence[str], findings: Sequence[Row]) -> str:
    written = {"snapshot_id": snapshot_id, "clusters": clusters, "findings": findings}
    return json.dumps(written, indent=1, ensure_ascii=False, default=str) + "\n"  # a date as 2026-12-31


def _markdown(snapshot_id: str, clusters: Sequence[str], findings: Sequence[Row]) -> str:
    columns = ("consequence", "cluster_id", "problem", "owner", "since_snapshot_id", "waived_until", "smallest_change")
    waived = sum(row["waived_until"] is not None for row in findings)
    counted = f"{len(findings) - waived} findings" + (f" and {waived} waived" if waived else "")
    heading = f"### Kafka topology audit, night {snapshot_id}: {counted} in {len(clusters)} clusters\n\n"
    return heading + text(columns, [[row[name] for name in columns] for row in findings], Format.markdown)


def _junit(snapshot_id: str, clusters: Sequence[str], findings: Sequence[Row]) -> str:
    """A test suite per cluster. Each finding is a failed test case, or a skipped one if it is waived; a cluster without has a passed case."""
    waived = sum(row["waived_until"] is not None for row in findings)
    counts = {"tests": str(len(findings)), "failures": str(len(findings) - waived), "skipped": str(waived)}
    suites = ElementTree.Element("testsuites", counts, name=f"Kafka topology audit {snapshot_id}")
    for cluster_id in clusters:
        of_cluster = [row for row in findings if row["cluster_id"] == cluster_id]
        waived = sum(row["waived_until"] is not None for row in of_cluster)
        counts = {"tests": str(max(len(of_cluster), 1)), "failures": str(len(of_cluster) - waived), "skipped": str(waived)}
        suite = ElementTree.SubElement(suites, "testsuite", counts, name=cluster_id)
        for row in of_cluster:
            case = ElementTree.SubElement(suite, "testcase", classname=cluster_id, name=f"{row['suite']}.{row['rule']}")
            if row["waived_until"] is not None:
                ElementTree.SubElement(case, "skipped", message=f"{row['problem']}: waived until {row['waived_until']}")
                continue
            failure = ElementTree.SubElement(case, "failure", type=row["consequence"], message=row["problem"])
            owner = f" Owner: {row['owner']}." if row["owner"] else ""
            failure.text = f"{row['problem']}.{owner} Since {row['since_snapshot_id']}. Smallest change: {row['smallest_change']}"
        if not of_cluster:
            ElementTree.SubElement(suite, "testcase", classname=cluster_id, name="no findings")
    written = BytesIO()
    ElementTree.indent(suites)
    ElementTree.ElementTree(suites).write(written, encoding="utf-8", xml_declaration=True)
    return written.getvalue().decode() + "\n"


def _sarif(snapshot_id: str, clusters: Sequence[str], findings: Sequence[Row]) -> str:
    """SARIF 2.1.0. The location of a finding is its cluster, as a logical location. A waived finding is suppressed."""
    rules = sorted({(f"{row['suite']}.{row['rule']}", row["cause"]) for row in findings})
    results: list[dict[str, Any]] = [
        {
            "ruleId": f"{row['suite']}.{row['rule']}",
            "level": _SARIF_LEVELS.get(row["consequence"], "note"),
            "message": {"text": f"{row['cluster_id']}: {row['problem']}. Smallest change: {row['smallest_change']}"},
            "locations": [{"logicalLocations": [{"name": row["cluster_id"], "kind": "resource"}]}],
            "partialFingerprints": {"cause": f"{row['cluster_id']}/{row['cause']}"},
            "baselineState": "new" if row["is_new"] else "unchanged",
            "properties": {"owner": row["owner"]},
            "suppressions": [{"kind": "external", "justification": f"waived until {row['waived_until']}"}] if row["waived_until"] else [],
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
