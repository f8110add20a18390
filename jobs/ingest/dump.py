"""Dumps: the bytes of one file as text and lines, its parsed and rejected entries, and the checks of values that formats share.

    b"orders:0:500\r\n"     line 1: "orders:0:500"     Parsed(1, "orders:0:500", EndOffset("orders", 0, 500))

Line numbers start at 1. Lines end with LF or CRLF. A byte order mark is not part of the text; it also marks UTF-16, which a Windows shell
writes. Bytes that are not UTF-8 make only the fields that contain them invalid.
"""

from __future__ import annotations

import codecs
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from jobs.ingest.facts import Fact

QUOTAS = ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate", "connection_creation_rate")
_HEAD = 1 << 20  # characters in which a format is recognised: many lines of warnings may precede the dump
_MOST_INT = 2**31 - 1
_MOST_BIGINT = 2**63 - 1
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_WHOLE = re.compile(r"-?[0-9]{1,19}")
_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}", re.ASCII)


class Parsed(NamedTuple):
    """A parsed entry; fact None: a heading, message or default, which no table has. `entries` is 0 for another fact of the same entry."""

    line: int
    entry: Any
    fact: Fact | None
    entries: int = 1


class Rejected(NamedTuple):
    """An entry that cannot be used, and the reason."""

    line: int
    entry: Any
    reason: str


class Unreadable(ValueError):
    """The reason why an entry cannot be parsed."""


@dataclass(frozen=True)
class Dump:
    """The decompressed bytes of a file."""

    data: bytes

    @property
    def is_utf16(self) -> bool:
        """Return whether the file starts with a byte order mark of UTF-16."""
        return self.data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))

    @cached_property
    def text(self) -> str:
        """Return the file as text, with lone surrogates in place of bytes that are not UTF-8."""
        if self.is_utf16:
            return self.data.decode("utf-16", "replace")
        return self.data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape")

    @cached_property
    def head(self) -> str:
        """Return the start of the text, from which the format is recognised."""
        return self.text[:_HEAD]

    @cached_property
    def last_line(self) -> str:
        """Return the text after the last newline: empty, unless the dump is cut off or ends without one."""
        return self.text.rpartition("\n")[2]

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield the lines that are not blank, with their numbers."""
        for number, line in enumerate(self.text.split("\n"), 1):
            line = line.removesuffix("\r")
            if line and not line.isspace():
                yield number, line


def json_document(dump: Dump) -> tuple[Any, int, list[tuple[int, str]]]:
    """Return the JSON value of a dump, the line where it starts, and the text around it by line.

    >>> json_document(Dump(b'Querying brokers\\n{"version": 1}\\n'))
    ({'version': 1}, 2, [(1, 'Querying brokers')])
    """
    start, line = 0, 1
    failure = Unreadable("no JSON document")
    for _ in range(100):  # messages of a tool and its log may precede the document, and may start with a bracket too
        if dump.text.startswith(("{", "["), start):
            try:
                value, end = json.JSONDecoder().raw_decode(dump.text, start)
            except (ValueError, RecursionError) as e:
                failure = Unreadable(f"not JSON: {e}")
            else:
                last = line + dump.text.count("\n", start, end)
                surrounding = [(n, text) for n, text in dump.lines() if n < line or n > last]
                trailing = dump.text[end:].partition("\n")[0].strip()
                return value, line, [*surrounding, (last, trailing)] if trailing else surrounding
        newline = dump.text.find("\n", start)
        if newline < 0:
            break
        start, line = newline + 1, line + 1
    raise failure


@lru_cache(1 << 12)  # a dump contains the same topic many times
def topic_name(value: str | None) -> str:
    """Return the value if it is a topic name that Kafka allows."""
    if value is None or not _TOPIC.fullmatch(value) or value in (".", ".."):
        raise Unreadable("not a topic name that Kafka allows")
    return value


def whole_number(value: object, name: str, *, most: int = _MOST_BIGINT, least: int = 0) -> int:
    """Return the value if it is a whole number in ASCII digits, or a JSON integer, between the bounds."""
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        number = int(value)
    elif isinstance(value, int) and not isinstance(value, bool):
        number = value
    else:
        raise Unreadable(f"{name} is not a whole number")
    if not least <= number <= most:
        raise Unreadable(f"{name} is not between {least} and {most}")
    return number


def identifier(value: object, name: str) -> int:
    """Return the value if it can be the id of a broker or partition."""
    return whole_number(value, name, most=_MOST_INT)


def broker_ids(values: object, name: str) -> tuple[int, ...]:
    """Return the values if they are a list of different broker ids."""
    if not isinstance(values, list):
        raise Unreadable(f"{name} is not a list")
    ids = tuple(identifier(value, f"a broker id of {name}") for value in values)
    if len(set(ids)) < len(ids):
        raise Unreadable(f"a broker occurs twice in {name}")
    return ids


def config_value(name: str, value: object) -> str:
    """Return the value of a config if it and the name can be stored, and min.insync.replicas is a number."""
    plain_text(name, "the name of a config")
    if name == "min.insync.replicas":
        identifier(value, name)
    return plain_text(value, name)


def quota_value(value: object, name: str) -> float:
    """Return the value of a quota if it is a number from 0, or text that is one."""
    try:
        number = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if not 0 <= number < math.inf:
        raise Unreadable(f"{name} is not a number")
    return number


def plain_text(value: object, name: str) -> str:
    """Return the value if it is text that can be stored."""
    if not isinstance(value, str) or (not value.isascii() and _LONE_SURROGATE.search(value)):
        raise Unreadable(f"{name} is not text")
    return value
