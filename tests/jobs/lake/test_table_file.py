"""Parquet files that workers write: their rows and statistics, and the rows that they reject."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jobs.lake.table_file import TableFileWriter
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
