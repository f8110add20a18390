"""Write a report as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from io import StringIO
from pathlib import Path

from rich.console import Console, RenderableType

_WIDTH = 130  # characters of the terminal that the page shows
_FRAME = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>body {{ margin: 1.5rem; background: #fff; color: #1c1e21; font-family: system-ui, sans-serif }}
pre {{ font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 13px; line-height: 1.25; overflow-x: auto }}
h2 {{ font-size: 1.05rem; margin-top: 2rem }}
table {{ border-collapse: collapse; font-size: 13px }} th, td {{ padding: .2rem .5rem; text-align: right; border: 1px solid #e4e6ea }}
th {{ font-weight: 600; background: #f6f7f9 }} tr > th:first-child {{ text-align: left }}
.gone {{ background: #444; color: #fff; text-align: center }} .harm {{ background: #d33c3c; color: #fff }} .none {{ color: #999 }}
.night {{ width: 1rem; height: 1.2rem }}
{stylesheet}</style></head>
<body><h1>{title}</h1>{links}<pre>{code}</pre><!--charts--></body></html>
"""


def write_page(
    parts: Sequence[RenderableType], page: Path, *, title: str, links: Mapping[str, str] | None = None, charts: str = ""
) -> None:
    """Write the parts of a report as a page, with `charts` (HTML) below them; `links` maps texts to addresses."""
    console = Console(record=True, width=_WIDTH, file=StringIO(), color_system="truecolor", force_terminal=True, highlight=False)
    for part in parts:
        console.print(part)
    anchors = " · ".join(f'<a href="{href}">{text}</a>' for text, href in (links or {}).items())
    # `export_html` formats the frame, so braces of a title are doubled.
    frame = _FRAME.replace("{title}", escape(title).replace("{", "{{").replace("}", "}}")).replace("{links}", f"<p>{anchors}</p>")
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(console.export_html(code_format=frame).replace("<!--charts-->", charts), encoding="utf-8")
