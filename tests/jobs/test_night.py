"""Two nights of real clusters, end to end: from dumps to published answers."""

from pathlib import Path

import pytest
from deltalake import DeltaTable

from jobs import views
from jobs.cli import BUNDLED
from jobs.lake.folder_lake import FolderLake
from jobs.lake.lake import Lake
from jobs.night import NightlyRun
from jobs.plan.answer import WRITES as PLAN_TABLES
from jobs.schema import ABSENT_CLUSTER, INPUT_FILE, NOTIFICATION, PARAMETER, SNAPSHOT, TABLES, VALIDATION, VERDICT
from tests.jobs.published import check_survival_and_verdict
from tests.jobs.two_nights import FIRST, SECOND, query


def test_every_line_of_every_dump_is_accepted_or_rejected(two_nights: Lake) -> None:
    files = NightlyRun(two_nights, SECOND).read(INPUT_FILE)
    assert files.count() == len([path for path in BUNDLED.rglob("*") if path.is_file()])
    assert files.where("entries <> accepted + rejected OR format IS NULL OR rejected > 0").collect() == []


def test_both_nights_are_published_and_the_second_names_the_first(two_nights: Lake) -> None:
    rows = query(two_nights, "SELECT snapshot_id, cluster_id, previous_snapshot_id, latest FROM snapshot ORDER BY 1, 2")
    assert rows == [
        (FIRST, "orders-eu", None, False),
        (FIRST, "payments-us", None, False),
        (SECOND, "orders-eu", FIRST, True),
        (SECOND, "payments-us", FIRST, True),
    ]


def test_keyed_and_explicit_records_are_predicted_where_the_java_producer_put_them(two_nights: Lake) -> None:
    rows = query(
        two_nights,
        "SELECT cluster_id, topic, partition, records, observed_records FROM producer_load p WHERE latest AND NOT EXISTS "
        "(SELECT 1 FROM producer_load u WHERE u.snapshot_id = p.snapshot_id AND u.cluster_id = p.cluster_id AND u.topic = p.topic AND u.unkeyed_records > 0) "
        "AND records IS NOT NULL AND observed_records IS NOT NULL",
    )
    assert len(rows) > 20
    assert [row for row in rows if row[3] != row[4]] == []


def test_draws_explain_all_topics_but_those_that_were_created_with_an_assignment(two_nights: Lake) -> None:
    by_algorithm = query(two_nights, "SELECT DISTINCT algorithm FROM topic_placement")
    assert by_algorithm == [("striped",)]
    unexplained = "SELECT cluster_id, topic, first_unexplained_partition FROM topic_placement WHERE latest AND NOT explained ORDER BY 1"
    assert query(two_nights, unexplained) == [("orders-eu", "stock-levels", 1), ("payments-us", "chargebacks", 1)]
    found = query(two_nights, "SELECT cluster_id, broken_rows FROM broken_rule WHERE latest AND rule = 'placement_explained' ORDER BY 1")
    assert found == [("orders-eu", 1), ("payments-us", 1)]


def test_the_verdicts_of_a_healthy_cluster_and_of_one_that_lost_a_broker_differ(two_nights: Lake) -> None:
    verdicts = {
        row[0]: row[1:]
        for row in query(
            two_nights, "SELECT cluster_id, live_brokers, brokers, any_broker_reads, leaderless_now > 0 FROM verdict WHERE latest"
        )
    }
    assert verdicts == {"orders-eu": (3, 3, True, None), "payments-us": (2, 3, False, True)}
    before = query(two_nights, f"SELECT live_brokers FROM verdict WHERE cluster_id = 'payments-us' AND snapshot_id = '{FIRST}'")
    assert before == [(3,)]


def test_each_verdict_names_a_failure_with_its_own_counts(two_nights: Lake) -> None:
    check_survival_and_verdict(views.DuckdbViews(two_nights))


def test_the_death_of_a_broker_concerns_the_groups_that_it_coordinates(two_nights: Lake) -> None:
    """The dumps of the groups report their coordinators, so each group's partition of __consumer_offsets is computed correctly."""
    rows = query(
        two_nights,
        "SELECT s.cluster_id, s.brokers[1], moved_coordinators + lost_coordinators, (SELECT count(*) FROM consumer_group g "
        "WHERE g.snapshot_id = s.snapshot_id AND g.cluster_id = s.cluster_id AND g.coordinator_id = s.brokers[1]) "
        "FROM scenario s WHERE kind = 'broker'",
    )
    assert [row for row in rows if row[2] != row[3]] == []
    assert sum(row[2] for row in rows) > 10


def test_changes_name_the_lost_broker_as_their_cause(two_nights: Lake) -> None:
    rows = query(
        two_nights, "SELECT cluster_id, kind, broker_id, cause FROM change WHERE snapshot_id = '2026-01-02' AND kind NOT LIKE 'member %'"
    )
    assert {row[0] for row in rows} == {"payments-us"}
    assert [row[2] for row in rows if row[1] == "broker lost"] == [11]
    partition_changes = {row[1:] for row in rows if row[1].split()[0] in ("ISR", "leader", "ELR")}
    assert partition_changes == {
        (kind, None, "broker 11 was lost") for kind in ("ISR shrank", "ELR changed", "leader moved", "leader lost")
    }
    assert query(two_nights, "SELECT count(*) FROM change WHERE snapshot_id = '2026-01-01'") == [(0,)]
    causes = query(two_nights, "SELECT DISTINCT cause FROM harmed_partition_cause WHERE latest")
    assert causes == [("ISR shrank: broker 11 was lost",)]


def test_data_docs_show_every_suite_of_the_night(two_nights: Lake) -> None:
    index = Path(two_nights.uri, "docs", "index.html").read_text()
    suites = {
        table.name
        for table in TABLES
        if table not in (PARAMETER, SNAPSHOT, VALIDATION, VERDICT, ABSENT_CLUSTER, NOTIFICATION, *PLAN_TABLES)
    }
    assert {folder.name for folder in Path(two_nights.uri, "docs", "validations").iterdir()} == suites
    assert [suite for suite in suites if f"validations/{suite}/" not in index] == []


def test_the_scatter_width_is_the_number_of_brokers_that_share_a_partition(two_nights: Lake) -> None:
    neighbours: dict[int, set[int]] = {}
    replica_lists = query(two_nights, "SELECT p.replicas FROM partition p WHERE cluster_id = 'orders-eu' AND latest")
    live = {id for (id,) in query(two_nights, "SELECT broker_id FROM broker WHERE cluster_id = 'orders-eu' AND latest AND live")}
    for (replicas,) in replica_lists:
        for id in set(replicas) & live:
            neighbours.setdefault(id, set()).update(set(replicas) & live - {id})
    rows = query(two_nights, "SELECT broker_id, scatter_width FROM scatter_width WHERE cluster_id = 'orders-eu' AND latest")
    assert dict(rows) == {id: len(others) for id, others in neighbours.items() if others}


def test_the_members_of_a_group_have_all_partitions_of_the_group(two_nights: Lake) -> None:
    assigned = "SELECT cluster_id, group_id, count(*) FROM observed_assignment WHERE latest GROUP BY ALL ORDER BY ALL"
    loads = (
        "SELECT cluster_id, group_id, sum(partitions)::BIGINT FROM consumer_load WHERE latest AND partitions > 0 GROUP BY ALL ORDER BY ALL"
    )
    assert query(two_nights, loads) == query(two_nights, assigned) != []
    idle = "SELECT count(*) FROM group_member m ANTI JOIN observed_assignment a USING (snapshot_id, cluster_id, group_id, member_id) WHERE m.latest"
    assert query(two_nights, "SELECT count(*) FROM consumer_load WHERE latest AND partitions = 0") == query(two_nights, idle) != [(0,)]


def test_a_broken_rule_has_the_night_since_which_it_is_broken(two_nights: Lake) -> None:
    since = "SELECT snapshot_id, since_snapshot_id, nights FROM broken_since WHERE cluster_id = 'payments-us' AND suite || '.' || rule = "
    assert query(two_nights, f"{since} 'partition_health.replicas_on_live_brokers'") == [(SECOND, SECOND, 1)]
    assert query(two_nights, f"{since} 'topic.enough_replicas' ORDER BY 1") == [(FIRST, FIRST, 1), (SECOND, FIRST, 2)]


def test_the_first_night_has_the_owners_waivers_and_limits_beside_its_dumps(two_nights: Lake) -> None:
    """tests/snapshots/night-before/topology-audit.toml"""
    columns = "cluster_id, rule, result, broken_rows > 0, owner, waived_rows > 0, CAST(waived_until AS VARCHAR)"
    rules = "('above_min_isr', 'data_survives_a_broker', 'enough_replicas', 'several_partitions', 'topics_per_group_limited', 'waivers_in_force')"
    assert query(two_nights, f"SELECT {columns} FROM broken_rule WHERE snapshot_id = '{FIRST}' AND rule IN {rules} ORDER BY ALL") == [
        ("orders-eu", "enough_replicas", "broken", True, "platform", False, None),
        ("orders-eu", "several_partitions", "broken", True, "platform", False, None),
        ("orders-eu", "topics_per_group_limited", "waived", False, "platform", True, "2026-06-30"),
        ("orders-eu", "waivers_in_force", "broken", True, "platform", False, None),
        ("payments-us", "above_min_isr", "broken", True, "payments team", False, None),
        ("payments-us", "data_survives_a_broker", "broken", True, "platform", False, None),
        ("payments-us", "enough_replicas", "waived", False, "payments team", True, "2026-01-01"),
        ("payments-us", "waivers_in_force", "broken", True, "platform", False, None),
    ]
    waived = "SELECT cluster_id, cause, owner, CAST(waived_until AS VARCHAR) FROM finding WHERE waived_until IS NOT NULL"
    assert query(two_nights, waived) == [("orders-eu", "reads are expensive", "platform", "2026-06-30")]
    fatal = f"SELECT owner FROM finding WHERE snapshot_id = '{FIRST}' AND cluster_id = 'payments-us' AND cause = 'one broker is fatal'"
    assert query(two_nights, fatal) == [("payments team, platform",)]
    assert query(two_nights, f"SELECT count(*) FROM finding WHERE snapshot_id = '{SECOND}' AND owner IS NOT NULL") == [(0,)]


@pytest.mark.parametrize("view", [*views.VIEWS, "broker", "owner", "waiver", "policy", "parameter", "all_input_file", "all_validation"])
def test_spark_and_duckdb_return_the_same_rows_of_a_view(two_nights: Lake, view: str) -> None:
    def rows(answer: tuple[list[str], list[tuple[object, ...]]]) -> tuple[list[str], list[str]]:
        return answer[0], sorted(str([round(value, 9) if isinstance(value, float) else value for value in row]) for row in answer[1])

    sql = f"SELECT * FROM {view}"
    by_spark, by_duckdb = rows(views.query_spark(two_nights, sql, 10_000)), rows(views.query_duckdb(two_nights, sql, 10_000))
    assert by_spark == by_duckdb
    assert by_duckdb[1]


def test_a_query_opens_only_the_tables_that_it_reads_and_show_tables_opens_all(two_nights: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    duckdb_query, opened = FolderLake.duckdb_query, []
    monkeypatch.setattr(FolderLake, "duckdb_query", lambda lake, table: opened.append(table) or duckdb_query(lake, table))
    connection = views.DuckdbViews(two_nights)
    for _ in range(2):
        connection.execute("SELECT topic, partition, remedy, added_replicas FROM remedy WHERE latest")  # topic and partition are also views
    assert sorted(table.name for table in opened) == ["absent_cluster", "remedy", "snapshot"]
    connection.execute(
        "SELECT count(*) FROM broker JOIN Cluster USING (cluster_id)"
    )  # DuckDB names a missing table only when it runs the query
    assert {table.name for table in opened[3:]} == {"broker", "cluster"}
    assert {name for (name,) in connection.execute("SHOW TABLES").fetchall()} >= {*views.VIEWS, *(table.name for table in TABLES)}


def test_a_table_is_read_by_delta_rs_with_its_comments(two_nights: Lake) -> None:
    table = DeltaTable(f"{two_nights.uri}/failover")
    fields = {field.name: field for field in table.schema().fields}
    assert fields["leader"].metadata["comment"] == "broker id of the leader after the failure; null: none"
    assert not fields["topic"].nullable
