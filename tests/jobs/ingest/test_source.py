"""Listing the clusters of a source and their files, and reading the bytes of a file."""

import gzip
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import fs

from jobs.errors import AuditError
from jobs.ingest import source
from jobs.ingest.source import UnreadableFile, filesystem, list_clusters, read_bytes, read_head, read_lines


def write(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"x")
    return folder


def files(clusters: list[source.ClusterFolder]) -> dict[str, list[str]]:
    return {cluster.cluster_id: [file.name for file in cluster.files] for cluster in clusters}


def test_each_folder_is_a_cluster_with_all_files_below_it(tmp_path: Path) -> None:
    write(tmp_path, "a/topics", "a/deep/er/topics.txt", "b/ünï code", "b/a/x")
    assert files(list_clusters(str(tmp_path))) == {"a": ["deep/er/topics.txt", "topics"], "b": ["a/x", "ünï code"]}


def test_source_without_folders_is_one_cluster_of_its_own_name(tmp_path: Path) -> None:
    write(tmp_path / "prod", "topics", "groups")
    assert files(list_clusters(f"{tmp_path}/prod/")) == {"prod": ["groups", "topics"]}


def test_uri_is_read_like_a_path(tmp_path: Path) -> None:
    write(tmp_path, "a/topics")
    assert files(list_clusters(f"file://{tmp_path}")) == {"a": ["topics"]}


def test_relative_source_is_resolved_from_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "prod", "topics")
    monkeypatch.chdir(tmp_path / "prod")
    assert files(list_clusters(".")) == {"prod": ["topics"]}


def test_files_beside_clusters_and_hidden_folders_are_listed_separately(tmp_path: Path) -> None:
    write(tmp_path, "a/topics", "README", ".git/config", ".git/objects/1")
    assert files(list_clusters(str(tmp_path))) == {".": [".git", "README"], "a": ["topics"]}


def test_hidden_folder_is_not_a_cluster(tmp_path: Path) -> None:
    write(tmp_path / "prod", "topics", ".git/config")
    assert files(list_clusters(str(tmp_path / "prod"))) == {".": [".git"], "prod": ["topics"]}


def obstacles(clusters: list[source.ClusterFolder]) -> dict[tuple[str, str], str]:
    return {(cluster.cluster_id, file.name): file.obstacle for cluster in clusters for file in cluster.files if file.obstacle}


def test_cluster_folder_without_files_is_a_cluster_with_a_reason(tmp_path: Path) -> None:
    (write(tmp_path, "a/topics") / "b" / "c").mkdir(parents=True)
    clusters = list_clusters(str(tmp_path))
    assert files(clusters) == {"a": ["topics"], "b": ["."]}
    assert obstacles(clusters) == {("b", "."): "the folder contains no file"}


def test_file_or_folder_beside_the_clusters_has_a_reason(tmp_path: Path) -> None:
    write(tmp_path, "a/topics", "README.md", ".DS_Store", ".git/config", "..x/topics", "b\nc/topics")
    (tmp_path / "gone").symlink_to("nowhere")
    clusters = list_clusters(str(tmp_path))
    assert files(clusters) == {".": ["..x", ".DS_Store", ".git", "README.md", "b\\nc", "gone"], "a": ["topics"]}
    dot = "a folder whose name starts with a dot is no cluster: rename it if it contains dumps"
    beside = "is beside the folders of the clusters: move it into one"
    assert obstacles(clusters) == {
        (".", "..x"): dot,
        (".", ".DS_Store"): beside,
        (".", ".git"): dot,
        (".", "README.md"): beside,
        (".", "b\\nc"): "the name of a cluster must be printable UTF-8: rename the folder",
        (".", "gone"): beside,
    }


def test_name_that_is_not_utf_8_rejects_only_its_file_or_folder(tmp_path: Path) -> None:
    write(tmp_path, "a/topics", os.fsdecode(b"a/\xff"), os.fsdecode(b"a/\xfe/topics"), os.fsdecode(b"\xfd/topics"))
    clusters = list_clusters(str(tmp_path))
    assert files(clusters) == {".": ["\\xfd"], "a": ["\\xfe", "\\xff", "topics"]}
    assert obstacles(clusters) == {
        (".", "\\xfd"): "the name of a cluster must be printable UTF-8: rename the folder",
        ("a", "\\xfe"): "its name is not UTF-8: rename it",
        ("a", "\\xff"): "its name is not UTF-8: rename it",
    }


def test_control_characters_of_a_name_are_escaped(tmp_path: Path) -> None:
    write(tmp_path, "a/two\nlines", "a/\x1b[31mred")
    (cluster,) = list_clusters(str(tmp_path))
    assert [file.name for file in cluster.files] == ["\\x1b[31mred", "two\\nlines"]
    assert [read_bytes(fs.LocalFileSystem(), file) for file in cluster.files] == [b"x", b"x"]


def test_links_in_a_circle_are_followed_once(tmp_path: Path) -> None:
    write(tmp_path, "a/topics", "b/topics", "c/topics")
    for link, target in {"a/up": "..", "a/top": "/", "a/itself": "itself", "a/gone": "nowhere", "b/x": "../c", "c/y": "../b"}.items():
        (tmp_path / link).symlink_to(target)
    clusters = list_clusters(str(tmp_path))
    assert files(clusters) == {
        "a": ["gone", "itself", "top", "topics", "up"],
        "b": ["topics", "x/topics", "x/y"],
        "c": ["topics", "y/topics", "y/x"],
    }
    repeated_link = "a link to a folder that contains it, or is listed already"
    assert obstacles(clusters) == {
        ("a", "gone"): "cannot be read: No such file or directory",
        ("a", "itself"): "cannot be read: Too many levels of symbolic links",
        ("a", "top"): repeated_link,
        ("a", "up"): repeated_link,
        ("b", "x/y"): repeated_link,
        ("c", "y/x"): repeated_link,
    }


def test_folder_with_a_link_to_it_beside_it_is_listed_by_its_own_name(tmp_path: Path) -> None:
    write(tmp_path, "a/newest/topics")
    (tmp_path / "a" / "latest").symlink_to("newest")
    (tmp_path / "a" / "other").symlink_to("newest")
    assert files(list_clusters(str(tmp_path))) == {"a": ["latest", "newest/topics", "other"]}


@contextmanager
def as_ordinary_user() -> Iterator[None]:
    """Run as user nobody: root can read every folder."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_unreadable_folder_affects_no_other() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        write(Path(folder), "a/topics", "a/shut/groups", "b/topics")
        closed = [Path(folder, "a", "shut"), Path(folder, "b")]
        for path in closed:
            path.chmod(0)
        with as_ordinary_user():
            clusters = list_clusters(folder)
        for path in closed:
            path.chmod(0o755)
    assert files(clusters) == {"a": ["shut", "topics"], "b": ["."]}
    denied = "cannot be read: Permission denied"
    assert obstacles(clusters) == {("a", "shut"): denied, ("b", "."): f"the folder {denied}"}


def test_other_storage_is_listed_like_a_local_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "s/a/deep/topics", "s/.git/config", "s/README")
    (tmp_path / "s" / "b").mkdir()
    local_clusters = list_clusters(str(tmp_path / "s"))
    storage = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())  # pyarrow does not treat it as a local file system
    monkeypatch.setattr(source, "filesystem", lambda uri: (storage, "s"))
    remote_clusters = list_clusters("s")
    assert (files(remote_clusters), obstacles(remote_clusters)) == (files(local_clusters), obstacles(local_clusters))
    (topics,) = remote_clusters[1].files
    assert (topics.size_bytes, read_bytes(storage, topics)) == (1, b"x")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing", "does not exist"),
        ("a/topics", "is not a folder"),
        ("nothing", "contains no file"),
        ("nosuch://x/y", "cannot be read"),
    ],
)
def test_unreadable_source_fails_with_one_line(tmp_path: Path, name: str, message: str) -> None:
    write(tmp_path, "a/topics")
    (tmp_path / "nothing").mkdir()
    with pytest.raises(AuditError) as error:
        list_clusters(name if "://" in name else str(tmp_path / name))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def bytes_of(folder: Path) -> bytes:
    system, _ = filesystem(str(folder))
    [cluster] = list_clusters(str(folder))
    [file] = cluster.files
    return read_bytes(system, file)


def test_gzip_file_of_any_name_is_decompressed(tmp_path: Path) -> None:
    (tmp_path / "topics.txt").write_bytes(gzip.compress(b"one\n") + gzip.compress(b"two\n"))
    assert bytes_of(tmp_path) == b"one\ntwo\n"


def zstd(data: bytes) -> bytes:
    compressed = pa.BufferOutputStream()
    with pa.CompressedOutputStream(compressed, "zstd") as stream:
        stream.write(data)
    return compressed.getvalue().to_pybytes()


def test_zstd_file_of_any_name_is_decompressed(tmp_path: Path) -> None:
    (tmp_path / "topics.txt").write_bytes(zstd(b"one\n") + zstd(b"two\n"))
    assert bytes_of(tmp_path) == b"one\ntwo\n"


@pytest.mark.parametrize("cut", [slice(0, 4), slice(0, 9), slice(0, -1)])
def test_cut_zstd_file_has_a_reason(tmp_path: Path, cut: slice) -> None:
    (tmp_path / "topics").write_bytes(zstd(b"one\n" * 100)[cut])
    with pytest.raises(UnreadableFile, match="cannot be read: "):
        bytes_of(tmp_path)


@pytest.mark.parametrize("cut", [slice(0, 3), slice(0, 12), slice(0, -4)])
def test_cut_gzip_file_has_a_reason(tmp_path: Path, cut: slice) -> None:
    (tmp_path / "topics").write_bytes(gzip.compress(b"one\n" * 100)[cut])
    with pytest.raises(UnreadableFile, match="cannot be read: "):
        bytes_of(tmp_path)


def test_zip_bomb_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "_MOST_BYTES", 1000)
    for compressed in (gzip.compress(b"\0" * 1001), zstd(b"\0" * 1001)):
        (tmp_path / "topics").write_bytes(compressed)
        with pytest.raises(UnreadableFile, match="larger than 1000 bytes when decompressed"):
            bytes_of(tmp_path)
    (tmp_path / "topics").write_bytes(b"\0" * 1001)
    with pytest.raises(UnreadableFile, match="larger than 1000 bytes"):
        bytes_of(tmp_path)


def test_pipe_is_rejected_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UnreadableFile, match="not a regular file"):
        bytes_of(tmp_path)


def test_deleted_file_has_a_reason(tmp_path: Path) -> None:
    write(tmp_path, "topics")
    [cluster] = list_clusters(str(tmp_path))
    (tmp_path / "topics").unlink()
    with pytest.raises(UnreadableFile, match="cannot be read: "):
        read_bytes(fs.LocalFileSystem(), cluster.files[0])


def test_dangling_link_is_one_unreadable_file(tmp_path: Path) -> None:
    (tmp_path / "topics").symlink_to(tmp_path / "nowhere")
    with pytest.raises(UnreadableFile, match="cannot be read: No such file or directory"):
        bytes_of(tmp_path)


@pytest.mark.parametrize("data", [b"", b"\n", b"a", b"ab\ncd\n\nefg", b"ab\r\ncd\n", b"\n\n\nabc\n" + b"x" * 5000 + b"\ny"])
@pytest.mark.parametrize("step", [1, 2, 3, 1000])
def test_chunks_contain_every_line_once_and_complete(tmp_path: Path, data: bytes, step: int) -> None:
    (tmp_path / "topics").write_bytes(data)
    ((cluster,), (system, _)) = list_clusters(str(tmp_path)), filesystem(str(tmp_path))
    (file,) = cluster.files
    chunks = [read_lines(system, file, start, min(start + step, len(data))) for start in range(0, len(data), step)]
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    starts = [sum(map(len, lines[:number])) for number in range(len(lines))]
    for start, chunk in zip(range(0, len(data), step), chunks, strict=True):
        assert chunk == b"".join(line for line_start, line in zip(starts, lines, strict=True) if start <= line_start < start + step)


def test_compressed_file_has_no_head(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"Topic: t"))
    (tmp_path / "b").write_bytes(b"Topic: t")
    ((cluster,), (system, _)) = list_clusters(str(tmp_path)), filesystem(str(tmp_path))
    assert [read_head(system, file) for file in cluster.files] == [None, b"Topic: t"]
