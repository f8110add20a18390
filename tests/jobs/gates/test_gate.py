"""A gate reads a snapshot's rows from the lake, evaluates the rules, and adds the results to the Data Docs of the night."""

from __future__ import annotations

import html
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

from expectations import rules_of
from expectations.limits import limits
from expectations.rule import Rule
from jobs.errors import AuditError
from jobs.gates import gate, policy
from jobs.gates.duckdb_tables import SAMPLE_ROWS, DuckdbTables, tables_read
from jobs.gates.gate import check, evaluate
from jobs.lake.lake import Lake, open_lake
from jobs.lake.selection import Attempt
from jobs.schema import BY_NAME, INPUT_FILE, PARTITION, REJECTED_INPUT, TOPIC, VALIDATION, Table
from tests.expectations.lake import Edit, add, arrow, drop, edit, sound
from tests.web_pages import external_references

TABLES = [TOPIC, PARTITION]
ATTEMPT = Attempt("s", "1")


def night(*edits: Edit) -> dict:
    tables = sound()
    for change in edits:
        change(tables)
    return tables


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Return a lake with two clusters: the sound one, and the broken one, which has partitions of a topic without a row."""
    return written(str(tmp_path_factory.mktemp("lake")), {"broken": night(drop("topic")), "sound": night()})


def written(uri: str, clusters: dict) -> Lake:
    lake = open_lake(uri, pytest.fail)
    for name, rows in arrow(clusters).items():
        if name in ("cluster", "topic", "partition", "owner", "waiver", "policy"):
            lake.create(BY_NAME[name])
            lake.replace(BY_NAME[name], rows, snapshot_id="s", attempt_id="1")
    return lake


@pytest.fixture(scope="module")
def docs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("docs")


@pytest.fixture(scope="module")
def verdicts(lake: Lake, docs: Path) -> list:
    return [row for table in TABLES for row in check(lake, ATTEMPT, [table], previous={}, limits=limits(), docs=str(docs)).to_pylist()]


def test_each_cluster_and_rule_has_one_verdict_that_the_table_accepts(verdicts: list, tmp_path: Path) -> None:
    rules = {(table.name, rule.name) for table in TABLES for rule in rules_of(table, limits())}
    expected = sorted((cluster, *rule) for cluster in ("broken", "sound") for rule in rules)
    assert sorted((row["cluster_id"], row["suite"], row["rule"]) for row in verdicts) == expected
    lake = open_lake(str(tmp_path), pytest.fail)
    lake.create(VALIDATION)
    for _ in range(2):
        lake.replace(VALIDATION, pa.Table.from_pylist(verdicts), snapshot_id="s", attempt_id="1", gate="g")
    found = lake.read_local(VALIDATION).to_pylist()
    assert {row.pop("gate") for row in found} == {"g"}
    assert sorted(map(str, found)) == sorted(map(str, verdicts))


def test_broken_rule_counts_against_its_own_cluster_alone(verdicts: list) -> None:
    broken = [
        (row["cluster_id"], row["suite"], row["rule"], row["severity"], row["broken_rows"], row["example"])
        for row in verdicts
        if not row["success"]
    ]
    assert broken == [("broken", "topic", "partitions_have_topics", "hard", 1, '{"cluster_id":"broken","topic":"t"}')]


def test_data_docs_collect_the_results_of_separate_gates(verdicts: list, docs: Path) -> None:
    index = (docs / "index.html").read_text()
    for table in TABLES:
        assert f"validations/{table.name}/s/" in index
        assert f"Every row of {table.name} has a different key" in page_of(table.name, docs)
    assert "Every partition belongs to a topic that has a row." in page_of("topic", docs)


def page_of(suite: str, docs: Path) -> str:
    (page,) = (docs / "validations" / suite).rglob("*.html")
    return page.read_text()


def test_no_page_of_the_data_docs_runs_a_script_or_refers_to_another_host(verdicts: list, docs: Path) -> None:
    pages = list(docs.rglob("*.html"))
    assert len(pages) == 1 + 2 * len(TABLES)
    assert external_references(pages) == []


def test_every_link_of_the_data_docs_leads_to_one_of_their_pages(verdicts: list, docs: Path) -> None:
    links = {page: re.findall(r'href="([^"#]+)"', page.read_text()) for page in docs.rglob("*.html")}
    assert all(links.values())
    assert [link for page, found in links.items() for link in found if not (page.parent / link).is_file()] == []


def test_index_lists_every_suite_with_its_result(verdicts: list, docs: Path) -> None:
    rows = re.findall(r"<tr>\s*<td><a[^>]*>(\w+)</a></td>\s*<td[^>]*>(\w+)</td>", (docs / "index.html").read_text())
    assert rows == [("partition", "passed"), ("topic", "failed")]


def test_page_of_a_suite_shows_the_result_of_each_rule(verdicts: list, docs: Path) -> None:
    shown = re.findall(r"<i [^>]*>(\w+)</i>", page_of("topic", docs))
    failed = {row["rule"] for row in verdicts if row["suite"] == "topic" and row["success"] is False}
    rules = {row["rule"] for row in verdicts if row["suite"] == "topic"}
    assert sorted(shown) == sorted(["failed"] * len(failed) + ["passed"] * len(rules - failed))


def test_page_of_a_suite_shows_up_to_20_rows_that_break_a_rule_and_their_number(tmp_path: Path) -> None:
    rule = Rule("odd", "A rule.", "soft", "SELECT cluster_id, '<b>' || partition || '</b>' AS name FROM committed_offset")
    tables = night(*(add("committed_offset", "t", number, "g", 1, 1, 0) for number in range(100, 200)))
    (verdict,) = evaluate(DuckdbTables(arrow({"a": tables, "b": night()})), {"topic": [rule]}, "s", docs=str(tmp_path)).to_pylist()[:1]
    assert (verdict["cluster_id"], verdict["broken_rows"]) == ("a", 106)
    rows = re.findall(r"<tr>\s*<td[^>]*>\s*(?:<[^>]*>)*(a|b)\b.*?</tr>", page_of("topic", tmp_path), flags=re.DOTALL)
    assert len(rows) == SAMPLE_ROWS == 20
    assert {"a", "b"} == set(rows)  # rows of every cluster, not only of the first one
    assert "112" in page_of("topic", tmp_path)  # 106 rows of a, 6 of b
    assert "<b>" not in page_of("topic", tmp_path)
    assert html.escape("<b>0</b>") in page_of("topic", tmp_path)


@pytest.mark.parametrize("previous", [{}, {"broken": ATTEMPT}])
def test_datasets_give_the_verdicts_of_files(lake: Lake, monkeypatch: pytest.MonkeyPatch, previous: dict[str, Attempt]) -> None:
    """A lake on other storage, or in a folder whose name DuckDB would expand as a pattern, is read through datasets."""
    rule = Rule("odd", "A rule.", "soft", "SELECT cluster_id, topic FROM previous_partition", requires="SELECT cluster_id FROM partition")
    for module in (gate, policy):
        monkeypatch.setattr(module, "rules_of", lambda table, limits: [*rules_of(table, limits), rule])
    files = check(lake, ATTEMPT, TABLES, previous=previous, limits=limits(), docs=None)
    pattern = Path(lake.uri).with_name("[lake]")
    pattern.symlink_to(lake.uri)
    assert check(open_lake(str(pattern), pytest.fail), ATTEMPT, TABLES, previous=previous, limits=limits(), docs=None) == files
    pattern.unlink()
    failed = [(row["cluster_id"], row["broken_rows"]) for row in files.to_pylist() if row["rule"] == "odd" and not row["success"]]
    assert failed == [(cluster, 6) for cluster in previous for _ in TABLES]


def test_gate_that_runs_again_replaces_its_pages(lake: Lake, verdicts: list, docs: Path) -> None:
    again = check(lake, ATTEMPT, [TOPIC], previous={}, limits=limits(), docs=str(docs)).to_pylist()
    assert again == [row for row in verdicts if row["suite"] == "topic"]
    assert len(list((docs / "validations").rglob("*.html"))) == len(TABLES)
    assert (docs / "index.html").read_text().count("validations/topic/s/") == 1


def test_only_rules_that_read_one_of_the_named_tables_are_evaluated(lake: Lake, verdicts: list) -> None:
    reading_partition = check(lake, ATTEMPT, TABLES, previous={}, limits=limits(), docs=None, reading={PARTITION}).to_pylist()
    omitted = [row for row in verdicts if row not in reading_partition]
    assert [row for row in verdicts if row in reading_partition] == reading_partition
    assert ("topic", "partitions_have_topics") in {(row["suite"], row["rule"]) for row in reading_partition}  # it reads both tables
    assert {row["suite"] for row in omitted} == {"topic"}
    assert check(lake, ATTEMPT, TABLES, previous={}, limits=limits(), docs=None, reading=set()).to_pylist() == []


def test_snapshot_without_a_cluster_is_an_error(lake: Lake) -> None:
    with pytest.raises(AuditError, match="snapshot other has no cluster"):
        check(lake, Attempt("other", "1"), [TOPIC], previous={}, limits=limits(), docs=None)


def test_gates_in_threads_of_one_process_give_the_verdicts_of_one_gate_at_a_time(lake: Lake, verdicts: list, docs: Path) -> None:
    """Great Expectations has one context for the whole process."""

    def verdicts_of(table: Table) -> list:
        return check(lake, ATTEMPT, [table], previous={}, limits=limits(), docs=str(docs)).to_pylist()

    with ThreadPoolExecutor(4) as threads:
        for rows in threads.map(lambda tables: [row for table in tables for row in verdicts_of(table)], [TABLES] * 4):
            assert rows == verdicts


def test_tables_that_rules_read_include_those_of_the_previous_snapshot() -> None:
    assert tables_read(["WITH own AS (SELECT * FROM topic) SELECT * FROM own SEMI JOIN previous_partition USING (cluster_id)"]) >= {
        "topic",
        "previous_partition",
    }


def test_files_outside_the_clusters_have_no_verdict_and_break_no_rule() -> None:
    """Such files are beside the cluster folders, or in a folder without a readable file, which has no row of `cluster`."""
    outside = [drop("cluster"), edit("input_file", format=None, entries=1, accepted=0, rejected=1)]
    outside.append(add("rejected_input", "topics.txt", 1, 0, "", "is beside the folders of the clusters"))
    tables = DuckdbTables(arrow({".": night(*outside), "sound": night()}))
    rules = {table.name: rules_of(table, limits()) for table in (INPUT_FILE, REJECTED_INPUT)}
    rows = evaluate(tables, rules, "s", docs=None).to_pylist()
    assert {row["cluster_id"] for row in rows} == {"sound"}
    assert [row for row in rows if not row["success"]] == []


def test_required_input_is_queried_by_cluster_and_not_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    query, answers = DuckdbTables.query, []
    monkeypatch.setattr(DuckdbTables, "query", lambda *arguments: answers.append(query(*arguments)) or answers[-1])
    rule = Rule("odd", "A rule.", "soft", "SELECT cluster_id FROM partition WHERE false", requires="SELECT cluster_id FROM replica")
    tables = arrow({"sound": night()})
    assert len(tables["replica"]) > 1
    evaluate(DuckdbTables(tables), {"partition": [rule]}, "s", docs=None)
    assert [len(rows) for rows in answers] == [1, 1, 1, 1, 1, 0]  # clusters, those with the input, owners, waivers, columns, broken rows


@pytest.mark.parametrize(
    ("query", "requires", "message"),
    [
        ("SELECT cluster_id FROM partition WHERE lieder IS NULL", None, "rule partition.odd cannot be evaluated: .*lieder"),
        ("SELECT cluster_id FROM partition JOIN nowhere USING (cluster_id)", None, "rule partition.odd cannot be evaluated: .*nowhere"),
        ("SELECT topic FROM partition", None, "rule partition.odd cannot be evaluated: .*cluster_id"),
        ("SELECT cluster_id FROM partition", "SELECT cluster_id FROM nowhere", "input that rules require cannot be evaluated: .*nowhere"),
        ("SELECT 'x' AS cluster_id FROM partition", None, r"clusters that the snapshot does not have: \['x'\]"),
    ],
)
def test_query_that_cannot_run_is_an_error_in_one_line(query: str, requires: str | None, message: str) -> None:
    rule = Rule("odd", "A rule.", "soft", query, requires)
    with pytest.raises(AuditError, match=message) as refused:
        evaluate(DuckdbTables(arrow({"sound": night()})), {"partition": [rule]}, "s", docs=None)
    assert "\n" not in str(refused.value)
