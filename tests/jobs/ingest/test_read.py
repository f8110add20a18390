"""The whole ingest, from a folder of dumps to tables, on the driver and by Spark's workers."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from jobs import ingest
from jobs.cli import BUNDLED, _spark
from jobs.lake.lake import open_lake
from jobs.lake.worker_rows import packed_rows
from jobs.schema import (
    ACL,
    BROKER,
    CLIENT_QUOTA,
    CLUSTER,
    CONFIG,
    INPUT_FILE,
    KEY_SAMPLE,
    OBSERVED_ASSIGNMENT,
    PARTITION,
    PARTITION_LOAD,
    PROPOSED_REASSIGNMENT,
    REJECTED_INPUT,
    REPLICA,
    TOPIC,
)
from jobs.spark.scale import Scale
from jobs.spark.session import configure_for_scale, dataframe_from_arrow
from jobs.spark.worker_rows import WorkerRows

SNAPSHOTS = Path(__file__).parents[2] / "snapshots"
PARTITION_LINE = "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 2,1\tElr: \tLastKnownElr: \n"


@pytest.fixture(autouse=True)
def small_again(spark: SparkSession) -> Iterator[None]:
    """Restore the settings for small tables, which a large source changes."""
    yield
    configure_for_scale(spark, Scale.SMALL)


def read(spark: SparkSession, source: Path, **options: int) -> dict[str, DataFrame]:
    tables = ingest.read(lambda: spark, str(source), "2026-11-21", **options)
    if isinstance(tables, WorkerRows):
        with packed_rows(tables) as frames:
            tables = [frame.toArrow() for frame in frames]
    return {table.name: dataframe_from_arrow(spark, rows, table.columns) for table, rows in zip(ingest.WRITES, tables, strict=True)}


def test_getting_the_session_does_not_change_its_settings(spark: SparkSession) -> None:
    _spark("lake")
    configure_for_scale(spark, Scale.LARGE)
    _spark("lake")
    assert spark.conf.get("spark.sql.codegen.factoryMode") == "FALLBACK"


def test_frames_have_the_columns_of_their_tables(spark: SparkSession) -> None:
    frames = read(spark, BUNDLED)
    for table in ingest.WRITES:
        declared, actual = spark.createDataFrame([], table.columns).schema, frames[table.name].schema
        assert [(field.name, field.dataType) for field in actual] == [(field.name, field.dataType) for field in declared], table.name


@pytest.mark.parametrize("chunk_bytes", [1 << 30, 999])
def test_workers_give_the_same_rows_as_the_driver(spark: SparkSession, chunk_bytes: int) -> None:
    source = SNAPSHOTS / "night-before"  # it has a policy
    from_driver, from_workers = read(spark, source), read(spark, source, scale=Scale.LARGE, chunk_bytes=chunk_bytes)
    for table in ingest.WRITES:
        actual, expected = (frames[table.name].toArrow().sort_by("cluster_id") for frames in (from_workers, from_driver))
        assert actual.to_pylist() == expected.to_pylist(), table.name
        assert len(expected) > 0 or table in (REJECTED_INPUT, PARTITION_LOAD, CONFIG, CLIENT_QUOTA, ACL, PROPOSED_REASSIGNMENT)


@pytest.mark.parametrize("chunk_bytes", [1 << 30, 300_000])
def test_large_text_gives_the_same_tables_in_chunks(spark: SparkSession, tmp_path: Path, chunk_bytes: int) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        lines = "".join(PARTITION_LINE.replace(": t", f": {name}-{topic}") for topic in range(15_000))
        (tmp_path / name / "topics").write_text(lines + PARTITION_LINE.replace(": t", f": {name}-0") + "garbage\n")
    tables = read(spark, tmp_path, scale=Scale.LARGE, chunk_bytes=chunk_bytes)
    assert tables[PARTITION.name].count() == tables[REPLICA.name].count() // 2 == 45_000
    assert {
        tuple(tuple(value) if isinstance(value, list) else value for value in row)[1:]
        for row in tables[PARTITION.name].where("topic LIKE '%-7'").collect()
    } == {(name, f"{name}-7", 0, 1, (1, 2), (1, 2), (), (), None, None, None, None, None, (None, None)) for name in ("a", "b", "c")}
    rejected = tables[REJECTED_INPUT.name].select("cluster_id", "line", "text", "reason").orderBy("cluster_id", "line").collect()
    assert [tuple(row) for row in rejected if row.cluster_id == "b"] == [
        ("b", 1, PARTITION_LINE.strip("\n").replace(": t", ": b-0"), "repeated in line 15001"),
        ("b", 15_002, "garbage", "neither a topic line nor a partition line"),
    ]


def test_bundled_clusters_match_their_readme(spark: SparkSession) -> None:
    frames = read(spark, BUNDLED)
    assert [(row.cluster_id, row.controller, row.elr) for row in frames[CLUSTER.name].orderBy("cluster_id").collect()] == [
        ("orders-eu", "kraft", True),
        ("payments-us", "kraft", True),
    ]
    assert [tuple(row) for row in frames[BROKER.name].select("broker_id", "rack", "live").orderBy("broker_id").collect()] == [
        (1, "rack-a", True),
        (2, "rack-b", True),
        (3, "rack-c", True),
        (11, "rack-a", False),
        (12, "rack-b", True),
        (13, "rack-c", True),
    ]
    without_leader = frames[PARTITION.name].where("leader IS NULL").select("topic").distinct()
    assert {row.topic for row in without_leader.collect()} == {"settlement-files", "fx-rates"}
    strict = frames[PARTITION.name].where("topic = 'ledger'").select("elr").distinct().collect()
    assert [row.elr for row in strict] == [[11]]
    assert frames[INPUT_FILE.name].where("format IS NULL OR rejected > 0 OR accepted = 0").count() == 0


def test_every_number_of_the_bundled_dumps_reaches_its_table(spark: SparkSession) -> None:
    """The expected numbers are counted from the text, without the parsers."""
    frames = read(spark, BUNDLED)
    for cluster in ("orders-eu", "payments-us"):
        topics = (BUNDLED / cluster / "kafka-topics.txt").read_text()
        log_dirs = json.loads((BUNDLED / cluster / "kafka-log-dirs.txt").read_text().splitlines()[-1])
        keys = (BUNDLED / cluster / "key-sample.csv").read_text().splitlines()[1:]

        def rows(table: str, cluster: str = cluster) -> DataFrame:
            return frames[table].where(f"cluster_id = '{cluster}'")

        assert rows(PARTITION.name).count() == topics.count("\tPartition: ")
        assert rows(TOPIC.name).count() == topics.count("\tPartitionCount: ")
        logs = [log for broker in log_dirs["brokers"] for log_dir in broker["logDirs"] for log in log_dir["partitions"]]
        assert rows(REPLICA.name).selectExpr("sum(size_bytes)").collect()[0][0] == sum(log["size"] for log in logs)
        broker_logs = [(*log["partition"].rsplit("-", 1), broker["broker"], log["size"]) for broker in log_dirs["brokers"]
                      for log_dir in broker["logDirs"] for log in log_dir["partitions"]]  # fmt: skip
        sized = rows(PARTITION.name).selectExpr("topic", "partition", "inline(arrays_zip(replicas, replica_size_bytes))").collect()
        stored = {(topic, str(partition), broker, size) for topic, partition, broker, size in sized if size is not None}
        assert stored
        assert stored <= set(broker_logs)
        assigned = {(topic, str(partition), broker) for topic, partition, broker, _ in sized}
        assert len(stored) == sum(key[:3] in assigned for key in broker_logs)
        assert rows(KEY_SAMPLE.name).selectExpr("sum(records)").collect()[0][0] == sum(int(line.rsplit(",", 2)[1]) for line in keys)
        members = (BUNDLED / cluster / "kafka-consumer-groups-members.txt").read_text().splitlines()
        assigned = sum(int(line.split()[-5]) for line in members if line.strip() and not line.startswith("GROUP"))
        assert rows(OBSERVED_ASSIGNMENT.name).count() == assigned


@pytest.mark.parametrize("scale", Scale)
def test_unreadable_files_do_not_affect_others(spark: SparkSession, tmp_path: Path, scale: Scale) -> None:
    for name, data in {
        "good/topics.gz": gzip.compress(PARTITION_LINE.encode()),
        "good/.DS_Store": b"\0",
        "good/empty": b"",
        "sick/garbage": bytes(range(256)) * 9,
        "sick/torn.gz": gzip.compress(b"x" * 999)[:20],
        "silent/.keep": b"",
        "LICENSE": b"free",
        ".git/config": b"x",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    frames = read(spark, tmp_path, scale=scale)
    assert {row.cluster_id: row.sources for row in frames[CLUSTER.name].collect()} == {"good": ["kafka-topics"]}
    files = frames[INPUT_FILE.name].select("cluster_id", "file", "format", "entries", "accepted", "rejected").orderBy("cluster_id", "file")
    assert [tuple(row) for row in files.collect()] == [
        (".", ".git", None, 1, 0, 1),
        (".", "LICENSE", None, 1, 0, 1),
        ("good", ".DS_Store", None, 0, 0, 0),
        ("good", "empty", None, 0, 0, 0),
        ("good", "topics.gz", "kafka-topics", 1, 1, 0),
        ("sick", "garbage", None, 1, 0, 1),
        ("sick", "torn.gz", None, 1, 0, 1),
        ("silent", ".keep", None, 0, 0, 0),
    ]
    assert [(row.file, row.reason.split(":")[0]) for row in frames[REJECTED_INPUT.name].orderBy("file").collect()] == [
        (".git", "a folder whose name starts with a dot is no cluster"),
        ("LICENSE", "is beside the folders of the clusters"),
        ("garbage", "unknown format"),
        ("torn.gz", "cannot be read"),
    ]
    assert [tuple(row) for row in frames[PARTITION.name].collect()] == [
        ("2026-11-21", "good", "t", 0, 1, [1, 2], [1, 2], [], [], None, None, None, None, None, [None, None])
    ]


def test_writing_the_rows_twice_gives_the_same_tables(spark: SparkSession, tmp_path: Path) -> None:
    """Delta rejects a null in a NOT NULL column, a column of another type, and a row of another snapshot."""
    lake = open_lake(tmp_path.as_uri(), lambda: spark)
    attempt = {"snapshot_id": "2026-11-21", "attempt_id": "1"}
    with lake.computed(ingest.read(lambda: spark, str(BUNDLED), "2026-11-21", Scale.LARGE), **attempt) as computed:
        from_workers = dict(zip(ingest.WRITES, computed, strict=True))
        from_driver = read(spark, BUNDLED)
        for table in (CLUSTER, REPLICA, KEY_SAMPLE):
            lake.create(table)
            for rows in (from_workers[table], from_driver[table.name]):
                lake.replace(table, rows, **attempt)
                assert lake.read(table).count() == from_driver[table.name].count()


def test_workers_write_the_same_rows_as_the_driver(spark: SparkSession, tmp_path: Path) -> None:
    """The workers write Parquet files, which delta-rs and Spark read and replace; rows of another night remain."""
    nights = ("2026-11-20", "2026-11-21T02:00")
    folder_lake, spark_lake = open_lake(str(tmp_path), lambda: spark), open_lake(tmp_path.as_uri(), lambda: spark)
    driver_tables = {night: dict(zip(ingest.WRITES, ingest.read(lambda: spark, str(BUNDLED), night), strict=True)) for night in nights}
    for night in (*nights, nights[1]):
        attempt = {"snapshot_id": night, "attempt_id": "1"}
        with folder_lake.computed(ingest.read(lambda: spark, str(BUNDLED), night, Scale.LARGE), **attempt) as files:
            for table, table_files in zip(ingest.WRITES, files, strict=True):
                folder_lake.create(table)
                folder_lake.replace(table, table_files, **attempt)
    for table in ingest.WRITES:
        expected = sorted([row for rows in driver_tables.values() for row in rows[table].to_pylist()], key=str)
        assert sorted(folder_lake.read_local(table).to_pylist(), key=str) == expected, table.name
        if table in (CLUSTER, TOPIC, PARTITION, KEY_SAMPLE):  # which have all types of columns among them
            assert (
                sorted(spark.read.format("delta").load(spark_lake.path(table)).drop("attempt_id").toArrow().to_pylist(), key=str)
                == expected
            ), table.name
    spark_lake.replace(PARTITION, driver_tables[nights[1]][PARTITION].slice(0, 5), snapshot_id=nights[1], attempt_id="1")
    folder_lake.replace(REPLICA, [], snapshot_id=nights[1], attempt_id="1")
    assert len(folder_lake.read_local(PARTITION, snapshot_id=nights[1]).to_pylist()) == 5
    assert len(folder_lake.read_local(PARTITION).to_pylist()) == 5 + len(driver_tables[nights[0]][PARTITION])
    assert {row["snapshot_id"] for row in folder_lake.read_local(REPLICA).to_pylist()} == {nights[0]}
