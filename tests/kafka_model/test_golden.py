"""The model's answers equal the recorded answers of Kafka's own classes (recorded by `python -m tests.oracle record`)."""

from __future__ import annotations

import pytest

from tests.oracle.algorithm import GOLDEN, NAMES, golden, load, mismatch


@pytest.mark.parametrize("name", NAMES)
def test_model_answers_equal_kafkas(name: str) -> None:
    algorithm = load(name)
    recorded = list(golden(name))
    mismatches = [(case, differs) for case in recorded if (differs := mismatch(algorithm, case))]
    assert mismatches[:2] == []
    assert len(recorded) >= algorithm.recorded >= 500


def test_every_golden_file_has_its_algorithm() -> None:
    assert sorted(path.name.removesuffix(".jsonl.gz") for path in GOLDEN.glob("*.jsonl.gz")) == NAMES
