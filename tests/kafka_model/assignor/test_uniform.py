import pytest

from kafka_model.assignor import uniform
from kafka_model.assignor.group import BrokenClaims, Member, UnknownTopic
from kafka_model.release import UnknownVersion, parse_release

IDS = {"T": "AAAAAAAAAAEAAAAAAAAAAQ", "U": "RoQThR_ZIXOI8RC0kGA6Rw", "deleted": "4TfRqxApFQBRJmFZL5mvfQ"}


def test_a_new_member_gets_the_partitions_above_the_others_quota():
    members = [_owner("A", 0, 1, 2), _owner("B", 3, 4, 5), Member("C", ("T",))]
    assert uniform.assign({"T": 6}, IDS, members) == {"A": _of_t(0, 1), "B": _of_t(3, 4), "C": _of_t(2, 5)}


def test_with_different_subscriptions_partitions_go_to_the_least_loaded_subscriber():
    members = [Member("A", ("T",)), Member("B", ("T", "U"))]
    assert uniform.assign({"T": 2, "U": 2}, IDS, members) == {"A": _of_t(0, 1), "B": [("U", 0), ("U", 1)]}


def test_partitions_of_unsubscribed_and_deleted_topics_are_revoked():
    members = [Member("A", ("T",), owned=(("U", 0), ("deleted", 0), ("T", 1))), Member("B", ("T",))]
    assert uniform.assign({"T": 2, "U": 1}, IDS, members) == {"A": _of_t(1), "B": _of_t(0)}


@pytest.mark.parametrize("other", [Member("B", ("T",), owned=(("T", 0),)), Member("B", ("U",))], ids=["equal", "different"])
def test_claims_of_partitions_that_do_not_exist_are_refused(other):
    with pytest.raises(BrokenClaims):
        uniform.assign({"T": 3, "U": 1}, IDS, [_owner("A", 4, 5, 6), other])


def test_an_unknown_topic_id_is_refused():
    with pytest.raises(UnknownTopic, match="no topic id of V"):
        uniform.assign({"U": 2, "V": 2}, IDS, [Member("A", ("U", "V"))])


def test_a_group_without_members_has_an_empty_assignment():
    assert uniform.assign({"T": 2}, IDS, []) == {}


def test_in_4_0_0_the_first_members_get_the_remainder():
    members = [Member(name, ("T",)) for name in "ABC"]
    counts = {
        version: [len(owned) for owned in uniform.assign({"T": 4}, IDS, members, version=parse_release(version)).values()]
        for version in ("4.0.0", "4.0.1")
    }
    assert counts == {"4.0.0": [2, 1, 1], "4.0.1": [1, 1, 2]}


def test_since_4_0_1_the_owner_of_the_only_partition_keeps_it():
    members = [Member("a", ("T",)), _owner("b", 0)]
    assert uniform.assign({"T": 1}, IDS, members, version=parse_release("4.0.1")) == {"a": [], "b": _of_t(0)}


def test_versions_before_4_0_are_refused():
    with pytest.raises(UnknownVersion, match=r"3\.9\.2"):
        uniform.assign({"T": 4}, IDS, [Member("A", ("T",))], version=parse_release("3.9.2"))


def _owner(member_id: str, *partitions: int) -> Member:
    return Member(member_id, ("T",), owned=tuple(_of_t(*partitions)))


def _of_t(*partitions: int) -> list[tuple[str, int]]:
    return [("T", partition) for partition in partitions]
