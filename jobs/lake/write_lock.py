"""Locks that keep two writers apart: a file lock in a folder, an object in S3."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from filelock import FileLock, Timeout

from jobs.errors import AuditError
from jobs.lake.hadoop import hadoop_path

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEASE_S = 60.0  # a lock object that is not renewed for this long is abandoned
_RENEW_S = LEASE_S / 4
_POLL_S = 1.0
# Options of Hadoop's createFile. S3A sends If-None-Match: * for the first, and If-Match with an ETag for the second (Hadoop 3.4.2).
_CREATE = "fs.option.create.conditional.overwrite"
_REPLACE = "fs.option.create.conditional.overwrite.etag"
_REFUSALS = ("FileAlreadyExistsException", "FileNotFoundException", "RemoteFileChangedException")


@contextmanager
def file_lock(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder; raises an AuditError if another process of this machine holds it or the folder cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / ".writer.lock", timeout=0):
            yield
    except Timeout:
        raise AuditError(f"another run is writing to the lake {folder}: wait for it to end, then run again") from None
    except OSError as error:
        raise AuditError(f"cannot write to the lake {folder}: {error.strerror or error}") from None


@contextmanager
def object_lock(spark: SparkSession, path: str, *, wait_s: float) -> Iterator[None]:
    """Hold the S3 object at `path` (s3a://...) as a lock; raises an AuditError if another process holds it for `wait_s`.

    Creation, renewal and takeover are conditional writes, so only one of several processes succeeds. The holder renews the object. Another
    process takes it over if its ETag has not changed for LEASE_S; it measures that by its own clock. A holder that was suspended for longer
    than its lease may lose the lock during a write; it then raises an AuditError at the end.
    """
    lock = _ObjectLock(spark, path)
    lock.acquire(wait_s)
    ended = Event()
    renewal = Thread(target=lock.renew_until, args=(ended,), daemon=True)
    renewal.start()
    try:
        yield
    finally:
        ended.set()
        renewal.join()
        lock.release()
    if lock.lost:
        raise AuditError(f"the lock {path} expired during a write, and another run may have written too: run again")


class _ObjectLock:
    def __init__(self, spark: SparkSession, path: str) -> None:
        self._address = path
        self._file_system, self._path = hadoop_path(spark, path)
        self._owner = f"{socket.gethostname()} process {os.getpid()} {uuid4()}"
        self._writes = 0
        self._etag = ""  # of this process's last write
        self.lost = False

    def acquire(self, wait_s: float) -> None:
        started = seen_at = time.monotonic()
        seen = None
        while True:
            etag = self._read_etag()
            if etag is None and self._write(_CREATE, True):
                return
            if etag != seen:
                seen, seen_at = etag, time.monotonic()
            elif etag is not None and time.monotonic() - seen_at > LEASE_S and self._write(_REPLACE, etag):
                return
            if time.monotonic() - started > wait_s:
                raise AuditError(f"another run is writing ({self._address} exists): wait for it to end, then run again")
            time.sleep(_POLL_S)

    def renew_until(self, ended: Event) -> None:
        """Renew the object until the event is set or the lock is lost; S3 may be unreachable for as long as the lease."""
        from py4j.protocol import Py4JError

        renewed_at = time.monotonic()
        while not self.lost and not ended.wait(_RENEW_S):
            try:
                self.lost = not self._write(_REPLACE, self._etag)
                renewed_at = time.monotonic()
            except Py4JError:
                self.lost = time.monotonic() - renewed_at > LEASE_S

    def release(self) -> None:
        """Delete the object if this process still holds it. S3A has no conditional delete, so the object is renewed just before."""
        if not self.lost and self._write(_REPLACE, self._etag):
            self._file_system.delete(self._path, False)
        else:
            self.lost = True

    def _write(self, condition: str, value: bool | str) -> bool:
        """Write the object if the condition holds; return whether it is this process's."""
        self._writes += 1
        text = f"{self._owner} write {self._writes}"  # each renewal changes the ETag
        with _refusal_ignored():
            stream = self._file_system.createFile(self._path).overwrite(condition == _REPLACE).must(condition, value).build()
            stream.write(bytearray(text.encode()))
            stream.close()
        # The object is read even after a refusal: if the response to a write is lost, S3A writes again, which S3 refuses.
        etag = self._read_etag()
        if etag is None or not self._read_text().startswith(self._owner):
            return False
        self._etag = etag
        return True

    def _read_etag(self) -> str | None:
        with _refusal_ignored():
            return str(self._file_system.getFileStatus(self._path).getEtag())
        return None

    def _read_text(self) -> str:
        with _refusal_ignored():
            stream = self._file_system.open(self._path)
            try:
                return bytes(stream.readAllBytes()).decode()
            finally:
                stream.close()
        return ""


@contextmanager
def _refusal_ignored() -> Iterator[None]:
    """Ignore Java's exceptions for a missing object and for a condition that does not hold."""
    from py4j.protocol import Py4JJavaError

    try:
        yield
    except Py4JJavaError as error:
        java_class: Any = error.java_exception.getClass()
        if java_class.getSimpleName() not in _REFUSALS:
            raise
