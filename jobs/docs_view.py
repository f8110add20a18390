"""The views of the Data Docs, with templates compiled once on a machine: GX would compile them for every gate, which takes as long as its pages."""

from __future__ import annotations

from great_expectations.render.view import DefaultJinjaIndexPageView, DefaultJinjaPageView
from great_expectations.render.view.view import DefaultJinjaView
from jinja2 import FileSystemBytecodeCache

from jobs.jars import CACHE


class _CompiledOnce(DefaultJinjaView):
    def __init__(self) -> None:
        super().__init__()
        folder = CACHE / "docs-templates"
        folder.mkdir(parents=True, exist_ok=True)
        self.env.bytecode_cache = FileSystemBytecodeCache(str(folder))


class PageView(_CompiledOnce, DefaultJinjaPageView):
    """Of a suite, or of what was found by it."""


class IndexView(_CompiledOnce, DefaultJinjaIndexPageView):
    """Of the list of these."""
