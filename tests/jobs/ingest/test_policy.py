"""Owners, waivers and limits of topology-audit.toml become rows of each cluster that they apply to."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import fs

from expectations.finding import RULES
from expectations.limits import CLUSTER_LIMITS, GROUP_LIMITS, TOPIC_LIMITS, limits
from expectations.pattern import matches
from jobs.errors import AuditError
from jobs.gates.duckdb_tables import DuckdbTables
from jobs.gates.policy import matches_sql
from jobs.ingest import policy
from jobs.ingest.cluster_tables import WRITES, cluster_tables
from jobs.ingest.configuration import parse_configuration
from jobs.ingest.policy import night_date
from jobs.ingest.source import list_clusters
from tests.jobs.ingest.dumps import PARTITION

POLICY = """
[[owner]]
name = "platform"
contact = "mailto://platform@example.com"

[[owner]]
name = "ledger team"
clusters = "payments-*"
topics = "ledger*"
groups = "ledger-?"

[[owner]]
name = "platform"
topics = "__*"

[[waiver]]
rule = "enough_replicas"
topics = "scratch-*"
reason = "can be computed again"
owner = "ledger team"
expires = 2026-12-31

[[waiver]]
rule = "scenario.reads_survive_a_broker"
clusters = "payments-us"
reason = "a third broker is ordered"
owner = "platform"
expires = 2026-06-30

[[limit]]
leader_ratio_most = 2
byte_ratio_most = 1.75

[[limit]]
clusters = "orders-eu"
topics = "audit"
producer_skew_most = 4.0

[[limit]]
groups = "replay*"
idle_members_most = 3
"""


def source(folder: Path, policy: str, *clusters: str) -> str:
    """Write a source with this policy, and a readable dump for each cluster."""
    folder.joinpath("topology-audit.toml").write_text(policy)
    for name in clusters:
        folder.joinpath(name).mkdir()
        folder.joinpath(name, "topics.txt").write_text(PARTITION.format("t", 0, 1, "1,2", "1,2"))
    return str(folder)


def rows(folder: str, table: str, snapshot_id: str = "2026-07-01") -> list[dict]:
    """Return the rows of a table of all clusters, without the snapshot."""
    number = [written.name for written in WRITES].index(table)
    tables = [cluster_tables(fs.LocalFileSystem(), cluster, snapshot_id)[number] for cluster in list_clusters(folder)]
    return pa.concat_tables(tables).drop_columns("snapshot_id").to_pylist()


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return source(tmp_path, POLICY, "orders-eu", "payments-us")


def test_an_owner_has_a_row_in_each_of_its_clusters_and_one_contact(folder: str) -> None:
    mail = "mailto://platform@example.com"
    everything = {"entry": 1, "owner": "platform", "contact": mail, "clusters": None, "topics": None, "groups": None}
    internal = {"entry": 3, "owner": "platform", "contact": mail, "clusters": None, "topics": "__*", "groups": None}
    ledger = {"entry": 2, "owner": "ledger team", "contact": None, "clusters": "payments-*", "topics": "ledger*", "groups": "ledger-?"}
    assert rows(folder, "owner") == [
        {"cluster_id": "orders-eu", **everything},
        {"cluster_id": "orders-eu", **internal},
        {"cluster_id": "payments-us", **everything},
        {"cluster_id": "payments-us", **ledger},
        {"cluster_id": "payments-us", **internal},
    ]


def test_a_waiver_names_its_rule_and_the_day_of_the_night(folder: str) -> None:
    found = rows(folder, "waiver")
    columns = ("cluster_id", "entry", "suite", "rule", "expires", "snapshot_date", "topics")
    day = date(2026, 7, 1)
    assert [tuple(row[name] for name in columns) for row in found] == [
        ("orders-eu", 1, "topic", "enough_replicas", date(2026, 12, 31), day, "scratch-*"),
        ("payments-us", 1, "topic", "enough_replicas", date(2026, 12, 31), day, "scratch-*"),
        ("payments-us", 2, "scenario", "reads_survive_a_broker", date(2026, 6, 30), day, None),
    ]
    assert {(row["reason"], row["owner"]) for row in found} == {
        ("can be computed again", "ledger team"),
        ("a third broker is ordered", "platform"),
    }


def test_each_limit_of_an_entry_has_a_row(folder: str) -> None:
    columns = ("cluster_id", "entry", "limit_name", "limit_value", "topics", "groups")
    assert [tuple(row[name] for name in columns) for row in rows(folder, "policy")] == [
        ("orders-eu", 1, "leader_ratio_most", 2.0, None, None),
        ("orders-eu", 1, "byte_ratio_most", 1.75, None, None),
        ("orders-eu", 2, "producer_skew_most", 4.0, "audit", None),
        ("orders-eu", 3, "idle_members_most", 3.0, None, "replay*"),
        ("payments-us", 1, "leader_ratio_most", 2.0, None, None),
        ("payments-us", 1, "byte_ratio_most", 1.75, None, None),
        ("payments-us", 3, "idle_members_most", 3.0, None, "replay*"),
    ]


def test_a_cluster_without_a_readable_file_has_no_policy(tmp_path: Path) -> None:
    folder = source(tmp_path, "[[owner]]\nname = 'platform'\n", "a")
    tmp_path.joinpath("empty").mkdir()
    assert [row["cluster_id"] for row in rows(folder, "owner")] == ["a"]


def test_a_pattern_that_matches_no_cluster_is_reported(tmp_path: Path) -> None:
    folder = source(tmp_path, "[[owner]]\nname = 'x'\nclusters = 'a*'\n[[owner]]\nname = 'y'\nclusters = 'paymnts-*'\n", "a")
    assert [row["reason"] for row in rows(folder, "rejected_input")] == ["configures clusters without a folder: paymnts-* ([[owner]] 2)"]


def test_the_day_of_a_night_is_in_its_id_or_that_of_the_capture() -> None:
    captured = datetime(2026, 2, 3, 23, 59, tzinfo=UTC)
    assert night_date("2026-01-31", captured) == night_date("2026-01-31T02:00:00", None) == date(2026, 1, 31)
    assert {night_date(id, captured) for id in ("drill", "2026-00-00", "2026-01-310", "x2026-01-31")} == {date(2026, 2, 3)}
    assert night_date("drill", None) is None


WAIVER = "[[waiver]]\nrule = 'topic.enough_replicas'\nreason = 'r'\nowner = 'o'\nexpires = 2026-12-31\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[owner]\nname = 'a'", "owner must be a list of tables: write [[owner]] above each entry"),
        ("owner = 'a'", "owner must be a list of tables: write [[owner]] above each entry"),
        ("[[owner]]\nname = 'a'\n[[owner]]\ncontact = 'x'", "[[owner]] 2: name is missing"),
        ("[[owner]]\nname = ' '", "[[owner]] 1: name must be a text that is not empty, not ' '"),
        ("[[owner]]\nname = 'a'\ntopics = ['x']", "[[owner]] 1: topics must be a text that is not empty, not ['x']"),
        (
            "[[owner]]\nname = 'a'\ntopic = 'x'",
            "[[owner]] 1: topic is not a known key: use clusters, contact, groups, name, topics; did you mean topics?",
        ),
        ("[[owner]]\nname = 'a, b'", "[[owner]] 1: name must not contain a comma, which separates the owners of a finding: 'a, b'"),
        (
            "[[owner]]\nname = 'a'\ncontact = 'x'\n[[owner]]\nname = 'a'\ncontact = 'y'",
            "[[owner]] 2: contact: a has another contact in an earlier entry",
        ),
        (WAIVER.replace("reason = 'r'\n", ""), "[[waiver]] 1: reason is missing"),
        (WAIVER.replace("owner = 'o'\n", ""), "[[waiver]] 1: owner is missing"),
        (WAIVER.replace("expires = 2026-12-31\n", ""), "[[waiver]] 1: expires is missing"),
        (
            WAIVER.replace("2026-12-31", "'2026-12-31'"),
            "[[waiver]] 1: expires must be a date such as 2026-12-31, without quotes, not '2026-12-31'",
        ),
        (
            WAIVER.replace("2026-12-31", "2026-12-31T00:00:00Z"),
            "[[waiver]] 1: expires must be a date such as 2026-12-31, without quotes, not datetime.datetime(",
        ),
        (
            WAIVER + WAIVER.replace("enough_replicas", "enough_replica"),
            "[[waiver]] 2: rule: no soft rule has the name topic.enough_replica (hard rules cannot be waived); did you mean topic.enough_replicas?",
        ),
        (
            WAIVER.replace("enough_replicas", "partitions_have_topics"),
            "[[waiver]] 1: rule: no soft rule has the name topic.partitions_have_topics",
        ),
        (
            WAIVER.replace("topic.enough_replicas", "reads_survive_a_broker") + "topics = 'a'",
            "[[waiver]] 1: topics is not possible with scenario.reads_survive_a_broker: its rows are not about topics",
        ),
        (WAIVER + "groups = 'a'", "[[waiver]] 1: groups is not possible with topic.enough_replicas: its rows are not about groups"),
        ("[[limit]]\ntopics = 'a'", "[[limit]] 1: sets no limit: add one of those in expectations/limits.toml"),
        ("[[limit]]\nproducer_skew = 4.0", "[[limit]] 1: producer_skew is not a known key: use "),
        ("[[limit]]\nabsent_cluster_nights = 4", "[[limit]] 1: absent_cluster_nights is not a known key: use "),
        ("[[limit]]\nproducer_skew_most = '4'", "[[limit]] 1: producer_skew_most is '4': it must be a number, 0 or more"),
        ("[[limit]]\nidle_members_most = 0.5", "[[limit]] 1: idle_members_most is 0.5: it must be a whole number, 0 or more"),
        (
            "[[limit]]\ntopics = 'a'\nbyte_ratio_most = 2",
            "[[limit]] 1: topics is not possible with byte_ratio_most: only with producer_skew_most, ",
        ),
        ("[[limit]]\ngroups = 'a'\npartitions_least = 2", "[[limit]] 1: groups is not possible with partitions_least: only with "),
    ],
)
def test_an_entry_that_is_not_valid_is_one_clear_line(content: str, message: str) -> None:
    with pytest.raises(AuditError) as refused:
        parse_configuration(content.encode())
    assert str(refused.value).startswith(f"topology-audit.toml: {message}")
    assert "\n" not in str(refused.value)


def test_the_examples_in_the_documents_are_valid() -> None:
    (readme,) = re.findall(r"```toml\n(.*?)```", Path(__file__).parents[3].joinpath("README.md").read_text(encoding="utf-8"), re.DOTALL)
    docstring = "\n".join(line.strip() for line in (policy.__doc__ or "").splitlines() if line.startswith("    "))
    kinds = [[entry.kind for entry in parse_configuration(text.encode()).policy.entries] for text in (readme, docstring)]
    assert kinds == [["owner", "owner", "waiver", "limit"], ["owner", "waiver", "limit"]]


def test_every_soft_rule_has_a_name_of_its_own_for_waivers() -> None:
    assert len({rule.partition(".")[2] for rule in RULES}) == len(RULES)


def test_every_limit_of_the_night_but_one_can_differ_by_cluster() -> None:
    numbers = {name for name in type(limits()).__slots__ if name != "cruise_control"}
    assert sorted((*TOPIC_LIMITS, *GROUP_LIMITS, *CLUSTER_LIMITS)) == sorted(numbers - {"absent_cluster_nights"})


@pytest.mark.parametrize(
    ("pattern", "name", "matched"),
    [
        ("ledger*", "ledger", True),
        ("ledger*", "ledger.v2-é", True),
        ("ledger*", "a-ledger", False),
        ("ledger", "ledger.v2", False),
        ("a.b", "axb", False),
        ("a?b", "axb", True),
        ("a?b", "aéb", True),
        ("a?b", "ab", False),
        ("*", "", True),
        ("o'brien*", "o'brien's", True),
        ("**", "a", True),
        ("a**", "b", False),
        ("*a", "bb", False),
        ("[a]*", "a", False),
        ("[a]*", "[a] (b) {c} 'd' \\e |^$+~#&-/", True),
        ("g*", "g\nh", True),
        ("a\\b*", "a\\bc", True),
        ("%_", "ab", False),
    ],
)
def test_python_and_duckdb_match_a_pattern_alike(pattern: str, name: str, matched: bool) -> None:
    assert matches(pattern, name) == matched
    condition = matches_sql("name", pattern)
    (row,) = DuckdbTables({"value": pa.table({"name": [name]})}).query(f"SELECT {condition} AS found FROM value", "a pattern")
    assert row["found"] == matched
