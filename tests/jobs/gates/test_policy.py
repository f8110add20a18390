"""Each row is evaluated with its own limits; rows that break a soft rule have owners, and waivers in force do not count them."""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import date

import pytest

from expectations import rules_of
from expectations.finding import RULES
from expectations.limits import CLUSTER_LIMITS, GROUP_LIMITS, TOPIC_LIMITS, limits, with_limits
from expectations.rule import Rule, hard, soft
from jobs.gates.duckdb_tables import DuckdbTables
from jobs.gates.gate import evaluate
from jobs.gates.policy import rules_by_policy
from jobs.schema import BY_NAME
from tests.expectations.lake import arrow, sound

TODAY, TOMORROW, LATER = date(2026, 1, 31), date(2026, 2, 1), date(2026, 3, 1)
EXPLAINED = {"measured": "1", "limit": 0, "formula": "x", "change": "'repair ' || topic"}
# topic.placeable is one of RULES, whose findings have a problem.
TOPICS = "SELECT cluster_id, unnest(['audit', 'ledger', 'ledger.v2', 'other']) AS topic FROM cluster"
BY_TOPIC = soft("enough_replicas", "A rule.", TOPICS, **EXPLAINED)
BY_GROUP = Rule(
    "no_idle_members",
    "A rule.",
    "soft",
    "SELECT cluster_id, unnest(['ledger-1', NULL, 'web']) AS group_id, 'x' AS smallest_change FROM cluster",
)
BY_BROKER = Rule("even_leaders", "A rule.", "soft", "SELECT cluster_id, 7 AS broker_id, 'move' AS smallest_change FROM cluster")


def owner(entry: int, name: str, topics: str | None = None, groups: str | None = None) -> tuple:
    return entry, name, None, None, topics, groups


def waiver(entry: int, suite: str, rule: str, expires: date, topics: str | None = None, groups: str | None = None) -> tuple:
    return entry, suite, rule, "a reason", "lead", expires, TODAY, None, topics, groups


def verdict(suite: str, rule: Rule, *, owners: tuple = (), waivers: tuple = (), cluster: str = "a") -> dict:
    """Return the verdict of a rule on a cluster with this policy, in a night with another cluster that has none."""
    tables, others = sound(), sound()
    names = {table: list(tables[table][0]) for table in ("owner", "waiver")}
    for table, rows in (("owner", owners), ("waiver", waivers)):
        tables[table] = [dict(zip(names[table], row, strict=True)) for row in rows]
        others[table] = []
    rows = evaluate(DuckdbTables(arrow({"a": tables, "b": others})), {suite: [rule]}, "s", docs=None).to_pylist()
    (row,) = [row for row in rows if row["cluster_id"] == cluster]
    return row


PLATFORM, LEDGER = owner(1, "platform"), owner(2, "ledger", topics="ledger*", groups="ledger-?")


@pytest.mark.parametrize(
    ("suite", "rule", "owners", "expected"),
    [
        ("topic", BY_TOPIC, (), None),
        ("topic", BY_TOPIC, (PLATFORM, LEDGER), "ledger, platform"),
        ("topic", BY_TOPIC, (LEDGER,), "ledger"),
        ("topic", BY_TOPIC, (LEDGER, owner(3, "all")), "all"),  # the last entry that matches
        ("topic", BY_TOPIC, (owner(1, "all"), owner(2, "web team", groups="web")), "all"),
        ("group_load", BY_GROUP, (LEDGER,), "ledger"),
        ("group_load", BY_GROUP, (PLATFORM, owner(2, "all groups", groups="*")), "all groups, platform"),  # a row without a group
        ("broker_balance", BY_BROKER, (LEDGER,), None),
        ("broker_balance", BY_BROKER, (PLATFORM, LEDGER, owner(3, "o'brien", topics="*", groups="*")), "platform"),
        ("topic", BY_TOPIC, (PLATFORM, owner(2, "o'brien", topics="other")), "o'brien, platform"),
    ],
)
def test_a_row_belongs_to_the_last_owner_that_matches_it(suite: str, rule: Rule, owners: tuple, expected: str | None) -> None:
    assert verdict(suite, rule, owners=owners)["owner"] == expected
    assert verdict(suite, rule, owners=owners, cluster="b")["owner"] is None


def test_rows_of_a_hard_rule_have_no_owner_and_no_waiver() -> None:
    found = verdict("topic", hard("odd", "A rule.", TOPICS), owners=(PLATFORM,), waivers=(waiver(1, "topic", "odd", LATER),))
    assert (found["success"], found["broken_rows"], found["owner"], found["waived_rows"]) == (False, 4, None, 0)


def test_waived_rows_do_not_count_and_have_no_example() -> None:
    waivers = (waiver(1, "topic", "enough_replicas", TODAY, topics="ledger*"), waiver(2, "topic", "enough_replicas", LATER, topics="audit"))
    found = verdict("topic", BY_TOPIC, owners=(PLATFORM, LEDGER), waivers=waivers)
    assert (found["success"], found["broken_rows"], found["waived_rows"], found["waived_until"]) == (False, 1, 3, None)
    assert (found["owner"], found["problem"]) == ("platform", "1 topic with a replication factor under the limit")
    assert found["smallest_change"] == "repair other"
    others = verdict("topic", BY_TOPIC, owners=(PLATFORM, LEDGER), waivers=waivers, cluster="b")
    assert (others["broken_rows"], others["waived_rows"]) == (4, 0)


def test_a_rule_that_only_waived_rows_break_passes_until_the_first_of_them_expires() -> None:
    waivers = (waiver(1, "topic", "enough_replicas", TOMORROW), waiver(2, "topic", "enough_replicas", LATER, topics="ledger*"))
    found = verdict("topic", BY_TOPIC, owners=(PLATFORM, LEDGER), waivers=waivers)
    assert (found["success"], found["broken_rows"], found["waived_rows"], found["waived_until"]) == (True, 0, 4, TOMORROW)
    assert (found["owner"], found["problem"]) == ("ledger, platform", "4 topics with a replication factor under the limit")
    assert found["smallest_change"] == "repair audit"
    longest = verdict("topic", BY_TOPIC, waivers=(waivers[0], waiver(2, "topic", "enough_replicas", LATER)))
    assert longest["waived_until"] == LATER  # each row is waived by both


@pytest.mark.parametrize(
    "entry",
    [
        waiver(1, "topic", "enough_replicas", date(2026, 1, 30)),  # expired
        waiver(1, "topic", "placeable", LATER),
        waiver(1, "partition", "enough_replicas", LATER),
        waiver(1, "topic", "enough_replicas", LATER, topics="ledge"),
        waiver(1, "topic", "enough_replicas", LATER, groups="*"),  # no row is about a group
        waiver(1, "topic", "enough_replicas", LATER, topics="ledger", groups="*"),  # all patterns must match
        (*waiver(1, "topic", "enough_replicas", LATER)[:6], None, None, None, None),  # the day of the night is unknown
    ],
)
def test_other_waivers_waive_nothing(entry: tuple) -> None:
    found = verdict("topic", BY_TOPIC, waivers=(entry,))
    assert (found["success"], found["broken_rows"], found["waived_rows"], found["waived_until"]) == (False, 4, 0, None)


def test_a_rule_whose_query_starts_with_a_common_table_expression_has_owners() -> None:
    rule = Rule("odd", "A rule.", "soft", f"WITH named AS ({TOPICS}) FROM named")
    assert verdict("topic", rule, owners=(PLATFORM,))["owner"] == "platform"


def limit(entry: int, name: str, value: float, topics: str | None = None, groups: str | None = None) -> tuple:
    return entry, name, value, None, topics, groups


def broken_subjects(suite: str, rule: str, column: str, rows: list[dict], *policy: tuple) -> dict[str, list]:
    """Return the values of a column of the rows that break a rule, by cluster: cluster a has this policy, and cluster b has none."""
    tables, others = sound(), sound()
    names, values = list(tables["policy"][0]), {suite: [tables[suite][0] | row for row in rows]}
    a, b = tables | values | {"policy": [dict(zip(names, row, strict=True)) for row in policy]}, others | values | {"policy": []}
    opened = DuckdbTables(arrow({"a": a, "b": b}))
    (found,) = [each for each in rules_by_policy(opened, BY_NAME[suite], limits()) if each.name == rule]
    broken = opened.query(found.query, "the rule")
    return {id: sorted(row[column] for row in broken if row["cluster_id"] == id) for id in ("a", "b")}


FACTORS = [{"topic": name, "replication_factor": factor} for name, factor in (("ledger", 3), ("ledger.v2", 2), ("scratch", 2), ("tmp", 1))]


@pytest.mark.parametrize(
    ("policy", "broken"),
    [
        ((), ["ledger.v2", "scratch", "tmp"]),
        ((limit(1, "replication_factor_least", 4),), ["ledger", "ledger.v2", "scratch", "tmp"]),
        ((limit(1, "replication_factor_least", 2, topics="s*"),), ["ledger.v2", "tmp"]),
        ((limit(1, "replication_factor_least", 1), limit(2, "replication_factor_least", 4, topics="ledger")), ["ledger"]),
        ((limit(1, "replication_factor_least", 4, topics="ledger"), limit(2, "replication_factor_least", 1)), []),  # the last one applies
        # An entry with the default value replaces an earlier one.
        ((limit(1, "replication_factor_least", 1), limit(2, "replication_factor_least", 3, topics="*p")), ["tmp"]),
        ((limit(1, "producer_skew_most", 9, topics="*"),), ["ledger.v2", "scratch", "tmp"]),
    ],
)
def test_a_topic_is_compared_with_the_last_limit_that_matches_it(policy: tuple, broken: list[str]) -> None:
    found = broken_subjects("topic", "enough_replicas", "topic", FACTORS, *policy)
    assert found == {"a": broken, "b": ["ledger.v2", "scratch", "tmp"]}


def test_each_limit_of_a_rule_has_entries_of_its_own() -> None:
    """even_records breaks if the skew is above one limit and the mean at least another."""
    rows = [
        {"topic": topic, "record_skew": skew, "records": 6 * mean, "partitions": 6}
        for topic, skew, mean in (("a", 1.0, 2000), ("b", 1.0, 500), ("c", 0.5, 2000), ("d", 0.5, 500))
    ]
    policy = (
        limit(1, "record_skew_most", 0.4, topics="?"),
        limit(2, "record_skew_mean_least", 100, topics="b"),
        limit(3, "record_skew_mean_least", 400, topics="d"),
    )
    assert broken_subjects("topic_balance", "even_records", "topic", rows, *policy) == {"a": ["a", "b", "c", "d"], "b": ["a"]}
    assert broken_subjects("topic_balance", "even_records", "topic", rows, policy[1])["a"] == ["a", "b"]
    assert broken_subjects("topic_balance", "even_records", "topic", rows, policy[0])["a"] == ["a", "c"]


def test_a_group_and_a_host_have_limits_of_their_own() -> None:
    rows = [{"group_id": group, "record_ratio": 3.0, "busiest_member": group or "host"} for group in ("replay", "web", None)]
    both = limit(1, "consumer_ratio_most", 4.0), limit(2, "consumer_ratio_most", 2.0, groups="web")
    for rule, broken in (("members_share_records", ["web"]), ("hosts_share_records", [])):
        assert broken_subjects("group_load", rule, "busiest_member", rows, *both)["a"] == broken
    assert broken_subjects("group_load", "hosts_share_records", "busiest_member", rows, both[1])["a"] == ["host"]


def test_a_broker_has_the_limits_of_its_cluster() -> None:
    rows = [{"broker_id": 0, "byte_ratio": 1.6}, {"broker_id": 1, "byte_ratio": 2.5}]
    assert broken_subjects("broker_balance", "even_bytes", "broker_id", rows, limit(1, "byte_ratio_most", 2.0)) == {"a": [1], "b": [0, 1]}


def test_a_rule_states_that_some_rows_have_other_limits_and_a_row_has_its_own() -> None:
    tables = sound()
    tables["policy"] = [dict(zip(tables["policy"][0], limit(7, "replication_factor_least", 4.0), strict=True))]
    opened = DuckdbTables(arrow({"a": tables}))
    rules = {"topic": rules_by_policy(opened, BY_NAME["topic"], limits())}
    (found,) = [row for row in evaluate(opened, rules, "s", docs=None).to_pylist() if row["rule"] == "enough_replicas"]
    assert found["sentence"] == "A topic has a replication factor of at least 3. Some rows have the limits of [[limit]] 7."
    assert json.loads(found["example"])["limit_value"] == 4
    assert found["smallest_change"] == "add 1 replica to each partition of t"


@pytest.mark.parametrize("suite", sorted({rule.partition(".")[0] for rule in RULES}))
def test_a_rule_about_topics_or_groups_is_a_rule_of_a_table_with_their_column(suite: str) -> None:
    """A waiver of a rule may have the patterns for which the table of its suite has a column."""
    opened = DuckdbTables(arrow({"a": sound()}))
    columns = {name for rule in rules_of(BY_NAME[suite], limits()) if rule.severity == "soft" for name in opened.columns(rule.query, suite)}
    assert columns & {"topic", "group_id"} <= set(BY_NAME[suite].schema.names)


LIMIT_NAMES = [*TOPIC_LIMITS, *GROUP_LIMITS, *CLUSTER_LIMITS]


@pytest.fixture(scope="module")
def rules_of_limits() -> dict[str, list[tuple[Rule, Rule, list[str]]]]:
    """Return the rules that change with each limit: with the default, with another value, and the columns of the query."""
    opened, found = DuckdbTables(arrow({"a": sound()})), defaultdict(list)
    for table in BY_NAME.values():
        default = rules_of(table, limits())
        for name in LIMIT_NAMES:
            other = rules_of(table, with_limits(limits(), {name: getattr(limits(), name) + 1}))
            for before, after in zip(default, other, strict=True):
                if before != after:
                    found[name].append((before, after, opened.columns(before.query, before.name)))
    return found


@pytest.mark.parametrize("name", LIMIT_NAMES)
def test_a_limit_may_have_the_patterns_that_its_rules_have_columns_for(rules_of_limits: dict, name: str) -> None:
    rules = rules_of_limits[name]
    assert rules or name == "plan_disk_share_most"
    assert any("topic" in columns for _, _, columns in rules) == (name in TOPIC_LIMITS)
    assert any("group_id" in columns for _, _, columns in rules) == (name in GROUP_LIMITS)
    assert [before.name for before, after, _ in rules if before.requires != after.requires] == []
