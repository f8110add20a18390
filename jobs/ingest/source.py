"""The clusters of a source, their files, and the bytes of the files: the only input of the ingest.

A source is a folder, or a URI that pyarrow can open (s3://, gs://, hdfs://, file://). Each folder in it is a cluster with the folder's name,
and all files below that folder are the cluster's dumps. A source without folders is one cluster with the name of the source. Files beside the
folders, and folders whose name cannot be a cluster id, are reported under the cluster id `.`, which has no row in `cluster`. The file
`topology-audit.toml` beside them is the configuration of the clusters (configuration.py).

Folders are listed one by one, so that an unreadable file or folder affects no other: it becomes a file with an obstacle.
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath

import pyarrow as pa
from pyarrow import fs

from jobs.errors import AuditError, NothingReadable, listed
from jobs.ingest.configuration import EMPTY, FILE, NOT_CONFIGURED, ClusterConfiguration, Configuration, parse_configuration
from jobs.schema import BESIDE, FOLDER

_COMPRESSED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_PART_BYTES = 1 << 20
_HEAD_BYTES = 4 << 20  # enough to recognise the format of a file in any encoding
_LINE_BYTES = 1 << 12
_EPOCH = datetime.fromtimestamp(0, UTC)
_MOST_BYTES = 1 << 30  # the limit for a decompressed file: a larger one could be a zip bomb
_NOT_REGULAR = "not a regular file"
_FIRST_SURROGATE, _LAST_SURROGATE = "\ud800\udfff"  # Python decodes bytes of a file name that are not UTF-8 to surrogates


@dataclass(frozen=True, slots=True)
class DumpFile:
    """A file of a cluster; its name is the path below the cluster's folder."""

    name: str
    path: str
    size_bytes: int
    written_at: datetime
    obstacle: str | None = None  # why the file cannot be read, if the listing shows it


@dataclass(frozen=True, slots=True)
class ClusterFolder:
    """A cluster, its files sorted by name, and what is configured about it."""

    cluster_id: str
    files: tuple[DumpFile, ...]
    configuration: ClusterConfiguration = NOT_CONFIGURED

    @property
    def size_bytes(self) -> int:
        """Return the size of all files."""
        return sum(file.size_bytes for file in self.files)


class UnreadableFile(Exception):
    """The reason why a file cannot be read."""


def list_clusters(source: str) -> list[ClusterFolder]:
    """Return the clusters of a source by name; files and folders that belong to no cluster are under the cluster id `.`."""
    try:
        system, root = filesystem(source)
        info = system.get_file_info(root)
        if info.type == fs.FileType.NotFound:
            raise AuditError(f"source {source} does not exist: name a folder that has a folder of dumps for each cluster")
        if info.type != fs.FileType.Directory:
            raise AuditError(f"source {source} is not a folder: name the folder that contains it")
        loose_files, folders = _list_local(root) if isinstance(system, fs.LocalFileSystem) else _list_remote(system, root)
    except (OSError, ValueError, ImportError) as e:
        raise AuditError(f"source {source} cannot be read: {e}".splitlines()[0]) from e
    loose_files, configuration = _split_configuration(system, loose_files)
    if not loose_files and not folders:
        raise NothingReadable(f"source {source} contains no file: put the dumps of each cluster in a folder with the cluster's name")
    outside = [DumpFile(_printable(name), "", 0, _EPOCH, obstacle) for name in folders if (obstacle := _name_obstacle(name))]
    clusters = {name: files for name, files in folders.items() if not _name_obstacle(name)}
    if clusters:
        outside += [replace(file, obstacle="is beside the folders of the clusters: move it into one") for file in loose_files]
    else:
        clusters = {_printable(PurePosixPath(root).name) or "source": loose_files}
    if unused := configuration.without_cluster(clusters):
        outside.append(DumpFile(FILE, "", 0, _EPOCH, f"configures clusters without a folder: {listed(unused)}"))
    files_by_cluster = [(BESIDE, outside)] if outside else []
    files_by_cluster += [
        (name, files or [DumpFile(FOLDER, "", 0, _EPOCH, "the folder contains no file")]) for name, files in sorted(clusters.items())
    ]
    return [
        ClusterFolder(name, tuple(sorted(files, key=lambda file: file.name)), configuration.of_cluster(name))
        for name, files in files_by_cluster
    ]


def _split_configuration(system: fs.FileSystem, loose_files: list[DumpFile]) -> tuple[list[DumpFile], Configuration]:
    """Return the other files beside the folders of the clusters, and the configuration."""
    configuration = EMPTY
    for file in loose_files:
        if file.name == FILE:
            try:
                configuration = parse_configuration(read_bytes(system, file))
            except UnreadableFile as e:
                raise AuditError(f"{FILE} {e}") from e
    return [file for file in loose_files if file.name != FILE], configuration


def filesystem(source: str) -> tuple[fs.FileSystem, str]:
    """Return the file system of a source, and its path there."""
    if "://" in source:
        system, path = fs.FileSystem.from_uri(source)
        return system, path.rstrip("/") or "/"
    return fs.LocalFileSystem(), os.path.abspath(source)


def read_bytes(system: fs.FileSystem, file: DumpFile) -> bytes:
    """Return the bytes of a file, decompressed if it is a gzip or zstd file."""
    if file.obstacle:
        raise UnreadableFile(file.obstacle)
    if file.size_bytes > _MOST_BYTES:
        raise UnreadableFile(f"larger than {_MOST_BYTES} bytes")
    try:
        with system.open_input_file(file.path) as stream:
            data = stream.read()
        codec = next((codec for magic, codec in _COMPRESSED.items() if data.startswith(magic)), None)
        return data if codec is None else _decompressed(data, codec)
    except (OSError, EOFError, zlib.error) as e:
        raise UnreadableFile(f"cannot be read: {e}".splitlines()[0]) from e


def read_head(system: fs.FileSystem, file: DumpFile) -> bytes | None:
    """Return the start of a file; None if the file is compressed or cannot be read."""
    if file.obstacle or file.size_bytes > _MOST_BYTES:
        return None
    with system.open_input_file(file.path) as stream:
        head = stream.read(_HEAD_BYTES)
    return None if any(head.startswith(magic) for magic in _COMPRESSED) else head


def read_lines(system: fs.FileSystem, file: DumpFile, start: int, end: int) -> bytes:
    """Return the lines of a file that start in the bytes from `start` to `end`, `end` not included."""
    with system.open_input_file(file.path) as stream:
        stream.seek(max(start - 1, 0))
        data = stream.read(end - max(start - 1, 0))
        if start:  # a line that starts before `start` belongs to the previous chunk
            data = data[data.find(b"\n") + 1 :] if b"\n" in data else b""
        parts = [data]
        while parts[-1] and not parts[-1].endswith(b"\n"):
            part = stream.read(_LINE_BYTES)
            parts.append(part[: part.find(b"\n") + 1] if b"\n" in part else part)
    return b"".join(parts)


@dataclass(slots=True)
class LazyBytes:
    """The bytes of a file, read at the first access."""

    system: fs.FileSystem
    file: DumpFile
    data: bytes | None = None

    def __getitem__(self, part: slice) -> bytes:
        if self.data is None:
            self.data = read_bytes(self.system, self.file)
        return self.data[part]


def _decompressed(data: bytes, codec: str) -> bytes:
    # Python's gzip module reports a truncated file; pyarrow returns its readable part without an error.
    with gzip.open(io.BytesIO(data)) if codec == "gzip" else pa.CompressedInputStream(pa.BufferReader(data), codec) as stream:
        parts, size = [], 0
        while part := stream.read(_PART_BYTES):
            parts.append(part)
            size += len(part)
            if size > _MOST_BYTES:
                raise UnreadableFile(f"larger than {_MOST_BYTES} bytes when decompressed")
    return b"".join(parts)


def _list_local(root: str) -> tuple[list[DumpFile], dict[str, list[DumpFile]]]:
    """Return the files in a local folder, and the files below each of its folders by folder name."""
    resolved = Path(root).resolve()
    # A link to the root or to a folder that contains it would make the listing endless.
    ancestors = [os.stat(folder) for folder in (resolved, *resolved.parents)]
    visited = {(folder.st_dev, folder.st_ino) for folder in ancestors}
    loose_files, folders = [], {}
    for name in os.listdir(root):
        path = os.path.join(root, name)
        if not os.path.isdir(path):
            loose_files += _list_below(path, name, set())
        else:
            folders[name] = [] if _name_obstacle(name) else _list_below(path, "", set(visited))
    return loose_files, folders


def _list_below(path: str, name: str, visited: set[tuple[int, int]]) -> list[DumpFile]:
    """Return a local file by itself, or all files below a folder; `visited` has the device and inode of each listed folder."""
    files: list[DumpFile] = []
    pending, links = [(path, name)], []
    while pending or links:  # links last, so that a folder with a link to it is listed under its own name
        path, name = (pending or links).pop()
        shown_name = _printable(name) or FOLDER
        if any(_FIRST_SURROGATE <= character <= _LAST_SURROGATE for character in name):
            files.append(DumpFile(shown_name, path, 0, _EPOCH, "its name is not UTF-8: rename it"))
            continue
        try:
            status = os.stat(path)
            if stat.S_ISDIR(status.st_mode):
                if (status.st_dev, status.st_ino) in visited:
                    files.append(DumpFile(shown_name, path, 0, _EPOCH, "a link to a folder that contains it, or is listed already"))
                    continue
                visited.add((status.st_dev, status.st_ino))
                for entry in sorted(os.listdir(path)):
                    entry_path = os.path.join(path, entry)
                    (links if os.path.islink(entry_path) else pending).append((entry_path, f"{name}/{entry}" if name else entry))
                continue
            written_at = _EPOCH + timedelta(microseconds=status.st_mtime_ns // 1000)
            files.append(DumpFile(shown_name, path, status.st_size, written_at, None if stat.S_ISREG(status.st_mode) else _NOT_REGULAR))
        except OSError as e:
            files.append(DumpFile(shown_name, path, 0, _EPOCH, f"{'' if name else 'the folder '}cannot be read: {e.strerror}"))
    return files


def _list_remote(system: fs.FileSystem, root: str) -> tuple[list[DumpFile], dict[str, list[DumpFile]]]:
    """Return the files in a folder of other storage, and the files below each of its folders by folder name."""
    loose_files, folders = [], {}
    for info in system.get_file_info(fs.FileSelector(root)):
        if info.type != fs.FileType.Directory:
            loose_files += _remote_files([info], root)
        elif _name_obstacle(info.base_name):
            folders[info.base_name] = []
        else:
            try:
                infos = system.get_file_info(fs.FileSelector(info.path, recursive=True))
                folders[info.base_name] = _remote_files(infos, info.path)
            except OSError as e:
                folders[info.base_name] = [DumpFile(FOLDER, info.path, 0, _EPOCH, f"the folder cannot be read: {e}".splitlines()[0])]
    return loose_files, folders


def _remote_files(infos: Iterable[fs.FileInfo], folder: str) -> list[DumpFile]:
    return [
        DumpFile(
            _printable(str(PurePosixPath(info.path).relative_to(folder))),
            info.path,
            info.size or 0,
            info.mtime or _EPOCH,
            None if info.type == fs.FileType.File else _NOT_REGULAR,
        )
        for info in infos
        if info.type != fs.FileType.Directory
    ]


def _name_obstacle(folder: str) -> str | None:
    """Return why a folder's name cannot be a cluster id; None if it can."""
    if folder.startswith("."):
        return "a folder whose name starts with a dot is no cluster: rename it if it contains dumps"
    return None if folder.isprintable() else "the name of a cluster must be printable UTF-8: rename the folder"


def _printable(name: str) -> str:
    """Return a file or folder name in characters that a table can store and a terminal can print."""
    text = os.fsencode(name).decode("utf-8", "backslashreplace")
    return "".join(character if character.isprintable() else character.encode("unicode_escape").decode() for character in text)
