"""The direction of imports between the rooms of the project: each room imports only the rooms listed for it."""

from __future__ import annotations

from collections import defaultdict
from graphlib import TopologicalSorter

import grimp
import pytest

_BASE = {"jobs.errors", "jobs.arrays", "jobs.names"}  # open to every room but kafka_model
ALLOWED: dict[str, set[str]] = {
    "kafka_model": set(),
    "jobs.errors": set(),
    "jobs.arrays": set(),
    "jobs.names": {"jobs.errors", "jobs.schema"},
    "jobs.schema": set(),
    "expectations": _BASE | {"jobs.schema", "kafka_model"},
    "jobs.spark": _BASE,
    "jobs.engine": _BASE | {"jobs.schema", "jobs.spark"},
    "jobs.failure": _BASE | {"jobs.schema", "jobs.engine", "kafka_model"},
    "jobs.steps": _BASE | {"jobs.schema", "jobs.engine", "jobs.failure", "jobs.spark", "kafka_model"},
    "jobs.lake": _BASE | {"jobs.schema", "jobs.engine", "jobs.spark"},
    "jobs.ingest": _BASE | {"jobs.schema", "jobs.spark", "expectations", "kafka_model"},
    "jobs.capture": _BASE | {"jobs.ingest", "jobs.spark"},
    "jobs.views": _BASE | {"jobs.schema", "jobs.lake"},
    "jobs.gates": _BASE | {"jobs.schema", "jobs.engine", "jobs.lake", "expectations"},
    "jobs.report": _BASE | {"jobs.schema", "jobs.views", "jobs.lake", "expectations"},
    "jobs.notify": _BASE | {"jobs.schema", "jobs.lake", "jobs.report"},
    "jobs.generate": _BASE | {"jobs.schema", "jobs.ingest", "kafka_model"},
    "jobs.snapshot": _BASE | {"jobs.schema", "jobs.lake", "jobs.spark"},
    "jobs.night": _BASE
    | {
        "jobs.snapshot",
        "jobs.schema",
        "jobs.engine",
        "jobs.steps",
        "jobs.gates",
        "jobs.ingest",
        "jobs.lake",
        "jobs.spark",
        "jobs.views",
        "expectations",
    },
    "jobs.what_if": _BASE | {"jobs.schema", "jobs.snapshot", "jobs.failure", "jobs.steps", "jobs.lake"},
    "jobs.plan": _BASE
    | {
        "jobs.schema",
        "jobs.engine",
        "jobs.night",
        "jobs.snapshot",
        "jobs.failure",
        "jobs.steps",
        "jobs.ingest",
        "jobs.lake",
        "kafka_model",
        "expectations",
    },
    "jobs.airflow": _BASE | {"jobs.spark"},
    "dags": _BASE | {"jobs.schema", "jobs.views", "jobs.capture", "jobs.ingest", "jobs.report", "jobs.spark", "jobs.night"},
}
_COMMAND = "jobs.cli"  # may import everything except dags


def room_of(module: str) -> str:
    """The room of a module: a folder or file of jobs/, or a package of the top level."""
    parts = module.split(".")
    return ".".join(parts[: 2 if parts[0] == "jobs" else 1])


@pytest.fixture(scope="module")
def imports() -> dict[tuple[str, str], list[str]]:
    """The imports between rooms, each with its modules; imports for type checkers alone do not count."""
    graph = grimp.build_graph(
        "jobs",
        "kafka_model",
        "expectations",
        "dags",
        "tests",
        exclude_type_checking_imports=True,
        cache_dir=None,
        include_external_packages=False,
    )
    found = defaultdict(list)
    for importer in graph.modules:
        for imported in graph.find_modules_directly_imported_by(importer):
            rooms = room_of(importer), room_of(imported)
            if rooms[0] not in (rooms[1], "jobs"):
                found[rooms].append(f"{importer} -> {imported}")
    return found


def test_each_room_imports_only_the_rooms_listed_for_it(imports: dict[tuple[str, str], list[str]]) -> None:
    rest = {
        rooms: modules
        for rooms, modules in imports.items()
        if rooms[0] not in (_COMMAND, "tests") and rooms[1] not in ALLOWED.get(rooms[0], set())
    }
    assert rest == {}


def test_nothing_imports_the_dags_the_tests_or_the_command(imports: dict[tuple[str, str], list[str]]) -> None:
    closed = {rooms: modules for rooms, modules in imports.items() if rooms[0] != "tests" and rooms[1] in ("dags", "tests", _COMMAND)}
    assert closed == {}


def test_every_listed_import_is_used(imports: dict[tuple[str, str], list[str]]) -> None:
    unused = {
        room: sorted(allowed - _BASE - {imported for importer, imported in imports if importer == room})
        for room, allowed in ALLOWED.items()
    }
    assert {room: rooms for room, rooms in unused.items() if rooms} == {}


def test_the_listed_imports_have_no_cycle() -> None:
    TopologicalSorter(ALLOWED).prepare()
