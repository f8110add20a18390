"""What holds for every module of kafka_model: its imports, and its line in the list of modules."""

from __future__ import annotations

import ast
import pkgutil
import re
import sys
from pathlib import Path

import pytest

import kafka_model
from jobs import schema as tables

FOLDER = Path(kafka_model.__path__[0])
FILES = sorted(FOLDER.rglob("*.py"))
ALLOWED = sys.stdlib_module_names | {"kafka_model", "numba", "numpy"}
IO_AND_CHANCE = {"asyncio", "datetime", "http", "io", "multiprocessing", "os", "pathlib", "random", "secrets", "shutil", "socket",
                 "subprocess", "tempfile", "threading", "time", "urllib"}  # fmt: skip


def imported(source: str) -> set[str]:
    """List the top-level packages that a source imports, also inside functions."""
    packages = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            packages |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            packages.add("kafka_model" if node.level else (node.module or "").partition(".")[0])
    return packages


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(FOLDER)))
def test_module_imports_only_the_standard_library_numpy_numba_and_kafka_model(file: Path) -> None:
    assert imported(file.read_text()) <= ALLOWED


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(FOLDER)))
def test_module_imports_nothing_for_io_clock_or_randomness(file: Path) -> None:
    source = file.read_text()
    assert imported(source).isdisjoint(IO_AND_CHANCE)
    calls = {node.func.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert calls.isdisjoint({"__import__", "eval", "exec", "input", "open", "print"})


def listed() -> dict[str, tuple[str, ...]]:
    """Parse the list of modules in the docstring of kafka_model: name and tables."""
    rows = re.findall(r"^([a-z_.]+) +\|[^|]+\|[^|]+\|([^|]+)$", kafka_model.__doc__ or "", re.MULTILINE)
    return {module: tuple(re.findall(r"\w+", names)) for module, names in rows if module != "module"}


def test_the_docstring_lists_every_module() -> None:
    modules = pkgutil.walk_packages(kafka_model.__path__, "kafka_model.")
    assert set(listed()) == {module.name.removeprefix("kafka_model.") for module in modules if not module.ispkg}


def test_the_docstring_names_tables_that_exist() -> None:
    named = {table for names in listed().values() for table in names}
    assert "failover" in named
    assert named <= tables.BY_NAME.keys()
