"""The fuzz that new turns in the code lead: that they do, and a short run of it; `python -m tests.jobs.ingest.fuzz` is a longer one."""

import random
from pathlib import Path

from jobs import ingest
from jobs.ingest.formats import FORMATS
from jobs.ingest.reading import read_dump
from tests.jobs.ingest.fuzz import Fuzz, account, beginnings

INPUTS = 400


def nested(data: bytes) -> None:
    """Breaks on words in the one order that they never stood in."""
    if not data.startswith(b"Isr"):
        return
    if not data.startswith(b"Isr,7"):
        return
    if not data.startswith(b"Isr,7\t"):
        return
    if data.startswith(b"Isr,7\tElr"):
        raise ValueError("found")


def test_each_turn_that_is_new_leads_further() -> None:
    def found(folder: str) -> dict[str, bytes]:
        fuzz = Fuzz(nested, folder, random.Random(0))
        fuzz.seed([b"orders\t7,Elr Isr"])
        fuzz.run(60, 20_000)
        return fuzz.broken

    assert list(found(str(Path(__file__).parent)).values()) == [b"Isr,7\tElr"]
    assert found("where no code is") == {}


def test_it_starts_from_every_format() -> None:
    assert {read_dump(data).format for data in beginnings()} >= {format.NAME for format in FORMATS}


def test_what_is_led_to_new_turns_is_accounted_for() -> None:
    fuzz = Fuzz(account, str(Path(ingest.__file__).parent), random.Random(0))
    fuzz.seed(beginnings())
    before = len(fuzz.turns)
    fuzz.run(60, INPUTS)
    assert fuzz.broken == {}
    assert len(fuzz.turns) > before
