"""check reads a night's rows from the lake, judges them, and adds what it found to the night's Data Docs."""

from __future__ import annotations

import os
import re
import sys
import time
from pathlib import Path
from signal import SIGINT, SIGKILL
from subprocess import PIPE

import jinja2
import psutil
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from expectations.limits import limits
from expectations.rule import soft_as_told
from jobs import docs_view
from jobs.check import InDuckdb, InSpark, check, judge, judges, rules_of
from jobs.errors import AuditError
from jobs.lake.folder_lake import FolderLake
from jobs.lake.lake import Lake, open_lake
from jobs.schema import BY_NAME, TOPIC, VALIDATION
from tests.expectations.lake import Edit, add, arrow, drop, edit, frames, sound
from tests.web_pages import external_references

SUITES = ["topic", "partition"]


def night(*edits: Edit) -> dict:
    tables = sound()
    for change in edits:
        change(tables)
    return tables


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Two clusters: all is well with one; the other lost its topic, on the way or for want of a line."""
    lake = open_lake(str(tmp_path_factory.mktemp("lake")), pytest.fail)
    for name, rows in arrow({"sick": night(drop("topic")), "well": night()}).items():
        if name in ("cluster", "topic", "partition"):
            lake.create(BY_NAME[name])
            lake.replace(BY_NAME[name], rows, snapshot_id="s")
    return lake


@pytest.fixture(scope="module")
def docs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("docs")


@pytest.fixture(scope="module")
def verdicts(lake: Lake, docs: Path) -> list:
    return [row for suite in SUITES for row in check(lake, "s", [suite], earlier={}, limits=limits(), docs=str(docs)).to_pylist()]


def test_a_hash_of_rows_tells_whose_each_value_is() -> None:
    def said(sizes: list[int]) -> list[dict]:
        return InDuckdb({"replica": pa.table({"id": [1, 2], "size": sizes})}).ask("SELECT bit_xor(xxhash64(id, size)) AS hash FROM replica")

    assert said([5, 7]) != said([7, 5])


def test_each_cluster_suite_and_rule_has_one_verdict_that_the_table_takes(verdicts: list, tmp_path: Path) -> None:
    rules = {(row["suite"], row["rule"]) for row in verdicts}
    assert {suite for suite, _ in rules} == set(SUITES)
    expected = {(cluster, *rule) for cluster in ("sick", "well") for rule in rules}
    assert {(row["cluster_id"], row["suite"], row["rule"]) for row in verdicts} == expected
    assert len(verdicts) == 2 * len(rules)
    lake = open_lake(str(tmp_path), pytest.fail)
    lake.create(VALIDATION)
    for _ in range(2):
        lake.replace(VALIDATION, pa.Table.from_pylist(verdicts), snapshot_id="s", gate="g")
    found = lake.read_local(VALIDATION).to_pylist()
    assert {row.pop("gate") for row in found} == {"g"}
    assert sorted(map(str, found)) == sorted(map(str, verdicts))


def test_a_sick_cluster_breaks_hard_rules_of_its_own_only(verdicts: list) -> None:
    broken = [
        (row["cluster_id"], row["suite"], row["rule"], row["severity"], row["broken_rows"], row["example"])
        for row in verdicts
        if not row["success"]
    ]
    assert broken == [("sick", "topic", "topics_of_partitions", "hard", 1, '{"cluster_id":"sick","topic":"t"}')]


def test_the_docs_of_a_night_gather_what_separate_checks_found(verdicts: list, docs: Path) -> None:
    index = (docs / "index.html").read_text()
    for suite in SUITES:
        assert f"validations/{suite}/s/" in index
        (page,) = (docs / "validations" / suite).rglob("*.html")
        assert "has its key" in page.read_text()
    assert "Every partition belongs to a topic that is known." in next((docs / "validations" / "topic").rglob("*.html")).read_text()


def test_no_page_of_the_docs_runs_a_script_or_refers_to_another_host(verdicts: list, docs: Path) -> None:
    pages = list(docs.rglob("*.html"))
    assert len(pages) == 1 + 2 * len(SUITES)
    assert external_references(pages) == []


def test_every_link_of_the_docs_leads_to_one_of_their_pages(verdicts: list, docs: Path) -> None:
    links = {page: re.findall(r'href="([^"#]+)"', page.read_text()) for page in docs.rglob("*.html")}
    assert all(links.values())
    assert [link for page, found in links.items() for link in found if not (page.parent / link).is_file()] == []


def test_the_index_of_the_docs_lists_every_suite_with_its_result(verdicts: list, docs: Path) -> None:
    rows = re.findall(r"<tr>\s*<td><a[^>]*>(\w+)</a></td>\s*<td[^>]*>(\w+)</td>", (docs / "index.html").read_text())
    assert rows == [("partition", "passed"), ("topic", "failed")]


def test_the_page_of_a_suite_gives_each_rule_its_result(verdicts: list, docs: Path) -> None:
    (page,) = (docs / "validations" / "topic").rglob("*.html")
    shown = re.findall(r"<i [^>]*>(\w+)</i>", page.read_text())
    failed = {row["rule"] for row in verdicts if row["suite"] == "topic" and row["success"] is False}
    rules = {row["rule"] for row in verdicts if row["suite"] == "topic"}
    assert sorted(shown) == sorted(["failed"] * len(failed) + ["passed"] * len(rules - failed))


def test_a_check_that_runs_again_replaces_its_pages(lake: Lake, verdicts: list, docs: Path) -> None:
    again = check(lake, "s", ["topic"], earlier={}, limits=limits(), docs=str(docs)).to_pylist()
    assert again == [row for row in verdicts if row["suite"] == "topic"]
    assert len(list((docs / "validations").rglob("*.html"))) == len(SUITES)
    assert (docs / "index.html").read_text().count("validations/topic/s/") == 1


def test_spark_judges_the_suites_that_read_a_large_table_and_no_others(
    spark: SparkSession, lake: Lake, verdicts: list, monkeypatch: pytest.MonkeyPatch
) -> None:
    query, given = FolderLake.duckdb_query, []
    monkeypatch.setattr(FolderLake, "duckdb_query", lambda lake, table, **rows: None if table is TOPIC else query(lake, table, **rows))
    monkeypatch.setattr(InSpark, "share", lambda tables, queries: given.append((sorted(tables.tables), list(queries))))
    judged = check(open_lake(lake.uri, lambda: spark), "s", SUITES, earlier={}, limits=limits(), docs=None).to_pylist()
    assert sorted(judged, key=str) == sorted(verdicts, key=str)
    ((tables, queries),) = given
    assert tables == ["cluster", "partition", "topic"]
    assert len(queries) == len(rules_of("topic", limits()))


def test_a_process_of_its_own_judges_likewise(lake: Lake, verdicts: list) -> None:
    with judges() as apart:
        judged = check(lake, "s", SUITES, earlier={}, limits=limits(), docs=None, judges=apart).to_pylist()
        with pytest.raises(AuditError, match="snapshot other has no cluster to judge"):
            check(lake, "other", ["topic"], earlier={}, limits=limits(), docs=None, judges=apart)
    assert sorted(judged, key=str) == sorted(verdicts, key=str)


@pytest.mark.parametrize(("signal", "said"), [(SIGKILL, ""), (SIGINT, "KeyboardInterrupt")])
def test_judges_end_with_the_process_that_has_them(signal: int, said: str) -> None:
    script = "import os, time; from jobs.check import judges\nwith judges() as apart: print(apart.submit(os.getpid).result(), flush=True); time.sleep(60)"
    parent = psutil.Popen([sys.executable, "-c", script], stdout=PIPE, stderr=PIPE, text=True, start_new_session=True)
    own = [psutil.Process(int(parent.stdout.readline())), *parent.children(recursive=True)]
    os.killpg(parent.pid, signal) if signal == SIGINT else parent.kill()
    _, error = parent.communicate(timeout=30)
    assert psutil.wait_procs(own, timeout=30)[1] == []
    assert error.count("Traceback") == len(said.split())
    assert said in error


def test_an_interrupt_is_not_for_judges_that_start() -> None:
    script = "import time; from jobs.check import judges\nwith judges(): print(flush=True); time.sleep(60)"
    parent = psutil.Popen([sys.executable, "-c", script], stdout=PIPE, stderr=PIPE, text=True, start_new_session=True)
    parent.stdout.readline()
    while max(child.memory_info().rss for child in parent.children()) < 80 << 20:  # until one of them imports GX
        time.sleep(0.01)
    os.killpg(parent.pid, SIGINT)
    assert parent.communicate(timeout=30)[1].count("Traceback") == 1


def test_templates_of_pages_are_compiled_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(docs_view, "CACHE", tmp_path)
    docs_view.PageView().env.get_template("page.j2")
    monkeypatch.setattr(jinja2.Environment, "compile", pytest.fail)
    docs_view.PageView().env.get_template("page.j2")


def test_a_snapshot_without_a_cluster_is_an_error_and_no_verdict(lake: Lake) -> None:
    with pytest.raises(AuditError, match="snapshot other has no cluster to judge"):
        check(lake, "other", ["topic"], earlier={}, limits=limits(), docs=None)


def test_files_of_no_cluster_are_not_judged_and_fail_nothing() -> None:
    """Beside the folders of the clusters, and in one without a readable file: they have no row of `cluster`."""
    unread = [drop("cluster"), edit("input_file", format=None, entries=1, accepted=0, rejected=1)]
    unread.append(add("rejected_input", "topics.txt", 1, 0, "", "is beside the folders of the clusters"))
    tables = InDuckdb(arrow({".": night(*unread), "well": night()}))
    rules = {suite: rules_of(suite, limits()) for suite in ("input_file", "rejected_input")}
    judged = judge(tables, rules, "s", docs=None).to_pylist()
    assert {row["cluster_id"] for row in judged} == {"well"}
    assert [row for row in judged if not row["success"]] == []


def test_of_a_rule_that_not_all_tell_it_asks_for_the_clusters_and_not_for_their_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    ask, answers = InDuckdb.ask, []
    monkeypatch.setattr(InDuckdb, "ask", lambda tables, query: answers.append(ask(tables, query)) or answers[-1])
    rule = soft_as_told("odd", "A rule.", "SELECT cluster_id FROM {batch} WHERE false", told="SELECT cluster_id FROM replica")
    tables = arrow({"well": night()})
    assert len(tables["replica"]) > 1
    judge(InDuckdb(tables), {"partition": [rule]}, "s", docs=None)
    assert [len(rows) for rows in answers] == [1, 1]


@pytest.mark.parametrize(
    ("query", "told", "said"),
    [
        ("SELECT cluster_id FROM {batch} WHERE lieder IS NULL", None, "rule partition.odd cannot be asked: .*lieder"),
        ("SELECT cluster_id FROM {batch} JOIN nowhere USING (cluster_id)", None, "rule partition.odd cannot be asked: .*nowhere"),
        ("SELECT topic FROM {batch}", None, "rule partition.odd cannot be asked: .*cluster_id"),
        ("SELECT cluster_id FROM {batch}", "SELECT cluster_id FROM nowhere", "cannot be asked for: .*nowhere"),
        ("SELECT 'who' AS cluster_id FROM {batch}", None, r"clusters that the snapshot does not have: \['who'\]"),
    ],
)
@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_a_rule_that_cannot_be_asked_is_an_error_and_no_verdict(
    spark: SparkSession, engine: str, query: str, told: str | None, said: str
) -> None:
    rule, clusters = soft_as_told("odd", "A rule.", query, told=told), {"well": night()}
    tables = InDuckdb(arrow(clusters)) if engine == "duckdb" else InSpark(frames(spark, clusters))
    with pytest.raises(AuditError, match=said) as refused:
        judge(tables, {"partition": [rule]}, "s", docs=None)
    assert "\n" not in str(refused.value)
