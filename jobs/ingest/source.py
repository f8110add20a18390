"""The clusters of a source, their files, and the bytes of these: the only input of the ingest.

A source is a folder, or a URI that pyarrow knows (s3://, gs://, hdfs://, file://). Each of its folders is a cluster of that name, and has
all files below it. A source without folders is one cluster, of its own name. Files that lie beside clusters' folders belong to none:
they are told under the cluster id `.`, as are hidden folders, which are no clusters; there is no row of `cluster` for it.
"""

from __future__ import annotations

import gzip
import io
import os
import zlib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath

import pyarrow as pa
from pyarrow import fs

from jobs.errors import AuditError

BESIDE = "."
_COMPRESSED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_PART_BYTES = 1 << 20
_HEAD_BYTES = 4 << 20  # of a file, which has as many characters as its format is known by, however they are encoded
_LINE_BYTES = 1 << 12
_EPOCH = datetime.fromtimestamp(0, UTC)
_MOST_BYTES = 1 << 30  # of a file, decompressed: more is taken for a zip bomb


@dataclass(frozen=True, slots=True)
class File:
    """A file of a cluster, by its name below the cluster's folder."""

    name: str
    path: str
    size_bytes: int
    written_at: datetime
    regular: bool


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
        infos = system.get_file_info(fs.FileSelector(root, recursive=True))
    except (OSError, ValueError, ImportError) as e:
        raise AuditError(f"source {source} cannot be read: {e}".splitlines()[0]) from e
    folders: dict[str, list[File]] = {}
    loose: list[File] = []
    for info in infos:
        name = PurePosixPath(info.path).relative_to(root)
        if info.type == fs.FileType.Directory:
            if len(name.parts) == 1:
                folders.setdefault(name.parts[0], [])
        elif len(name.parts) == 1:
            loose.append(_file(info, name))
        else:
            folders.setdefault(name.parts[0], []).append(_file(info, name.relative_to(name.parts[0])))
    if not loose and not any(folders.values()):
        raise AuditError(f"source {source} holds no file: put the dumps of each cluster in a folder of its name")
    hidden = [_as_one(folder, folders.pop(folder)) for folder in sorted(folders) if folder.startswith(".")]
    if not folders:
        folders, loose = {PurePosixPath(root).name or "source": loose}, []
    beside = [(BESIDE, hidden + loose)] if hidden or loose else []
    return [Cluster(name, tuple(sorted(files, key=lambda file: file.name))) for name, files in (*beside, *sorted(folders.items()))]


def filesystem(source: str) -> tuple[fs.FileSystem, str]:
    """Where a source lies, and its path there."""
    if "://" in source:
        system, path = fs.FileSystem.from_uri(source)
        return system, path.rstrip("/") or "/"
    return fs.LocalFileSystem(), os.path.abspath(source)


def read_bytes(system: fs.FileSystem, file: File) -> bytes:
    """The bytes of a file, decompressed if it is gzipped or compressed by zstd."""
    if not file.regular:
        raise NoBytes("not a regular file")
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
    """How a file starts; None: it is compressed, or no regular file, and can be read only as a whole."""
    if not file.regular or file.size_bytes > _MOST_BYTES:
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


def _file(info: fs.FileInfo, name: PurePosixPath) -> File:
    return File(str(name), info.path, info.size or 0, info.mtime or _EPOCH, info.type == fs.FileType.File)


def _as_one(folder: str, files: list[File]) -> File:
    return File(folder, folder, sum(file.size_bytes for file in files), max((file.written_at for file in files), default=_EPOCH), False)
