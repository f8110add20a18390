"""Format the rows of `topology-audit query`: readable, with units (table, vertical, markdown), or exact, for programs (csv, json)."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from enum import StrEnum
from io import StringIO

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from jobs.errors import AuditError

Rows = Sequence[Sequence[object]]
_IDENTIFIER = re.compile(r"(^|_)(id|partition|leader|survivor)(_before)?$")  # columns whose numbers are ids
_BYTES = re.compile(r"(^|_)bytes(?P<rate>_per_s)?(_before|_change)?$")


class Format(StrEnum):
    table = "table"
    csv = "csv"
    json = "json"
    markdown = "markdown"
    vertical = "vertical"


# Characters of Markdown's markup. An underscore inside a word and a bracket without a parenthesis are not markup.
_MARKDOWN = re.compile(r"[\\|`*<]|(?<![^\W_])_|_(?![^\W_])|\](?=\()")


def text(names: Sequence[str], rows: Rows, format: Format, width: int | None = None) -> str:
    """Format rows as text. A table wider than `width` columns becomes `vertical`; None allows any width."""
    if format == Format.table:
        table = _table(names, rows, width)
        return _vertical(names, rows) if table is None else table
    return _WRITERS[format](names, rows)


def _table(names: Sequence[str], rows: Rows, width: int | None) -> str | None:
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for number, name in enumerate(names):
        table.add_column(Text(name), justify="right" if _is_numeric(row[number] for row in rows) else "left", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(readable(name, value)) for name, value in zip(names, row)))
    console = Console(file=StringIO(), width=1_000_000, color_system=None)
    natural = console.measure(table).maximum
    if width is not None and natural > width:
        return None
    with console.capture() as shown:
        console.print(table, width=natural)
    return "".join(f"{line.rstrip()}\n" for line in shown.get().splitlines())


def _vertical(names: Sequence[str], rows: Rows) -> str:
    widest = max(map(len, names), default=0)
    lines = []
    for number, row in enumerate(rows, start=1):
        lines.append(f"── row {number} ──")
        lines += [f"{name:<{widest}}  {readable(name, value)}".rstrip() for name, value in zip(names, row)]
    return "".join(f"{line}\n" for line in lines)


def _markdown(names: Sequence[str], rows: Rows) -> str:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(_MARKDOWN.sub(r"\\\g<0>", cell) for cell in cells) + " |\n"

    alignments = ["---:" if _is_numeric(row[number] for row in rows) else "---" for number in range(len(names))]
    body = (line([readable(name, value) for name, value in zip(names, row)]) for row in rows)
    return "".join([line(names), f"| {' | '.join(alignments)} |\n", *body])


def _csv(names: Sequence[str], rows: Rows) -> str:
    """RFC 4180, except that lines end in a newline alone. A null is an empty field and an empty string is quoted."""

    def field(value: object) -> str:
        value = value if isinstance(value, Decimal) else _plain(value)
        if value is None:
            return ""
        if isinstance(value, bool):
            return "true" if value else "false"
        cell = json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else str(value)
        needs_quotes = not cell or re.search('[",\r\n]', cell) or cell != cell.strip()
        return '"' + cell.replace('"', '""') + '"' if needs_quotes else cell

    return "".join(f"{','.join(map(field, row))}\n" for row in (names, *rows))


def _json(names: Sequence[str], rows: Rows) -> str:
    """A JSON array with an object for each row, one per line."""
    if duplicates := [name for number, name in enumerate(names) if name in names[:number]]:
        raise AuditError(f"two columns are named {duplicates[0]}: rename one with AS, because a JSON object needs distinct names")
    lines = [json.dumps(dict(zip(names, map(_plain, row))), ensure_ascii=False) for row in rows]
    return "[" + ",".join(f"\n{line}" for line in lines) + "\n]\n"


_WRITERS: dict[Format, Callable[[Sequence[str], Rows], str]] = {
    Format.csv: _csv, Format.json: _json, Format.markdown: _markdown, Format.vertical: _vertical
}  # fmt: skip


def _plain(value: object) -> object:
    """Return a value for JSON: exact, with times in ISO 8601 and bytes in hexadecimal. NaN and infinity are null."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    if isinstance(value, dict):
        return {str(_plain(key)): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return str(value)


def readable(name: str | None, value: object) -> str:
    """Format a value by the name of its column: bytes with a unit, numbers with thousands separators, null as the empty text.

    Values in a list or map have no column name; their numbers are formatted as ids.
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float | Decimal):
        return _number(name, value)
    if isinstance(value, datetime):
        return value.isoformat(sep=" ", timespec="seconds")
    if isinstance(value, bytes | bytearray | memoryview):
        return _key_text(bytes(value))
    if isinstance(value, dict):
        return "{" + ", ".join(f"{readable('id', key)}: {readable('id', each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(readable(None, each) for each in value) + "]"
    # The name of a topic or group may contain control characters, which a terminal would interpret.
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", lambda match: match[0].encode("unicode_escape").decode(), str(value))


def _number(name: str | None, value: int | float | Decimal) -> str:
    if name is None or not math.isfinite(value) or _IDENTIFIER.search(name):
        return str(value)
    if sized := _BYTES.search(name):
        number, unit = float(value), "B"
        for larger in ("KiB", "MiB", "GiB", "TiB"):
            if abs(number) < 1024:
                break
            number, unit = number / 1024, larger
        return f"{_rounded(number)} {unit}{'/s' if sized['rate'] else ''}"
    return f"{value:,}" if isinstance(value, int) else _rounded(float(value))


def _rounded(number: float) -> str:
    """Round to four significant digits; numbers from 1,000 on to a whole number."""
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.4g}"


def _key_text(value: bytes) -> str:
    """A record's key as text, or in hexadecimal if it is not printable."""
    try:
        key = value.decode()
    except UnicodeDecodeError:
        return f"0x{value.hex()}"
    return key if key.isprintable() else f"0x{value.hex()}"


def _is_numeric(values: Iterable[object]) -> bool:
    present = [value for value in values if value is not None]
    return bool(present) and all(isinstance(value, int | float | Decimal) and not isinstance(value, bool) for value in present)
