"""A dump: the bytes of one file, seen as text and lines, and what is told or refused of its entries.

Line numbers count from 1. Lines end with LF or CRLF; a byte order mark is no part of the text; UTF-16, which a Windows shell writes, is
known by its mark. Bytes that are no UTF-8 spoil the fields that they stand in, not the file.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from jobs.ingest.facts import Fact

_HEAD = 1 << 20  # characters that a format is recognised by: a dump may follow many lines of warnings
_MOST_INT = 2**31 - 1
_MOST_BIGINT = 2**63 - 1
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_WHOLE = re.compile(r"-?[0-9]{1,19}")
_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}", re.ASCII)


class Told(NamedTuple):
    """What an entry tells; fact None: it is understood, and says nothing that a table holds."""

    line: int
    entry: Any
    fact: Fact | None
    entries: int = 1


class Rejected(NamedTuple):
    """An entry that could not be read, and why."""

    line: int
    entry: Any
    reason: str


class Unreadable(ValueError):
    """Why an entry cannot be read."""


@dataclass(frozen=True)
class Dump:
    """The bytes of a file, decompressed."""

    data: bytes

    @property
    def utf16(self) -> bool:
        """Whether it is known by its mark to be UTF-16."""
        return self.data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))

    @cached_property
    def text(self) -> str:
        """The file as text; bytes that are no text stand as lone surrogates."""
        if self.utf16:
            return self.data.decode("utf-16", "replace")
        return self.data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape")

    @cached_property
    def head(self) -> str:
        """The first of the text, which tells the format."""
        return self.text[:_HEAD]

    @cached_property
    def last_line(self) -> str:
        """What stands behind the last newline: nothing, unless the dump is cut off or ends without one."""
        return self.text.rpartition("\n")[2]

    def lines(self) -> Iterator[tuple[int, str]]:
        """The lines that are not blank, with their numbers."""
        for number, line in enumerate(self.text.split("\n"), 1):
            line = line.removesuffix("\r")
            if line and not line.isspace():
                yield number, line


def json_document(dump: Dump) -> tuple[Any, int, list[tuple[int, str]]]:
    """The JSON value of a dump, the line where it starts, and the text around it by line.

    >>> json_document(Dump(b'Querying brokers\\n{"version": 1}\\n'))
    ({'version': 1}, 2, [(1, 'Querying brokers')])
    """
    start, line = 0, 1
    failure = Unreadable("no JSON in it")
    for _ in range(100):  # a document may follow lines of a tool and of its log, which themselves may start with a bracket
        if dump.text.startswith(("{", "["), start):
            try:
                value, end = json.JSONDecoder().raw_decode(dump.text, start)
            except (ValueError, RecursionError) as e:
                failure = Unreadable(f"not JSON: {e}")
            else:
                last = line + dump.text.count("\n", start, end)
                around = [(n, text) for n, text in dump.lines() if n < line or n > last]
                trailing = dump.text[end:].partition("\n")[0].strip()
                return value, line, [*around, (last, trailing)] if trailing else around
        newline = dump.text.find("\n", start)
        if newline < 0:
            break
        start, line = newline + 1, line + 1
    raise failure


@lru_cache(1 << 12)  # a dump names the same topic over and over
def topic_name(value: str | None) -> str:
    """The value, if it is a name that Kafka allows for a topic."""
    if value is None or not _TOPIC.fullmatch(value) or value in (".", ".."):
        raise Unreadable("no name that Kafka allows for a topic")
    return value


def whole_number(value: object, name: str, *, most: int = _MOST_BIGINT, least: int = 0) -> int:
    """The value, if it is a whole number in ASCII digits, or a JSON integer, within bounds."""
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        number = int(value)
    elif isinstance(value, int) and not isinstance(value, bool):
        number = value
    else:
        raise Unreadable(f"{name} is no whole number")
    if not least <= number <= most:
        raise Unreadable(f"{name} is not within {least} and {most}")
    return number


def identifier(value: object, name: str) -> int:
    """The value, if it can be the id of a broker or partition."""
    return whole_number(value, name, most=_MOST_INT)


def broker_ids(values: object, name: str) -> tuple[int, ...]:
    """The values, if they are a list of brokers' ids, each once."""
    if not isinstance(values, list):
        raise Unreadable(f"{name} is no list")
    ids = tuple(identifier(value, f"a broker id of {name}") for value in values)
    if len(set(ids)) < len(ids):
        raise Unreadable(f"a broker is named twice in {name}")
    return ids


def config_value(name: str, value: object) -> str:
    """The value of a config, if it and the config's name can be stored, and be counted with where that is done."""
    plain_text(name, "the name of a config")
    if name == "min.insync.replicas":
        identifier(value, name)
    return plain_text(value, name)


def plain_text(value: object, name: str) -> str:
    """The value, if it is text that can be stored."""
    if not isinstance(value, str) or (not value.isascii() and _LONE_SURROGATE.search(value)):
        raise Unreadable(f"{name} is no text")
    return value
