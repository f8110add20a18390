"""Versions between the recorded ones: what the oracle runs for them. No JVM is started."""

from __future__ import annotations

import pytest

from tests.oracle import java
from tests.oracle.algorithm import at_version, load


def test_an_unrecorded_version_uses_the_whole_broker() -> None:
    assert java.coordinates("2.3.1") == ("org.apache.kafka:kafka_2.12:2.3.1",)
    assert java.coordinates("3.4.1") == ("org.apache.kafka:kafka_2.13:3.4.1",)
    assert java.coordinates("4.4.0")[0] == "org.apache.kafka:kafka-clients:4.4.0"


@pytest.mark.parametrize(("name", "kafka"), [("sticky", "3.5.1"), ("admin_utils", "4.0.0"), ("sarama_partitioner", "3.9.2")])
def test_a_version_that_the_model_does_not_reproduce_is_refused(name: str, kafka: str) -> None:
    with pytest.raises(java.DoesNotCompile):
        at_version(load(name), kafka)
