import pytest

from kafka_model.assignor import share_simple, uniform
from kafka_model.assignor.group import BrokenClaims, Member, UnknownTopic
from kafka_model.release import UnknownVersion

IDS = {"T": "AAAAAAAAAAEAAAAAAAAAAQ", "U": "RoQThR_ZIXOI8RC0kGA6Rw", "gone": "4TfRqxApFQBRJmFZL5mvfQ"}


def test_uniform_gives_a_newcomer_what_others_hold_above_their_quota():
    members = [_holder("A", 0, 1, 2), _holder("B", 3, 4, 5), Member("C", ("T",))]
    assert uniform.assign({"T": 6}, IDS, members) == {"A": _of_t(0, 1), "B": _of_t(3, 4), "C": _of_t(2, 5)}


def test_uniform_deals_topics_of_different_subscribers_to_the_least_loaded():
    members = [Member("A", ("T",)), Member("B", ("T", "U"))]
    answer = uniform.assign({"T": 2, "U": 2}, IDS, members)
    assert answer == {"A": _of_t(0, 1), "B": [("U", 0), ("U", 1)]}


def test_uniform_takes_back_what_a_member_left_or_is_deleted():
    members = [Member("A", ("T",), owned=(("U", 0), ("gone", 0), ("T", 1))), Member("B", ("T",))]
    assert uniform.assign({"T": 2, "U": 1}, IDS, members) == {"A": _of_t(1), "B": _of_t(0)}


@pytest.mark.parametrize("other", [Member("B", ("T",), owned=(("T", 0),)), Member("B", ("U",))], ids=["subscribed alike", "differently"])
def test_uniform_refuses_a_claim_beyond_the_topic(other):
    with pytest.raises(BrokenClaims):
        uniform.assign({"T": 3, "U": 1}, IDS, [_holder("A", 4, 5, 6), other])


@pytest.mark.parametrize("assignor", [uniform, share_simple])
def test_an_unknown_topic_id_is_refused(assignor):
    with pytest.raises(UnknownTopic, match="no topic id of V"):
        assignor.assign({"U": 2, "V": 2}, IDS, [Member("A", ("U", "V"))])


@pytest.mark.parametrize("assignor", [uniform, share_simple])
def test_a_group_without_members_gets_nothing(assignor):
    assert assignor.assign({"T": 2}, IDS, []) == {}


def test_share_members_beyond_the_partitions_share_them():
    members = [Member(member, ("T",)) for member in "ABCD"]
    assert share_simple.assign({"T": 3}, IDS, members) == {"A": _of_t(0, 2), "B": _of_t(0), "C": _of_t(1, 2), "D": _of_t(1)}


def test_share_members_keep_what_they_hold_of_a_deleted_topic_unless_all_subscribe_alike():
    holder = Member("A", ("T",), owned=(("gone", 0),))
    assert share_simple.assign({"T": 1, "U": 1}, IDS, [holder, Member("B", ("U",))])["A"] == [("gone", 0), ("T", 0)]
    assert share_simple.assign({"T": 2}, IDS, [holder, Member("B", ("T",))])["A"] == [("T", 0)]


def test_share_partitions_that_may_not_be_assigned_yet_are_left_out():
    assert share_simple.assign({"T": 3}, IDS, [Member("A", ("T",))], assignable={"T": [1]}) == {"A": _of_t(1)}


def _holder(member_id: str, *partitions: int) -> Member:
    return Member(member_id, ("T",), owned=tuple(_of_t(*partitions)))


def _of_t(*partitions: int) -> list[tuple[str, int]]:
    return [("T", partition) for partition in partitions]


def test_uniform_of_4_0_gives_what_is_over_to_the_first_members():
    members = [Member(name, ("T",)) for name in "ABC"]
    counts = {
        version: [len(owned) for owned in uniform.assign({"T": 4}, IDS, members, version=version).values()] for version in ("4.0", "4.1")
    }
    assert counts == {"4.0": [2, 1, 1], "4.1": [1, 1, 2]}


@pytest.mark.parametrize(("assignor", "version"), [(uniform, "3.9.2"), (share_simple, "4.1.1")])
def test_an_older_version_is_refused(assignor, version):
    with pytest.raises(UnknownVersion, match=version):
        assignor.assign({"T": 4}, IDS, [Member("A", ("T",))], version=version)


def test_a_share_groups_map_of_partitions_grows_by_what_is_put_again():
    # What Kafka 4.3.1 says: thirteen keys in a table of sixteen, and then a fourteenth call.
    ids = {"n2": "x1BFOLMlw-Pw3WNOCZCZbw", "n0": "bQuVx4fOJroRuZjMQql1UA"}
    held = {"88": ([], [6]), "31": ([0, 3], [0, 1, 3, 7, 5, 8]), "20": ([1, 2], [2, 3, 4, 5, 6, 7, 8, 1])}
    names = {"88": "consumer-88-f4d523e29855e942", "31": "consumer-31-5064b2ec25097d7d", "20": "consumer-20-ab4d475f07a7b698"}
    members = [
        Member(names[short], ("n0", "n2"), owned=(*(("n0", n) for n in first), *(("n2", n) for n in second)))
        for short, (first, second) in held.items()
    ]
    answer = share_simple.assign({"n2": 9, "n0": 4}, ids, members, assignable={"n2": [0, 1, 2, 3, 4, 5, 6, 8]})
    assert sorted(answer[names["31"]]) == [("n0", 0), ("n2", 5), ("n2", 7)]
    assert sorted(answer[names["88"]]) == [("n2", 1), ("n2", 6)]
