"""Parquet files that workers write: their rows and statistics, and the rows that they reject."""

import json
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jobs.engine import DuckdbEngine
from jobs.lake.table_file import TableFile, TableFileWriter, write_duckdb_rows
from jobs.schema import LOG_DIR

NIGHT = {"snapshot_id": "2026-11-21T02:00", "attempt_id": "1"}
COLUMNS = list(LOG_DIR.schema)[1:]


def rows(*values: tuple[str | None, int, str]) -> pa.Table:
    nullable = pa.schema([field.with_nullable(True) for field in COLUMNS])
    return pa.Table.from_pylist(
        [{"cluster_id": cluster_id, "broker_id": broker_id, "log_dir": log_dir} for cluster_id, broker_id, log_dir in values], nullable
    )


def test_rows_in_pieces_become_one_file_with_the_statistics_of_all_rows(tmp_path: Path) -> None:
    writer = TableFileWriter(str(tmp_path), NIGHT, LOG_DIR)
    writer.write(rows(("b", 7, "/z"), ("é", 1, "/d")))
    writer.write(rows(("a", 10, "/y")))
    file = writer.close()
    written = tmp_path / "log_dir" / file.path
    assert written.parent == tmp_path / "log_dir" / "snapshot_id=2026-11-21T02%3A00" / "attempt_id=1"
    assert file.size_bytes == written.stat().st_size
    assert json.loads(file.stats) == {
        "numRecords": 3,
        "minValues": {"cluster_id": "a", "broker_id": 1, "log_dir": "/d"},
        "maxValues": {"cluster_id": "é", "broker_id": 10, "log_dir": "/z"},
    }
    assert pq.read_table(written, partitioning=None)["broker_id"].to_pylist() == [7, 1, 10]
    assert pq.ParquetFile(written).num_row_groups == 1


def test_min_and_max_cover_all_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs.lake.table_file._ROW_GROUP_BYTES", 1)
    writer = TableFileWriter(str(tmp_path), NIGHT, LOG_DIR)
    for broker_id in (5, 2, 9):
        writer.write(rows(("c", broker_id, "/d" if broker_id == 5 else "/d" * 9_000)))
    file = writer.close()
    assert pq.ParquetFile(tmp_path / "log_dir" / file.path).num_row_groups == 3
    # Parquet stores no min and max of texts that are this long.
    assert json.loads(file.stats) == {
        "numRecords": 3,
        "minValues": {"cluster_id": "c", "broker_id": 2},
        "maxValues": {"cluster_id": "c", "broker_id": 9},
    }


def test_a_null_in_a_column_that_is_not_null_is_rejected(tmp_path: Path) -> None:
    writer = TableFileWriter(str(tmp_path), NIGHT, LOG_DIR)
    with pytest.raises(ValueError, match="null"):
        writer.write(rows((None, 1, "/d")))


def test_dictionaries_of_texts_are_written_as_texts(tmp_path: Path) -> None:
    writer = TableFileWriter(str(tmp_path), NIGHT, LOG_DIR)
    pieces = [rows(("b", 7, "/z"), ("a", 1, "/d"), ("b", 2, "/d")), rows(("c", 3, "/e"))]
    for piece in pieces:
        writer.write(piece.set_column(0, "cluster_id", piece["cluster_id"].dictionary_encode()))
    file = writer.close()
    written = pq.read_table(tmp_path / "log_dir" / file.path, partitioning=None)
    assert written.schema.field("cluster_id").type == pa.string()
    assert written["cluster_id"].to_pylist() == ["b", "a", "b", "c"]
    assert json.loads(file.stats)["minValues"] == {"cluster_id": "a", "broker_id": 1, "log_dir": "/d"}


def test_a_file_without_rows_can_be_read(tmp_path: Path) -> None:
    file = TableFileWriter(str(tmp_path), NIGHT, LOG_DIR).close()
    assert pq.read_table(tmp_path / "log_dir" / file.path, partitioning=None).num_rows == 0


def written_by_duckdb(folder: Path, given: pa.Table) -> TableFile:
    return write_duckdb_rows(DuckdbEngine().from_arrow(given), str(folder), NIGHT, LOG_DIR)


def test_duckdb_writes_a_file_with_the_declared_columns_and_statistics(tmp_path: Path) -> None:
    given = rows(("b", 7, "/z"), ("é", 1, "/d"), ("a", 10, "/y")).append_column("snapshot_id", pa.array([NIGHT["snapshot_id"]] * 3))
    file = written_by_duckdb(tmp_path, given.set_column(1, "broker_id", pa.array([7, 1, 10], pa.int64())))
    written = tmp_path / "log_dir" / file.path
    assert written.parent == tmp_path / "log_dir" / "snapshot_id=2026-11-21T02%3A00" / "attempt_id=1"
    assert file.size_bytes == written.stat().st_size
    assert json.loads(file.stats) == {
        "numRecords": 3,
        "minValues": {"cluster_id": "a", "broker_id": 1, "log_dir": "/d"},
        "maxValues": {"cluster_id": "é", "broker_id": 10, "log_dir": "/z"},
    }
    stored = pq.read_table(written, partitioning=None)
    assert [(field.name, field.type) for field in stored.schema] == [(field.name, field.type) for field in COLUMNS]
    assert sorted(stored["broker_id"].to_pylist()) == [1, 7, 10]


def test_the_statistics_of_duckdb_include_every_long_text(tmp_path: Path) -> None:
    file = written_by_duckdb(tmp_path, rows(("c", 5, "/" + "d" * 9_000), ("c", 6, "/" + "e" * 9_000)))
    stats = json.loads(file.stats)
    assert stats["minValues"].get("log_dir", "") <= "/" + "d" * 9_000
    assert stats["maxValues"].get("log_dir", "\uffff") >= "/" + "e" * 9_000


def test_a_null_that_duckdb_computes_in_a_column_that_is_not_null_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(duckdb.Error, match="column cluster_id has a null"):
        written_by_duckdb(tmp_path, rows((None, 1, "/d")))


def test_a_file_of_duckdb_without_rows_can_be_read(tmp_path: Path) -> None:
    file = written_by_duckdb(tmp_path, rows())
    assert pq.read_table(tmp_path / "log_dir" / file.path, partitioning=None).num_rows == 0
    assert json.loads(file.stats)["numRecords"] == 0
