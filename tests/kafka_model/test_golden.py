"""What the model says is what Kafka's own classes said, case by case (recorded by `python -m tests.oracle record`)."""

from __future__ import annotations

import pytest

from tests.oracle.algorithm import GOLDEN, NAMES, golden, load, mismatch


@pytest.mark.parametrize("name", NAMES)
def test_the_model_says_what_kafka_said(name: str) -> None:
    algorithm = load(name)
    recorded = list(golden(name))
    broken = [(case, differs) for case in recorded if (differs := mismatch(algorithm, case))]
    assert broken[:2] == []
    assert len(recorded) >= algorithm.recorded >= 500


def test_every_golden_file_has_its_algorithm() -> None:
    assert sorted(path.name.removesuffix(".jsonl.gz") for path in GOLDEN.glob("*.jsonl.gz")) == NAMES
