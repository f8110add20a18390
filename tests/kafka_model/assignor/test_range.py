import pytest

from kafka_model.assignor.group import Member
from kafka_model.assignor.range import assign
from kafka_model.release import parse_release


def assign_topic(partitions: int, *members: str) -> dict[str, list[int]]:
    """Assign one topic to members that all subscribe to it, with partitions numbered from 1 as in the seed."""
    answer = assign({"P": partitions}, [Member(member, ("P",)) for member in members])
    return {member: [partition + 1 for _, partition in owned] for member, owned in answer.items()}


def test_seed_001_ten_partitions_on_four_consumers():
    assert assign_topic(10, "C1", "C2", "C3", "C4") == {"C1": [1, 2, 3], "C2": [4, 5, 6], "C3": [7, 8], "C4": [9, 10]}


def test_seed_001_ten_partitions_on_three_consumers():
    assert assign_topic(10, "C1", "C2", "C3") == {"C1": [1, 2, 3, 4], "C2": [5, 6, 7], "C3": [8, 9, 10]}


def test_members_beyond_the_number_of_partitions_get_nothing():
    assert assign_topic(2, "C3", "C1", "C2") == {"C1": [1], "C2": [2], "C3": []}


def test_a_group_without_members_has_an_empty_assignment():
    assert assign({"P": 3}, []) == {}


def test_a_topic_without_metadata_is_skipped():
    assert assign({"P": 1}, [Member("C1", ("deleted", "P"))]) == {"C1": [("P", 0)]}


def test_a_topic_without_subscribers_is_not_assigned():
    assert assign({"P": 1}, [Member("C1", ())]) == {"C1": []}


def test_static_members_come_first_by_instance_id():
    members = [Member("a", ("P",)), Member("z", ("P",), group_instance_id="i1"), Member("b", ("P",), group_instance_id="i2")]
    assert assign({"P": 3}, members) == {"z": [("P", 0)], "b": [("P", 1)], "a": [("P", 2)]}


def test_member_ids_are_ordered_by_utf_16_code_unit():
    assert assign_topic(3, "\uffee", "\U0001f600") == {"\U0001f600": [1, 2], "\uffee": [3]}


def test_static_members_are_ignored_before_2_4_and_racks_before_3_5():
    static = [Member("A", ("T",), rack="a"), Member("B", ("T",), group_instance_id="1", rack="b")]
    racks = {"T": [["a"], ["b"]]}
    assert assign({"T": 2}, static, racks=racks, version=parse_release("2.3.1")) == {"A": [("T", 0)], "B": [("T", 1)]}
    assert assign({"T": 2}, static, racks=racks, version=parse_release("3.4.1")) == {"A": [("T", 1)], "B": [("T", 0)]}
    assert assign({"T": 2}, static, racks=racks, version=parse_release("3.5.0")) == {"A": [("T", 0)], "B": [("T", 1)]}


@pytest.mark.parametrize(("version", "order"), [("2.0.1", ["Aa", "BB"]), ("2.1.0", ["BB", "Aa"]), ("3.5.0", ["Aa", "BB"])])
def test_the_order_of_topics_with_equal_hashes_changed_in_2_1_and_3_5(version, order):
    """A key that HashMap.computeIfAbsent adds comes first in its bin, one that put adds comes last."""
    answer = assign({"Aa": 1, "BB": 1}, [Member("C1", ("Aa", "BB"))], version=parse_release(version))
    assert [topic for topic, _ in answer["C1"]] == order
