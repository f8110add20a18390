"""Find the scripts of HTML pages, and their references to other hosts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html.parser import HTMLParser
from pathlib import Path

_URL_ATTRIBUTES = {"href", "src", "srcset", "data", "poster", "background", "action", "formaction", "ping", "manifest", "xlink:href"}
_OTHER_HOST = re.compile(r"\s*(?:https?:|wss?:|ftp:|//)", re.I)
_URL_IN_CSS = re.compile(r"(?:url\(\s*['\"]?|@import\s+['\"]?)\s*((?:https?:)?//[^'\")\s]*)", re.I)


def external_references(pages: Iterable[Path]) -> list[str]:
    """List each script with attributes, each event handler, and each reference to another host that a browser follows by itself or after a click."""
    references = []
    for page in pages:
        parser = _ReferenceParser()
        parser.feed(page.read_text(encoding="utf-8"))
        references += [f"{page.name}: {reference}" for reference in parser.references]
    return references


class _ReferenceParser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.references: list[str] = []
        self._in_style_element = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_style_element = tag == "style"
        if tag == "script" and attrs:  # a browser runs a script without attributes only if the page's policy has its hash
            self.references.append(f"<script> {dict(attrs)}")
        for name, value in attrs:
            if name in _URL_ATTRIBUTES and _OTHER_HOST.match(value or ""):
                self.references.append(f"<{tag} {name}={value}>")
            if name == "style":
                self.references += _URL_IN_CSS.findall(value or "")
            if name.startswith("on"):
                self.references.append(f"<{tag} {name}={value}>")

    def handle_data(self, data: str) -> None:
        if self._in_style_element:
            self.references += _URL_IN_CSS.findall(data)

    def handle_endtag(self, tag: str) -> None:
        self._in_style_element = False
