import pytest

from kafka_model.assignor.group import EmptyGroup, Member
from kafka_model.assignor.round_robin import assign


def test_seed_001_two_topics_on_three_consumers():
    answer = assign({"T1": 4, "T2": 6}, [Member("C1", ("T1",)), Member("C2", ("T1", "T2")), Member("C3", ("T2",))])
    first = {"T1": 1, "T2": 5}  # the seed numbers partitions across topics: T1 has 1 to 4, T2 has 5 to 10
    assert {member: [(topic, first[topic] + partition) for topic, partition in owned] for member, owned in answer.items()} == {
        "C1": [("T1", 1), ("T1", 3)],
        "C2": [("T1", 2), ("T1", 4), ("T2", 6), ("T2", 8), ("T2", 10)],
        "C3": [("T2", 5), ("T2", 7), ("T2", 9)],
    }


def test_the_ring_continues_from_one_topic_to_the_next():
    members = [Member("a", ("T", "U")), Member("b", ("T", "U"))]
    assert assign({"T": 3, "U": 3}, members) == {"a": [("T", 0), ("T", 2), ("U", 1)], "b": [("T", 1), ("U", 0), ("U", 2)]}


def test_a_group_without_members_is_refused():
    with pytest.raises(EmptyGroup):
        assign({"T": 3}, [])


def test_a_topic_without_metadata_is_skipped():
    assert assign({"T": 1}, [Member("a", ("deleted", "T"))]) == {"a": [("T", 0)]}


def test_a_member_without_topics_gets_nothing():
    assert assign({"T": 2}, [Member("a", ()), Member("b", ("T",))]) == {"a": [], "b": [("T", 0), ("T", 1)]}


def test_static_members_come_first_by_instance_id():
    members = [Member("a", ("T",)), Member("z", ("T",), group_instance_id="i1"), Member("b", ("T",), group_instance_id="i2")]
    assert assign({"T": 3}, members) == {"z": [("T", 0)], "b": [("T", 1)], "a": [("T", 2)]}
