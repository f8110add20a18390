"""The clusters of a source, their files, and the bytes of these: the only input of the ingest.

A source is a folder, or a URI that pyarrow knows (s3://, gs://, hdfs://, file://). Each of its folders is a cluster of that name, and has
all files below it. A source without folders is one cluster, of its own name. Files beside the clusters' folders belong to no cluster, and
a folder whose name cannot be a cluster id is none: both are reported under the cluster id `.`, for which there is no row of `cluster`.

Folders are listed one by one, so that what cannot be listed or read costs only itself: it is a file with an obstacle.
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

from jobs.errors import AuditError, NothingReadable
from jobs.schema import BESIDE, FOLDER

_COMPRESSED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_PART_BYTES = 1 << 20
_HEAD_BYTES = 4 << 20  # of a file, which has as many characters as its format is known by, however they are encoded
_LINE_BYTES = 1 << 12
_EPOCH = datetime.fromtimestamp(0, UTC)
_MOST_BYTES = 1 << 30  # of a file, decompressed: more is taken for a zip bomb
_NOT_REGULAR = "not a regular file"
_SURROGATES = "\ud800\udfff"  # the first and the last: Python has them for bytes of a name that are not UTF-8


@dataclass(frozen=True, slots=True)
class File:
    """A file of a cluster, by its name below the cluster's folder."""

    name: str
    path: str
    size_bytes: int
    written_at: datetime
    obstacle: str | None = None  # why it cannot be read, if its listing shows that


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster and its files, sorted by name."""

    cluster_id: str
    files: tuple[File, ...]


class NoBytes(Exception):
    """Why the bytes of a file cannot be had."""


def clusters(source: str) -> list[Cluster]:
    """The clusters of a source, sorted by name, and what lies beside them."""
    try:
        system, root = filesystem(source)
        info = system.get_file_info(root)
        if info.type == fs.FileType.NotFound:
            raise AuditError(f"source {source} does not exist: name a folder that has a folder of dumps for each cluster")
        if info.type != fs.FileType.Directory:
            raise AuditError(f"source {source} is no folder: name the folder that holds it")
        loose, folders = _local(root) if isinstance(system, fs.LocalFileSystem) else _remote(system, root)
    except (OSError, ValueError, ImportError) as e:
        raise AuditError(f"source {source} cannot be read: {e}".splitlines()[0]) from e
    if not loose and not folders:
        raise NothingReadable(f"source {source} holds no file: put the dumps of each cluster in a folder of its name")
    beside = [File(_shown(name), "", 0, _EPOCH, why) for name in folders if (why := _no_cluster_id(name))]
    named = {name: files for name, files in folders.items() if not _no_cluster_id(name)}
    if named:
        beside += [replace(file, obstacle="is beside the folders of the clusters: move it into one") for file in loose]
    else:
        named = {_shown(PurePosixPath(root).name) or "source": loose}
    for name, files in named.items():
        named[name] = files or [File(FOLDER, "", 0, _EPOCH, "the folder holds no file")]
    of_cluster = [*([(BESIDE, beside)] if beside else []), *sorted(named.items())]
    return [Cluster(name, tuple(sorted(files, key=lambda file: file.name))) for name, files in of_cluster]


def filesystem(source: str) -> tuple[fs.FileSystem, str]:
    """Where a source lies, and its path there."""
    if "://" in source:
        system, path = fs.FileSystem.from_uri(source)
        return system, path.rstrip("/") or "/"
    return fs.LocalFileSystem(), os.path.abspath(source)


def read_bytes(system: fs.FileSystem, file: File) -> bytes:
    """The bytes of a file, decompressed if it is gzipped or compressed by zstd."""
    if file.obstacle:
        raise NoBytes(file.obstacle)
    if file.size_bytes > _MOST_BYTES:
        raise NoBytes(f"larger than {_MOST_BYTES} bytes")
    try:
        with system.open_input_file(file.path) as opened:
            data = opened.read()
        codec = next((codec for magic, codec in _COMPRESSED.items() if data.startswith(magic)), None)
        return data if codec is None else _decompressed(data, codec)
    except (OSError, EOFError, zlib.error) as e:
        raise NoBytes(f"cannot be read: {e}".splitlines()[0]) from e


def read_head(system: fs.FileSystem, file: File) -> bytes | None:
    """The start of a file; None: it is compressed, or cannot be read."""
    if file.obstacle or file.size_bytes > _MOST_BYTES:
        return None
    with system.open_input_file(file.path) as opened:
        head = opened.read(_HEAD_BYTES)
    return None if any(head.startswith(magic) for magic in _COMPRESSED) else head


def read_lines(system: fs.FileSystem, file: File, start: int, end: int) -> bytes:
    """The lines of a file that start from `start` up to `end`."""
    with system.open_input_file(file.path) as opened:
        opened.seek(max(start - 1, 0))
        data = opened.read(end - max(start - 1, 0))
        if start:  # what runs into it belongs to the stretch before
            data = data[data.find(b"\n") + 1 :] if b"\n" in data else b""
        parts = [data]
        while parts[-1] and not parts[-1].endswith(b"\n"):
            part = opened.read(_LINE_BYTES)
            parts.append(part[: part.find(b"\n") + 1] if b"\n" in part else part)
    return b"".join(parts)


@dataclass(slots=True)
class Bytes:
    """The bytes of a file, read when they are first asked for."""

    system: fs.FileSystem
    file: File
    read: bytes | None = None

    def __getitem__(self, part: slice) -> bytes:
        if self.read is None:
            self.read = read_bytes(self.system, self.file)
        return self.read[part]


def _decompressed(data: bytes, codec: str) -> bytes:
    # Python's own gzip tells a torn file; pyarrow's reads to where it is torn, and says nothing.
    with gzip.open(io.BytesIO(data)) if codec == "gzip" else pa.CompressedInputStream(pa.BufferReader(data), codec) as stream:
        parts, size = [], 0
        while part := stream.read(_PART_BYTES):
            parts.append(part)
            size += len(part)
            if size > _MOST_BYTES:
                raise NoBytes(f"larger than {_MOST_BYTES} bytes when decompressed")
    return b"".join(parts)


def _local(root: str) -> tuple[list[File], dict[str, list[File]]]:
    """The files in a folder of this machine, and those below each of its folders."""
    resolved = Path(root).resolve()
    # A link to one of these would lead back to where the listing began.
    around = [os.stat(folder) for folder in (resolved, *resolved.parents)]
    listed = {(folder.st_dev, folder.st_ino) for folder in around}
    loose, folders = [], {}
    for name in os.listdir(root):
        path = os.path.join(root, name)
        if not os.path.isdir(path):
            loose += _below(path, name, set())
        else:
            folders[name] = [] if _no_cluster_id(name) else _below(path, "", set(listed))
    return loose, folders


def _below(path: str, name: str, listed: set[tuple[int, int]]) -> list[File]:
    """A file of this machine by itself, or all files below a folder; `listed` has the folders that are listed already."""
    files: list[File] = []
    waiting, links = [(path, name)], []
    while waiting or links:  # links last: a folder is listed by its own name
        path, name = (waiting or links).pop()
        shown = _shown(name) or FOLDER
        if any(_SURROGATES[0] <= character <= _SURROGATES[-1] for character in name):
            files.append(File(shown, path, 0, _EPOCH, "its name is not UTF-8: rename it"))
            continue
        try:
            status = os.stat(path)
            if stat.S_ISDIR(status.st_mode):
                if (status.st_dev, status.st_ino) in listed:
                    files.append(File(shown, path, 0, _EPOCH, "a link to a folder that contains it, or is listed already"))
                    continue
                listed.add((status.st_dev, status.st_ino))
                for entry in sorted(os.listdir(path)):
                    below = os.path.join(path, entry)
                    (links if os.path.islink(below) else waiting).append((below, f"{name}/{entry}" if name else entry))
                continue
            written_at = _EPOCH + timedelta(microseconds=status.st_mtime_ns // 1000)
            files.append(File(shown, path, status.st_size, written_at, None if stat.S_ISREG(status.st_mode) else _NOT_REGULAR))
        except OSError as e:
            files.append(File(shown, path, 0, _EPOCH, f"{'' if name else 'the folder '}cannot be read: {e.strerror}"))
    return files


def _remote(system: fs.FileSystem, root: str) -> tuple[list[File], dict[str, list[File]]]:
    """The files in a folder of other storage, and those below each of its folders."""
    loose, folders = [], {}
    for info in system.get_file_info(fs.FileSelector(root)):
        if info.type != fs.FileType.Directory:
            loose += _files([info], root)
        elif _no_cluster_id(info.base_name):
            folders[info.base_name] = []
        else:
            try:
                below = system.get_file_info(fs.FileSelector(info.path, recursive=True))
                folders[info.base_name] = _files(below, info.path)
            except OSError as e:
                folders[info.base_name] = [File(FOLDER, info.path, 0, _EPOCH, f"the folder cannot be read: {e}".splitlines()[0])]
    return loose, folders


def _files(infos: Iterable[fs.FileInfo], folder: str) -> list[File]:
    return [
        File(
            _shown(str(PurePosixPath(info.path).relative_to(folder))),
            info.path,
            info.size or 0,
            info.mtime or _EPOCH,
            None if info.type == fs.FileType.File else _NOT_REGULAR,
        )
        for info in infos
        if info.type != fs.FileType.Directory
    ]


def _no_cluster_id(folder: str) -> str | None:
    """Why a folder of this name is no cluster."""
    if folder.startswith("."):
        return "a folder whose name starts with a dot is no cluster: rename it if it holds dumps"
    return None if folder.isprintable() else "the name of a cluster must be printable UTF-8: rename the folder"


def _shown(name: str) -> str:
    """The name of a file or folder in characters that a table can store and a terminal print."""
    text = os.fsencode(name).decode("utf-8", "backslashreplace")
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
