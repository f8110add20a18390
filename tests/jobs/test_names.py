"""Names that become folder names and SQL values: which ones are accepted, and different names have different folders."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jobs import names
from jobs.errors import AuditError
from jobs.plan.question import PlanQuestion
from jobs.what_if import WhatIf

RUN_IDS = [
    "manual__2026-01-31T02:00:00.123456+00:00",
    "scheduled__2026-01-31T02:00:00+00:00",
    "a~b",
    "-",
    "...",
    "r" * 250,
]
HOSTILE = [
    "",
    ".",
    "..",
    "../../../x",
    "a/b",
    "/etc",
    "a\\b",
    "bob's",
    "x') OR true --",
    "a b",
    "a\n",
    "a\0",
    "é",
    "%2e%2e",
    "*",
    "r" * 251,
]


@pytest.mark.parametrize("run_id", RUN_IDS)
def test_every_run_id_of_airflow_is_an_id(run_id: str) -> None:
    from airflow.configuration import conf

    assert len(run_id) <= 250
    assert re.match(conf.get("scheduler", "allowed_run_id_pattern"), run_id)
    assert re.search(names.ID_PATTERN, run_id)
    assert names.storable_id(run_id)


@pytest.mark.parametrize("request_type", [PlanQuestion, WhatIf])
@pytest.mark.parametrize("id", [*HOSTILE, names.NIGHTLY])
def test_a_what_if_or_plan_with_a_hostile_or_reserved_id_is_refused_in_one_line(request_type: type, id: str) -> None:
    with pytest.raises(AuditError) as refused:
        request_type(id, "c")
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize("id", HOSTILE)
def test_a_hostile_snapshot_name_is_refused_in_one_line(id: str) -> None:
    with pytest.raises(AuditError) as refused:
        names.snapshot_name(id)
    assert len(str(refused.value).splitlines()) == 1


def test_a_snapshot_name_has_up_to_100_letters_digits_and_some_signs() -> None:
    assert names.snapshot_name("2026-01-31T02:00:00.b_1") == "2026-01-31T02:00:00.b_1"
    assert names.snapshot_name("s" * 100) == "s" * 100
    for name in ("s" * 101, "-s", "a+b", "a~b"):
        with pytest.raises(AuditError, match=re.escape(repr(name))):
            names.snapshot_name(name)


@pytest.mark.parametrize("id", ["r" * 250, ":" * 100, "r" * 242, "r" * 243])
def test_an_id_fits_into_the_folder_of_its_delta_partition(tmp_path: Path, id: str) -> None:
    stored = names.storable_id(id)
    (tmp_path / f"scenario_set={stored.replace(':', '%3A')}").mkdir()
    assert (stored == id) is (len(f"scenario_set={id.replace(':', '%3A')}") <= 255)
    assert names.storable_id(stored) == stored
    assert names.storable_id(id[:-1] + "x") != stored


def test_default_ids_differ_within_a_second() -> None:
    ids = {names.new_id("what-if") for _ in range(1000)}
    assert len(ids) == 1000
    assert [id for id in ids if names.storable_id(id) != id or not id.startswith("what-if-20")] == []


@pytest.mark.parametrize("text", [*HOSTILE[1:], "日" * 84, "con:", "~", "x" * 255, "payments-us"])
def test_each_cluster_name_has_a_folder_of_its_own(tmp_path: Path, text: str) -> None:
    folder = tmp_path / "reports" / names.folder_name(text)
    folder.mkdir(parents=True)
    assert folder.resolve().parent == (tmp_path / "reports").resolve()
    others = {*HOSTILE[1:], "日" * 84, "日" * 83 + "本", "x" * 254 + "y"} - {text}
    assert names.folder_name(text) not in {names.folder_name(other) for other in others}


def test_the_folder_of_a_plain_name_is_the_name() -> None:
    assert names.folder_name("payments-us") == "payments-us"
