"""Two nights of real clusters, end to end: from dumps to published answers, killed and run again, withheld and asked."""

import json
from collections.abc import Collection
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from expectations.limits import limits
from jobs import ingest, views
from jobs.check import PREVIOUS, judged_by, rules_of
from jobs.cli import BUNDLED
from jobs.errors import AuditError
from jobs.lake.folder_lake import FolderLake
from jobs.lake.lake import Lake, open_lake
from jobs.lake.publication import Outcome
from jobs.night import GATES, JOBS, NIGHT, Night
from jobs.plan import plan
from jobs.schema import (
    ABSENT_CLUSTER,
    BROKER,
    FAILOVER,
    INPUT_FILE,
    PARAMETER,
    PARTITION,
    PLAN,
    PLAN_RULE,
    REPLICA_ASSIGNMENT,
    SNAPSHOT,
    TABLES,
    VALIDATION,
)
from jobs.spark.scale import Scale
from jobs.what_if import WhatIf, simulate
from tests.jobs.published import check_survival_and_verdict

SNAPSHOTS = Path(__file__).parents[1] / "snapshots"
FIRST, SECOND = "2026-01-01", "2026-01-02"


def run(night: Night, source: Path, docs: str | None = None) -> list[dict[str, Any]]:
    """The absent clusters of a night."""
    return night.run(str(source), {}, limits(), docs).absent


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Two published nights of the same clusters; one of them loses a broker in the second."""
    lake = open_lake(str(tmp_path_factory.mktemp("lake")), lambda: spark)
    assert run(Night(lake, FIRST), SNAPSHOTS / "night-before") == []
    assert run(Night(lake, SECOND), BUNDLED, docs=f"{lake.uri}/docs") == []
    return lake


@pytest.fixture(scope="module")
def night(lake: Lake) -> Night:
    return Night(lake, SECOND)


def contents(night: Night, *, but: tuple[str, ...] = ()) -> dict[str, list[str]]:
    """Every table's rows of the night, as text."""
    return {
        table.name: sorted(json.dumps(row.asDict(recursive=True), default=str, sort_keys=True) for row in night.read(table).collect())
        for table in TABLES
        if table.name not in but
    }


def ask(lake: Lake, sql: str) -> list[tuple[object, ...]]:
    return views.DuckdbViews(lake).execute(sql).fetchall()


def test_every_line_of_every_dump_is_accepted_or_rejected(night: Night) -> None:
    files = night.read(INPUT_FILE)
    assert files.count() == len([path for path in BUNDLED.rglob("*") if path.is_file()])
    assert files.where("entries <> accepted + rejected OR format IS NULL OR rejected > 0").collect() == []


def test_both_nights_are_published_and_the_second_names_the_first(lake: Lake) -> None:
    rows = ask(lake, "SELECT snapshot_id, cluster_id, previous_snapshot_id, latest FROM snapshot ORDER BY 1, 2")
    assert rows == [
        (FIRST, "orders-eu", None, False),
        (FIRST, "payments-us", None, False),
        (SECOND, "orders-eu", FIRST, True),
        (SECOND, "payments-us", FIRST, True),
    ]


def test_keyed_and_explicit_records_are_predicted_where_the_java_producer_put_them(lake: Lake) -> None:
    rows = ask(
        lake,
        "SELECT cluster_id, topic, partition, records, observed_records FROM producer_load p WHERE latest AND NOT EXISTS "
        "(SELECT 1 FROM producer_load u WHERE u.snapshot_id = p.snapshot_id AND u.cluster_id = p.cluster_id AND u.topic = p.topic AND u.unkeyed_records > 0) "
        "AND records IS NOT NULL AND observed_records IS NOT NULL",
    )
    assert len(rows) > 20
    assert [row for row in rows if row[3] != row[4]] == []


def test_the_verdicts_tell_the_healthy_cluster_from_the_one_that_lost_a_broker(lake: Lake) -> None:
    now = {
        row[0]: row[1:]
        for row in ask(lake, "SELECT cluster_id, live_brokers, brokers, any_broker_reads, leaderless_now > 0 FROM verdict WHERE latest")
    }
    assert now == {"orders-eu": (3, 3, True, None), "payments-us": (2, 3, False, True)}
    then = ask(lake, f"SELECT live_brokers FROM verdict WHERE cluster_id = 'payments-us' AND snapshot_id = '{FIRST}'")
    assert then == [(3,)]


def test_each_verdict_names_a_failure_with_its_own_counts(lake: Lake) -> None:
    check_survival_and_verdict(views.DuckdbViews(lake))


def test_a_broker_takes_the_groups_with_it_that_it_coordinates(lake: Lake) -> None:
    """As the groups themselves told their coordinators: by it, each group's partition of __consumer_offsets is the right one."""
    rows = ask(
        lake,
        "SELECT s.cluster_id, s.brokers[1], moved_coordinators + lost_coordinators, (SELECT count(*) FROM consumer_group g "
        "WHERE g.snapshot_id = s.snapshot_id AND g.cluster_id = s.cluster_id AND g.coordinator_id = s.brokers[1]) "
        "FROM scenario s WHERE kind = 'broker'",
    )
    assert [row for row in rows if row[2] != row[3]] == []
    assert sum(row[2] for row in rows) > 10


def test_what_changed_is_laid_to_the_broker_that_was_lost(lake: Lake) -> None:
    rows = ask(lake, "SELECT cluster_id, kind, broker_id, cause FROM change WHERE snapshot_id = '2026-01-02' AND kind NOT LIKE 'member %'")
    assert {row[0] for row in rows} == {"payments-us"}
    assert [row[2] for row in rows if row[1] == "broker lost"] == [11]
    of_partitions = {row[1:] for row in rows if row[1].split()[0] in ("ISR", "leader", "ELR")}
    assert of_partitions == {(kind, None, "broker 11 was lost") for kind in ("ISR shrank", "ELR changed", "leader moved", "leader lost")}
    assert ask(lake, "SELECT count(*) FROM change WHERE snapshot_id = '2026-01-01'") == [(0,)]
    causes = ask(lake, "SELECT DISTINCT cause FROM harmed_partition_cause WHERE latest")
    assert causes == [("ISR shrank: broker 11 was lost",)]


def test_a_rerun_changes_no_row_not_even_as_a_large_night(night: Night, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(night, but=("snapshot", "parameter"))
    monkeypatch.setattr("jobs.spark.scale.MAX_SMALL_BYTES", 0)
    again = Night(night.lake, SECOND)
    assert run(again, BUNDLED, docs=f"{night.lake.uri}/docs") == []
    assert again.scale is Scale.LARGE
    now = contents(night, but=("snapshot", "parameter"))
    assert [name for name, rows in before.items() if rows != now[name]] == []


def test_a_plan_of_nothing_changes_no_rule(lake: Lake) -> None:
    plan.answer(lake, SECOND, plan.Question("nothing", "orders-eu", balance=False, topics=["prices"]), limits())
    (found,) = lake.read_local(PLAN, snapshot_id=SECOND, plan_id="nothing").to_pylist()
    assert found["changed_partitions"] == 0
    names = ("suite", "rule", "severity", "success", "broken_rows", "example", "sentence")
    judged = {
        tuple(row[name] for name in names)
        for row in lake.read_local(VALIDATION, snapshot_id=SECOND).to_pylist()
        if row["cluster_id"] == "orders-eu"
    }
    rules = lake.read_local(PLAN_RULE, snapshot_id=SECOND, plan_id="nothing").to_pylist()
    assert {tuple(row[name] for name in names) for row in rules} == judged
    assert [row for row in rules if (row["success"], row["broken_rows"]) != (row["success_before"], row["broken_rows_before"])] == []
    assert not list(Path(lake.uri).glob(".planned*"))


def test_data_docs_show_every_suite_of_the_night(lake: Lake) -> None:
    index = Path(lake.uri, "docs", "index.html").read_text()
    suites = {table.name for table in TABLES if table not in (PARAMETER, SNAPSHOT, VALIDATION, ABSENT_CLUSTER, *plan.WRITES)}
    assert {folder.name for folder in Path(lake.uri, "docs", "validations").iterdir()} == suites
    assert [suite for suite in suites if f"validations/{suite}/" not in index] == []


def test_the_scatter_width_is_the_brokers_that_share_a_partition(lake: Lake) -> None:
    neighbours: dict[int, set[int]] = {}
    held = ask(lake, "SELECT p.replicas FROM partition p WHERE cluster_id = 'orders-eu' AND latest")
    live = {id for (id,) in ask(lake, "SELECT broker_id FROM broker WHERE cluster_id = 'orders-eu' AND latest AND live")}
    for (replicas,) in held:
        for id in set(replicas) & live:
            neighbours.setdefault(id, set()).update(set(replicas) & live - {id})
    rows = ask(lake, "SELECT broker_id, scatter_width FROM scatter_width WHERE cluster_id = 'orders-eu' AND latest")
    assert dict(rows) == {id: len(others) for id, others in neighbours.items() if others}


def test_members_have_between_them_what_their_group_holds(lake: Lake) -> None:
    held = "SELECT cluster_id, group_id, count(*) FROM observed_assignment WHERE latest GROUP BY ALL ORDER BY ALL"
    loads = (
        "SELECT cluster_id, group_id, sum(partitions)::BIGINT FROM consumer_load WHERE latest AND partitions > 0 GROUP BY ALL ORDER BY ALL"
    )
    assert ask(lake, loads) == ask(lake, held) != []
    idle = "SELECT count(*) FROM group_member m ANTI JOIN observed_assignment a USING (snapshot_id, cluster_id, group_id, member_id) WHERE m.latest"
    assert ask(lake, "SELECT count(*) FROM consumer_load WHERE latest AND partitions = 0") == ask(lake, idle) != [(0,)]


def test_a_broken_rule_tells_since_which_night(lake: Lake) -> None:
    ask_since = (
        "SELECT snapshot_id, since_snapshot_id, nights FROM broken_since WHERE cluster_id = 'payments-us' AND suite || '.' || rule = "
    )
    assert ask(lake, f"{ask_since} 'partition_health.replicas_on_live_brokers'") == [(SECOND, SECOND, 1)]
    assert ask(lake, f"{ask_since} 'topic.enough_replicas' ORDER BY 1") == [(FIRST, FIRST, 1), (SECOND, FIRST, 2)]


@pytest.mark.parametrize("view", [*views.VIEWS, "broker", "all_input_file", "all_validation"])
def test_spark_and_duckdb_answer_a_view_alike(lake: Lake, view: str) -> None:
    def rows(answer: tuple[list[str], list[tuple[object, ...]]]) -> tuple[list[str], list[str]]:
        return answer[0], sorted(str([round(value, 9) if isinstance(value, float) else value for value in row]) for row in answer[1])

    sql = f"SELECT * FROM {view}"
    of_spark, of_duckdb = rows(views.query_spark(lake, sql, 10_000)), rows(views.query_duckdb(lake, sql, 10_000))
    assert of_spark == of_duckdb
    assert of_duckdb[1]


def test_a_query_opens_the_tables_that_it_reads_and_one_for_names_opens_all(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    query, opened = FolderLake.duckdb_query, []
    monkeypatch.setattr(FolderLake, "duckdb_query", lambda lake, table: opened.append(table) or query(lake, table))
    opening = views.DuckdbViews(lake)
    for _ in range(2):
        opening.execute("SELECT topic, partition, remedy, added_replicas FROM remedy WHERE latest")  # topic and partition are views, too
    assert sorted(table.name for table in opened) == ["absent_cluster", "remedy", "snapshot"]
    opening.execute("SELECT count(*) FROM broker JOIN Cluster USING (cluster_id)")  # DuckDB cannot tell what it reads before they are there
    assert {table.name for table in opened[3:]} == {"broker", "cluster"}
    assert {name for (name,) in opening.execute("SHOW TABLES").fetchall()} >= {*views.VIEWS, *(table.name for table in TABLES)}


def test_a_table_is_read_by_delta_rs_with_its_comments(lake: Lake) -> None:
    table = DeltaTable(f"{lake.uri}/failover")
    fields = {field.name: field for field in table.schema().fields}
    assert fields["state_before"].metadata["comment"] == "state before the failure: OnlinePartition or OfflinePartition"
    assert not fields["topic"].nullable


def test_what_if_of_a_broker_is_what_the_night_says_of_it(night: Night) -> None:
    assert simulate(night.lake, None, WhatIf("asked", "payments-us", brokers=[12])) == SECOND
    columns = [name for name in night.read(FAILOVER).columns if name not in ("scenario_set", "scenario_id")]
    of = night.read(FAILOVER).where("cluster_id = 'payments-us'").select(*columns, "scenario_set", "scenario_id")
    nightly, asked = of.where("scenario_id = 'broker 12' AND scenario_set = 'nightly'"), of.where("scenario_set = 'asked'")
    assert sorted(map(str, nightly.select(columns).collect())) == sorted(map(str, asked.select(columns).collect()))
    assert asked.count() > 0


def test_what_ifs_of_two_clusters_may_share_an_id(night: Night) -> None:
    def stored() -> list[tuple]:
        return ask(night.lake, "SELECT cluster_id, brokers FROM scenario WHERE scenario_set = 'shared' ORDER BY ALL")

    simulate(night.lake, None, WhatIf("shared", "payments-us", brokers=[12]))
    simulate(night.lake, None, WhatIf("shared", "orders-eu", brokers=[1]))
    assert stored() == [("orders-eu", [1]), ("payments-us", [12])]
    simulate(night.lake, None, WhatIf("shared", "payments-us", brokers=[13]))
    assert stored() == [("orders-eu", [1]), ("payments-us", [13])]
    assert ask(night.lake, "SELECT DISTINCT cluster_id, leader_before FROM failover_load JOIN failover USING (cluster_id, scenario_set) "
               "WHERE scenario_set = 'shared' AND leader_before IN (1, 12, 13) AND leader IS DISTINCT FROM leader_before ORDER BY ALL") == [("orders-eu", 1), ("payments-us", 13)]  # fmt: skip
    nightly = "SELECT count(DISTINCT cluster_id), count(*) > 2 FROM scenario WHERE latest AND scenario_set = 'nightly'"
    assert ask(night.lake, nightly) == [(2, True)]


def test_a_broker_whose_log_dirs_all_fail_halts(night: Night) -> None:
    for id, question in (("halted", {"log_dirs": ["12:/var/lib/kafka/data1", "12:/var/lib/kafka/data2"]}), ("killed", {"brokers": [12]})):
        simulate(night.lake, None, WhatIf(id, "payments-us", **question))
    asked = "SELECT topic, partition, leader, isr, elr FROM failover WHERE scenario_set = '{}' ORDER BY ALL"
    halted, killed = (ask(night.lake, asked.format(id)) for id in ("halted", "killed"))
    assert halted == killed
    assert halted


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (WhatIf("x", "payments-us", brokers=[11]), "cluster payments-us has no live broker 11: it has 12, 13"),
        (
            WhatIf("x", "payments-us", racks=["rack-z"]),
            "cluster payments-us has no live broker on rack rack-z: its racks are rack-b, rack-c",
        ),
        (
            WhatIf("x", "payments-us", log_dirs=["12:/nowhere"]),
            "cluster payments-us has no live log dir 12:/nowhere: it has 12:/var/lib/kafka/data1",
        ),
        (WhatIf("x", "payments-us", log_dirs=["11:/var/lib/kafka/data1"]), "no live log dir 11:/var/lib/kafka/data1"),
        (
            WhatIf("x", "payments-us", log_dirs=["12:/var/lib/kafka/data1"], controlled_shutdown=True),
            "a log dir fails, it is not stopped in order",
        ),
        (WhatIf("x", "payments-us"), "at least one broker, rack or log dir"),
        (WhatIf("x", "nowhere", brokers=[1]), "no published snapshot of cluster nowhere"),
    ],
)
def test_a_what_if_about_what_is_not_there_says_what_is(night: Night, question: WhatIf, said: str) -> None:
    with pytest.raises(AuditError, match=said):
        simulate(night.lake, None, question)
    assert night.read(FAILOVER).where("scenario_set = 'x'").isEmpty()


def test_a_night_that_dies_half_way_hides_itself_and_the_night_before_still_answers(lake: Lake) -> None:
    third = Night(lake, "2026-01-03")
    third.ingest(str(BUNDLED), {})
    third.step("replica_assignment", limits())
    withheld = [(row["cluster_id"], row["detail"].partition(":")[0]) for row in third.publish(limits()).absent]
    assert withheld == [("orders-eu", "not every check has run"), ("payments-us", "not every check has run")]
    assert ask(lake, "SELECT DISTINCT snapshot_id, snapshot_age, stale FROM snapshot WHERE latest") == [(SECOND, 1, True)]
    assert ask(lake, "SELECT count(*) FROM replica_assignment WHERE snapshot_id = '2026-01-03'") == [(0,)]


def test_an_unsound_answer_withholds_its_cluster_alone(lake: Lake) -> None:
    night = Night(lake, SECOND)
    sound = night.read(REPLICA_ASSIGNMENT).localCheckpoint()
    broken = sound.withColumn(
        "replicas", F.when(F.col("cluster_id") == "payments-us", F.array(F.lit(12), F.lit(12))).otherwise(F.col("replicas"))
    )
    night.replace(REPLICA_ASSIGNMENT, broken)
    told = night.check("computed", limits(), None)
    assert any("payments-us" in line and "replica_assignment" in line for line in told)
    assert not any("orders-eu" in line for line in told)
    (absent,) = night.publish(limits()).absent
    assert (absent["cluster_id"], absent["last_snapshot_id"], absent["reason"]) == ("payments-us", FIRST, "withheld")
    assert absent["detail"].startswith("replica_assignment.")
    assert ask(lake, "SELECT cluster_id, snapshot_id FROM snapshot WHERE latest ORDER BY 1") == [
        ("orders-eu", SECOND),
        ("payments-us", FIRST),
    ]
    night.replace(REPLICA_ASSIGNMENT, sound)
    assert night.check("computed", limits(), None) == []
    assert night.publish(limits()).absent == []


def test_parameters_are_rows_and_unknown_ones_are_refused(night: Night) -> None:
    with pytest.raises(AuditError, match="unknown parameter startindex"):
        night.ingest(str(BUNDLED), {"startindex": "1"})
    with pytest.raises(AuditError, match="must be a whole number"):
        night.ingest(str(BUNDLED), {"start_index": "-1"})
    assert ask(night.lake, f"SELECT count(*) FROM snapshot WHERE snapshot_id = '{SECOND}'") == [(2,)]


def test_a_step_without_its_ingest_says_so(lake: Lake) -> None:
    with pytest.raises(AuditError, match="run `step ingest --snapshot 1999-01-01` first"):
        Night(lake, "1999-01-01").step("failover", limits())


def test_a_source_that_cannot_be_read_leaves_what_is_published(night: Night) -> None:
    with pytest.raises(AuditError):
        night.ingest(str(SNAPSHOTS / "no-such-folder"), {})
    assert ask(night.lake, f"SELECT count(*) FROM snapshot WHERE snapshot_id = '{SECOND}'") == [(2,)]


def test_the_lake_refuses_a_null_where_the_table_allows_none(night: Night) -> None:
    nameless = night.read(BROKER).withColumn("live", F.lit(None).cast("boolean"))
    with pytest.raises(Exception, match="null values to non-nullable"):
        night.replace(BROKER, nameless)
    assert night.read(BROKER).where("live IS NULL").isEmpty()


def test_rows_of_another_night_cannot_be_written(lake: Lake, night: Night) -> None:
    before = Night(lake, FIRST).read(PARTITION).count()
    night.replace(PARTITION, night.read(PARTITION).localCheckpoint().withColumn("snapshot_id", F.lit(FIRST)))
    assert Night(lake, FIRST).read(PARTITION).count() == before


def test_a_cluster_of_which_only_topics_are_told_has_its_verdict(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "source" / "bare").mkdir(parents=True)
    line = "\tTopic: t\tPartition: {}\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\n"
    dump = "Topic: t\tPartitionCount: 2\tReplicationFactor: 2\tConfigs: \n" + line.format(0) + line.format(1)
    (tmp_path / "source" / "bare" / "topics.txt").write_text(dump)
    lake = open_lake(str(tmp_path / "lake"), lambda: spark)
    assert Night(lake, FIRST).run(str(tmp_path / "source"), {}, limits(), None) == Outcome(["bare"], [])
    said = "SELECT cluster_id, any_broker_reads, any_broker_writes, any_rack_reads, producer_skew, consumer_spread, byte_skew FROM verdict"
    assert ask(lake, said) == [("bare", True, True, None, None, None, None)]


def test_the_step_that_most_others_wait_for_begins_first() -> None:
    begun: list[tuple[str, str]] = []

    class Told(Night):
        scale = Scale.LARGE  # one after the other

        def step(self, name: str, limits: object) -> None:
            begun.append(("step", name))

        def check(self, gate: str, limits: object, docs: str | None, judges: object) -> list[str]:
            begun.append(("check", gate))
            return []

        def publish(self, limits: object, retired: Collection[str]) -> Outcome:
            begun.append(("publish", ""))
            return Outcome([], [{"retired": retired}])

    outcome = Told(open_lake("file:///nowhere", pytest.fail), FIRST).run(None, {}, limits(), None, retired={"west"})
    assert outcome.absent == [{"retired": {"west"}}]
    assert begun[:2] == [("check", "ingest"), ("step", "producer_load")]  # failover waits for it, and three steps for failover
    assert begun[-1] == ("publish", "")
    assert sorted(begun) == sorted(NIGHT[1:])


def test_a_gate_waits_for_its_own_tables_alone() -> None:
    judged = Event()

    class Told(Night):
        scale = Scale.SMALL  # side by side

        def step(self, name: str, limits: object) -> None:
            assert name != "remedy" or judged.wait(10)

        def check(self, gate: str, limits: object, docs: str | None, judges: object) -> list[str]:
            if gate == "balance":
                judged.set()
            return []

        def publish(self, limits: object, retired: Collection[str]) -> Outcome:
            return Outcome([], [])

    assert Told(open_lake("file:///nowhere", pytest.fail), FIRST).run(None, {}, limits(), None) == Outcome([], [])


def test_steps_come_after_the_steps_whose_tables_they_read() -> None:
    written = {table.name for table in ingest.WRITES}
    for kind, name in NIGHT[1:]:
        if kind == "step":
            job = JOBS[name]
            assert {table.name for table in job.READS} <= written, name
            written |= {table.name for table in job.WRITES}


@pytest.mark.parametrize("gate", GATES)
def test_a_gate_judges_by_what_was_ingested_and_by_its_own_tables(gate: str) -> None:
    own = {table.name for table in GATES[gate]}
    read = {name.removeprefix(PREVIOUS) for suite in own for name in judged_by(suite, rules_of(suite, limits()))}
    assert read <= own | {table.name for table in ingest.WRITES}
