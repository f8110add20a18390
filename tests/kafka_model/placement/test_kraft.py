from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_model.java.random_numbers import JavaRandom
from kafka_model.placement.errors import InvalidReplicationFactor
from kafka_model.placement.kraft import UsableBroker, place_striped


@given(
    st.dictionaries(st.integers(0, 50), st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=12), st.integers(0, 2**48), st.data()
)
def test_replicas_are_distinct_and_the_first_is_unfenced(racks: dict[int, str | None], seed: int, data: st.DataObject) -> None:
    brokers = [UsableBroker(broker, rack, data.draw(st.booleans())) for broker, rack in racks.items()]
    replication_factor = data.draw(st.integers(1, len(brokers)))
    unfenced = {broker.broker_id for broker in brokers if not broker.fenced}
    if not unfenced:
        with pytest.raises(InvalidReplicationFactor):
            place_striped(brokers, 5, replication_factor, random=JavaRandom(seed))
        return
    for replicas in place_striped(brokers, 30, replication_factor, random=JavaRandom(seed)):
        assert len(set(replicas)) == len(replicas) == replication_factor
        assert replicas[0] in unfenced
