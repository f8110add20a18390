"""Between the recorded versions: what the oracle does with one that is not in its list (no jar is asked here)."""

from __future__ import annotations

import pytest

from kafka_model.election.partition import Partition
from kafka_model.election.partition_change import change
from kafka_model.release import UnknownVersion
from tests.oracle import java
from tests.oracle.algorithm import at_version, load


def test_a_version_that_is_not_recorded_is_the_whole_broker():
    assert java.coordinates("2.3.1") == ("org.apache.kafka:kafka_2.12:2.3.1",)
    assert java.coordinates("3.10.0") == ("org.apache.kafka:kafka_2.13:3.10.0",)
    assert java.coordinates("4.4.0")[0] == "org.apache.kafka:kafka-clients:4.4.0"


@pytest.mark.parametrize(("name", "kafka"), [("sticky", "3.5.1"), ("admin_utils", "4.0.0"), ("sarama_partitioner", "3.9.2")])
def test_a_version_that_the_model_is_not_of_is_not_asked(name, kafka):
    with pytest.raises(java.DoesNotCompile):
        at_version(load(name), kafka)


def test_the_elr_before_3_8_is_refused():
    with pytest.raises(UnknownVersion):
        change(Partition((1,), 1, (1,)), isr=(1,), acceptable={1}, elr=True, version="3.7.2")


def test_a_partition_that_moves_waits_for_all_that_stay_until_4_3():
    moving = Partition((1, 2, 3), 1, (1, 2), adding_replicas=(2,))
    done = {version: change(moving, isr=(1, 2), acceptable={1, 2}, elr=True, version=version) for version in ("4.2.0", "4.3.1")}
    assert done["4.2.0"].adding_replicas == (2,)
    assert done["4.3.1"].adding_replicas == ()
