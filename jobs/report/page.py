"""Write pages from templates. A page is one HTML file with its style and script, and makes no request."""

from __future__ import annotations

import base64
import hashlib
import shlex
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from jobs.report.query_output import readable

_STYLES = {"red": "warning", "yellow": "note", "green": "good", "dim": "dim", "bold": "lead"}  # the CSS class of a style of the terminal
_TEMPLATES = Path(__file__).with_name("templates")


def script_source() -> str:
    """Return the source list that allows the script of the pages and no other, because dumps contain names from untrusted users."""
    digest = base64.b64encode(hashlib.sha256(_script().encode()).digest()).decode()
    return f"'sha256-{digest}'"


def write_page(template: str, page: Path, **values: object) -> None:
    """Write a template as a page, with these values."""
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(_environment().get_template(template).render(values), encoding="utf-8")


def sections(parts: Sequence[RenderableType]) -> list[dict[str, object]]:
    """Return the parts of a terminal report for a template: paragraphs with a CSS class, and tables with headings and rows."""
    found = (_table(part) if isinstance(part, Table) else _paragraph(part) for part in parts)
    return [section for section in found if section.get("text") != ""]


def _paragraph(part: RenderableType) -> dict[str, object]:
    text = part.renderable if isinstance(part, Padding) else part
    style = str(text.style) if isinstance(text, Text) else ""
    return {"text": str(text).strip(), "style": next((name for word, name in _STYLES.items() if word in style), "")}


def _table(table: Table) -> dict[str, object]:
    headings = [{"text": str(column.header).replace("\n", " "), "number": column.justify == "right"} for column in table.columns]
    cells = ([str(cell) for cell in column.cells] for column in table.columns)
    return {"title": str(table.title or ""), "headings": headings, "rows": list(zip(*cells, strict=True))}


def _duration(seconds: float) -> str:
    """Return a duration in its largest useful unit."""
    for unit, length in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("jobs.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals |= {
        "style": Markup((_TEMPLATES / "style.css").read_text(encoding="utf-8")),
        "script": Markup(_script()),
        "content_security_policy": f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src {script_source()}",
    }
    environment.filters |= {"readable": lambda value, name: readable(name, value), "shell": shlex.quote, "duration": _duration}
    return environment


def _script() -> str:
    return (_TEMPLATES / "page.js").read_text(encoding="utf-8")
