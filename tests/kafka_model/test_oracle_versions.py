"""Releases of Kafka between the recorded ones: what the oracle runs for them, and a small real run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.oracle import java
from tests.oracle.__main__ import main
from tests.oracle.algorithm import at_version, load, mismatch, record_cases


def test_every_version_uses_the_whole_broker() -> None:
    assert java.coordinate("2.3.1") == "org.apache.kafka:kafka_2.12:2.3.1"
    assert java.coordinate("3.4.1") == "org.apache.kafka:kafka_2.13:3.4.1"
    assert java.coordinate("4.4.0") == "org.apache.kafka:kafka_2.13:4.4.0"


@pytest.mark.parametrize(("name", "kafka"), [("sticky", "3.4.1"), ("admin_utils", "4.0.0"), ("sarama_partitioner", "3.9.2")])
def test_a_version_that_the_model_does_not_reproduce_is_refused(name: str, kafka: str) -> None:
    with pytest.raises(java.DoesNotCompile):
        at_version(load(name), kafka)


@pytest.mark.kafka
def test_the_model_answers_by_patch_release(capsys: pytest.CaptureFixture[str]) -> None:
    """Kafka's own classes of 4.1.0 and 4.1.1 run here; the model of the other patch would not agree with them."""
    releases = ("--since", "4.1.0", "--until", "4.1.1")
    assert main(["releases", *releases, "--cases", "60", "--seed", "patch", "partition_change"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:4] for line in lines[1:4]] == [["4.1.0", "1", "60", "0"], ["4.1.1", "1", "60", "0"], ["total", "120", "0"]]
    algorithm = load("partition_change")
    recorded = record_cases(at_version(algorithm, "4.1.0"), seed="patch", cases=60)
    assert any(mismatch(algorithm, replace(case, kafka=("4.1.1",))) for case in recorded)
