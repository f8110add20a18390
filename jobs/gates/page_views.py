"""The pages of the Data Docs: GX renders the content, and our templates make pages of it that load nothing from the network.

GX's own pages load scripts and styles from CDNs, and draw the index and the results with them. The templates are compiled once on a
machine: GX would compile them for every gate, which takes as long as its pages.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from great_expectations.render.view import DefaultJinjaIndexPageView, DefaultJinjaPageView
from great_expectations.render.view.view import DefaultJinjaView
from jinja2 import ChoiceLoader, FileSystemBytecodeCache, FileSystemLoader

from jobs.spark.jars import CACHE

# GX marks a result by an icon of a font that it loads.
_ICONS = {"fa-check-circle": "passed", "fa-times": "failed", "fa-exclamation-triangle": "not evaluated"}


class _OfflineView(DefaultJinjaView):
    def __init__(self) -> None:
        super().__init__()
        self.env.loader = ChoiceLoader([FileSystemLoader(Path(__file__).with_name("templates")), self.env.loader])
        folder = CACHE / "docs-templates"
        folder.mkdir(parents=True, exist_ok=True)
        self.env.bytecode_cache = FileSystemBytecodeCache(str(folder))

    def render_string_template(self, template: Any) -> Any:
        """Write the word for an icon."""
        styles = template.get("styling", {}).get("params", {}) if isinstance(template, Mapping) else {}
        for name, style in styles.items():
            for icon in _ICONS.keys() & set(style.get("classes", ())):
                template["params"][name] = _ICONS[icon]
        return super().render_string_template(template)


class PageView(_OfflineView, DefaultJinjaPageView):
    """A suite, or the results of its rules."""


class IndexRenderer:
    """Pass GX's links on: the template of the index makes a table of them."""

    def render(self, links: dict[str, Any]) -> dict[str, Any]:
        return links


class IndexView(_OfflineView, DefaultJinjaIndexPageView):
    """The list of all suites with their results."""

    def _validate_document(self, document: object) -> None:
        assert isinstance(document, dict)
