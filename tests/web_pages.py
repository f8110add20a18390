"""What a page would run or load from elsewhere, found by an HTML parser."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html.parser import HTMLParser
from pathlib import Path

_LOADING = {"src", "srcset", "data", "poster", "background", "action", "formaction", "ping", "manifest", "xlink:href"}
_ELSEWHERE = re.compile(r"\s*(?:https?:|wss?:|ftp:|//)", re.I)
_IN_STYLE = re.compile(r"(?:url\(\s*['\"]?|@import\s+['\"]?)\s*((?:https?:)?//[^'\")\s]*)", re.I)


def external_references(pages: Iterable[Path]) -> list[str]:
    """Each script, and each reference to another host that a browser follows by itself or at a click."""
    found = []
    for page in pages:
        parser = _References()
        parser.feed(page.read_text(encoding="utf-8"))
        found += [f"{page.name}: {reference}" for reference in parser.found]
    return found


class _References(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._style = tag == "style"
        if tag == "script":
            self.found.append(f"<script> {dict(attrs)}")
        for name, value in attrs:
            if name in _LOADING | {"href"} and _ELSEWHERE.match(value or ""):
                self.found.append(f"<{tag} {name}={value}>")
            if name == "style":
                self.found += _IN_STYLE.findall(value or "")
            if name.startswith("on"):
                self.found.append(f"<{tag} {name}={value}>")

    def handle_data(self, data: str) -> None:
        if self._style:
            self.found += _IN_STYLE.findall(data)

    def handle_endtag(self, tag: str) -> None:
        self._style = False
