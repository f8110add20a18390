"""The pages of a night, and its end on the terminal: their numbers are those of the tables, and names from dumps are escaped."""

from __future__ import annotations

import re
import shlex
from html.parser import HTMLParser
from pathlib import Path

import pytest
from rich.table import Table
from rich.text import Text

from expectations.limits import limits
from jobs.lake.lake import Lake
from jobs.report.night_pages import write_night_pages
from jobs.report.page import sections, write_page
from jobs.report.summary import night_summary
from jobs.views import DuckdbViews
from tests.jobs.two_nights import FIRST, SECOND, query
from tests.web_pages import external_references


class _Parser(HTMLParser):
    """The text of a page, and the text of each element `code`."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.text, self.codes, self._open = "", [""], False
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "code":
            self._open = True
            self.codes.append("")

    def handle_endtag(self, tag: str) -> None:
        self._open = self._open and tag != "code"

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._open:
            self.codes[-1] += data


@pytest.fixture(scope="module")
def pages(two_nights: Lake, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    write_night_pages(DuckdbViews(two_nights), SECOND, folder, data_docs=None, limits=limits())
    return folder


def test_a_night_has_an_overview_a_page_per_cluster_and_a_dictionary(pages: Path) -> None:
    written = {str(page.relative_to(pages)) for page in pages.rglob("*.html")}
    assert written == {"index.html", "dictionary.html", "clusters/orders-eu.html", "clusters/payments-us.html"}
    assert external_references(pages.rglob("*.html")) == []


def test_the_overview_names_the_worst_failure_and_every_finding(two_nights: Lake, pages: Path) -> None:
    text = " ".join(_Parser(pages / "index.html").text.split())
    ((failure, lost, offline, refusing),) = query(
        two_nights,
        "SELECT h.scenario_id, h.newly_lost, h.newly_offline, h.newly_refusing_acks_all FROM verdict v JOIN harm h USING (snapshot_id, cluster_id) "
        f"WHERE v.snapshot_id = '{SECOND}' AND v.cluster_id = 'payments-us' AND h.scenario_id = v.worst_broker_data",
    )
    assert f"If {failure} dies, {lost} partitions lose data, {offline} go offline and {refusing} refuse acks=all:" in text
    problems = query(two_nights, f"SELECT problem FROM finding WHERE snapshot_id = '{SECOND}'")
    assert len(problems) > 10
    assert [problem for (problem,) in problems if str(problem) not in text] == []


def test_a_finding_shows_its_owner_and_until_when_it_is_waived(two_nights: Lake, pages: Path, tmp_path: Path) -> None:
    connection = DuckdbViews(two_nights)
    write_night_pages(connection, FIRST, tmp_path, data_docs=None, limits=limits())
    html = (tmp_path / "clusters" / "orders-eu.html").read_text(encoding="utf-8")
    findings = re.findall(r"<tr data-consequence.*?</tr>", html, re.S)
    assert len(findings) > 1
    assert [row for row in findings if '<td data-label="owner">platform</td>' not in row] == []
    assert ["waived until 2026-06-30" in row for row in findings] == [False] * (len(findings) - 1) + [True]
    assert "Waiver of orders team until 2026-06-30: the groups move to a topic each this year." in findings[-1]
    assert "limit: 1.75 times the mean" in html
    assert 'data-label="owner"' not in (pages / "index.html").read_text(encoding="utf-8")  # this night has no owners
    lines = [line.plain for line in night_summary(connection, FIRST, 160)]
    (counts,) = [line for line in lines if line.startswith("Findings: ")]
    assert counts.endswith(", 1 waived. Fix first:")
    assert any(line.endswith("loses acknowledged records (payments team, platform)") for line in lines)


def test_the_matrix_has_the_harm_of_each_failure_and_the_leaders_that_each_broker_gains(two_nights: Lake, pages: Path) -> None:
    html = (pages / "clusters" / "payments-us.html").read_text(encoding="utf-8")
    rows = re.findall(r"<tr[^>]*><th class=\"stick s0\" scope=\"row\">(.*?)</tr>", html, re.S)
    shown = {re.sub(r"<[^>]+>", " ", row).split("  ")[0].strip(): re.findall(r">([+\d]+|&times;|)</td>", row) for row in rows}
    brokers = [
        id
        for (id,) in query(
            two_nights,
            f"SELECT broker_id FROM broker WHERE snapshot_id = '{SECOND}' AND cluster_id = 'payments-us' AND live ORDER BY rack, 1",
        )
    ]
    where = f"snapshot_id = '{SECOND}' AND cluster_id = 'payments-us' AND scenario_set = 'nightly'"
    failures = query(
        two_nights,
        f"SELECT scenario_id, brokers, newly_lost, newly_offline, newly_refusing_acks_all FROM scenario WHERE {where} AND kind <> 'stop'",
    )
    gains = {
        (failure, id): count
        for failure, id, count in query(two_nights, f"SELECT scenario_id, broker_id, gained_leaders FROM failover_load WHERE {where}")
    }
    assert shown == {
        failure: [str(lost), str(offline), str(refusing)]
        + ["&times;" if id in failed else f"+{gains[failure, id]}" if gains.get((failure, id)) else "" for id in brokers]
        for failure, failed, lost, offline, refusing in failures
    }  # fmt: skip


def test_every_query_of_a_page_runs_and_that_of_a_cluster_returns_its_rows_alone(two_nights: Lake, pages: Path) -> None:
    connection, commands = DuckdbViews(two_nights), 0
    for page in pages.rglob("*.html"):
        for code in _Parser(page).codes:
            if code.startswith("topology-audit query"):
                (_, _, sql) = shlex.split(code)
                result = connection.execute(sql)
                columns, found = [name for name, *_ in result.description], result.fetchall()
                if page.parent.name == "clusters" and "cluster_id" in columns:
                    assert {row[columns.index("cluster_id")] for row in found} <= {page.stem}, sql
                commands += 1
    assert commands > 20


@pytest.mark.parametrize("width", [80, 160])
def test_the_end_of_a_night_fits_a_terminal(two_nights: Lake, width: int) -> None:
    lines = [line.plain for line in night_summary(DuckdbViews(two_nights), SECOND, width)]
    assert len(lines) <= 20
    assert max(map(len, lines)) <= width
    assert any(line.startswith("✗ payments-us: If broker 12 dies, ") for line in lines)


def test_names_from_dumps_are_escaped(tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>'\"&"
    table = Table("topic", title=hostile)
    table.add_row(Text(hostile))
    write_page("report.html.j2", tmp_path / "index.html", title=hostile, sections=sections([Text(hostile, "red"), table]))
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert page.count("<script>") == 1  # the page's own
    assert _Parser(tmp_path / "index.html").text.count(hostile) == 5
