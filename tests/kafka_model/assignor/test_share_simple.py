import pytest

from kafka_model.assignor import share_simple
from kafka_model.assignor.group import Member, UnknownTopic
from kafka_model.release import UnknownVersion, parse_release

IDS = {"T": "AAAAAAAAAAEAAAAAAAAAAQ", "U": "RoQThR_ZIXOI8RC0kGA6Rw", "deleted": "4TfRqxApFQBRJmFZL5mvfQ"}


def test_more_members_than_partitions_share_partitions():
    members = [Member(member, ("T",)) for member in "ABCD"]
    assert share_simple.assign({"T": 3}, IDS, members) == {"A": _of_t(0, 2), "B": _of_t(0), "C": _of_t(1, 2), "D": _of_t(1)}


def test_partitions_of_a_deleted_topic_are_kept_unless_subscriptions_are_equal():
    owner = Member("A", ("T",), owned=(("deleted", 0),))
    assert share_simple.assign({"T": 1, "U": 1}, IDS, [owner, Member("B", ("U",))])["A"] == [("deleted", 0), ("T", 0)]
    assert share_simple.assign({"T": 2}, IDS, [owner, Member("B", ("T",))])["A"] == [("T", 0)]


def test_partitions_that_are_not_assignable_are_left_out():
    assert share_simple.assign({"T": 3}, IDS, [Member("A", ("T",))], assignable={"T": [1]}) == {"A": _of_t(1)}


def test_an_unknown_topic_id_is_refused():
    with pytest.raises(UnknownTopic, match="no topic id of V"):
        share_simple.assign({"U": 2, "V": 2}, IDS, [Member("A", ("U", "V"))])


def test_a_group_without_members_has_an_empty_assignment():
    assert share_simple.assign({"T": 2}, IDS, []) == {}


def test_versions_before_4_2_are_refused():
    with pytest.raises(UnknownVersion, match=r"4\.1\.1"):
        share_simple.assign({"T": 4}, IDS, [Member("A", ("T",))], version=parse_release("4.1.1"))


def test_repeated_insertions_grow_the_map_of_partitions_as_in_kafka_4_3_1():
    # Thirteen keys in a table of sixteen, then a fourteenth call. The expected partitions are the answer of Kafka 4.3.1.
    ids = {"n2": "x1BFOLMlw-Pw3WNOCZCZbw", "n0": "bQuVx4fOJroRuZjMQql1UA"}
    owned = {"88": ([], [6]), "31": ([0, 3], [0, 1, 3, 7, 5, 8]), "20": ([1, 2], [2, 3, 4, 5, 6, 7, 8, 1])}
    names = {"88": "consumer-88-f4d523e29855e942", "31": "consumer-31-5064b2ec25097d7d", "20": "consumer-20-ab4d475f07a7b698"}
    members = [
        Member(names[short], ("n0", "n2"), owned=(*(("n0", n) for n in first), *(("n2", n) for n in second)))
        for short, (first, second) in owned.items()
    ]
    answer = share_simple.assign({"n2": 9, "n0": 4}, ids, members, assignable={"n2": [0, 1, 2, 3, 4, 5, 6, 8]})
    assert sorted(answer[names["31"]]) == [("n0", 0), ("n2", 5), ("n2", 7)]
    assert sorted(answer[names["88"]]) == [("n2", 1), ("n2", 6)]


def _of_t(*partitions: int) -> list[tuple[str, int]]:
    return [("T", partition) for partition in partitions]
