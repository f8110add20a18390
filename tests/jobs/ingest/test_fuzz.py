"""A short run of the coverage-guided fuzz, and a proof that coverage guides it. `python -m tests.jobs.ingest.fuzz MINUTES` runs longer."""

import random
from pathlib import Path

from jobs import ingest
from jobs.ingest.formats import FORMATS
from jobs.ingest.reading import read_dump
from tests.jobs.ingest.fuzz import Fuzz, check_input, seed_inputs

CASES = 400


def nested(data: bytes) -> None:
    """Fail for one order of words, which no seed input has."""
    if not data.startswith(b"Isr"):
        return
    if not data.startswith(b"Isr,7"):
        return
    if not data.startswith(b"Isr,7\t"):
        return
    if data.startswith(b"Isr,7\tElr"):
        raise ValueError("found")


def test_new_coverage_guides_the_fuzz_to_a_nested_failure() -> None:
    def failures_in(folder: str) -> dict[str, bytes]:
        fuzz = Fuzz(nested, folder, random.Random(0))
        fuzz.seed([b"orders\t7,Elr Isr"])
        fuzz.run(20_000)
        return fuzz.failures

    assert list(failures_in(str(Path(__file__).parent)).values()) == [b"Isr,7\tElr"]
    assert failures_in("where no code is") == {}


def test_fuzz_starts_from_every_format() -> None:
    assert {read_dump(data).format for data in seed_inputs()} >= {module.NAME for module in FORMATS}


def test_short_fuzz_finds_no_failure() -> None:
    fuzz = Fuzz(check_input, str(Path(ingest.__file__).parent), random.Random(0))
    fuzz.seed(seed_inputs())
    seed_branches = len(fuzz.branches)
    fuzz.run(CASES)
    assert fuzz.failures == {}
    assert len(fuzz.branches) > seed_branches
