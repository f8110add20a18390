"""The pages of the Data Docs: GX renders the content, and templates of our own make pages of it that load nothing from the network.

GX's own pages load scripts and styles from CDNs, and need them to show the index and the results.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from great_expectations.render.view import DefaultJinjaIndexPageView, DefaultJinjaPageView
from great_expectations.render.view.view import DefaultJinjaView
from jinja2 import ChoiceLoader, FileSystemLoader

# GX shows a result as an icon, whose font it loads from a CDN.
_ICONS = {"fa-check-circle": "passed", "fa-times": "failed", "fa-exclamation-triangle": "not evaluated"}


class _OfflineView(DefaultJinjaView):
    def __init__(self) -> None:
        super().__init__()
        self.env.loader = ChoiceLoader([FileSystemLoader(Path(__file__).with_name("templates")), self.env.loader])

    def render_string_template(self, template: Any) -> Any:
        """Render a text of GX, with words in place of icons."""
        styles = template.get("styling", {}).get("params", {}) if isinstance(template, Mapping) else {}
        for name, style in styles.items():
            for icon in _ICONS.keys() & set(style.get("classes", ())):
                template["params"][name] = _ICONS[icon]
        return super().render_string_template(template)


class PageView(_OfflineView, DefaultJinjaPageView):
    """The page of a suite, or of its results."""


class IndexRenderer:
    """Return GX's links as they are, from which the template of the index makes a table."""

    def render(self, links: dict[str, Any]) -> dict[str, Any]:
        return links


class IndexView(_OfflineView, DefaultJinjaIndexPageView):
    """The page that lists all suites with their results."""

    def _validate_document(self, document: object) -> None:
        assert isinstance(document, dict)
