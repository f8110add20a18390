import pytest

from kafka_model.assignor import cooperative_sticky, sticky
from kafka_model.assignor.group import BrokenClaims, EmptyGroup, Member
from kafka_model.release import UnknownVersion, parse_release


def test_a_new_member_gets_the_partitions_above_the_others_quota():
    members = [_owner("A", 0, 2, 4), _owner("B", 1, 3, 5), Member("C", ("T",))]
    assert sticky.assign({"T": 6}, members) == {"A": _of_t(0, 2), "B": _of_t(1, 3), "C": _of_t(4, 5)}


def test_cooperative_assigns_moved_partitions_only_in_the_second_round():
    members = [_owner("A", 0, 2, 4), _owner("B", 1, 3, 5), Member("C", ("T",))]
    first = cooperative_sticky.assign({"T": 6}, members)
    assert first == {"A": _of_t(0, 2), "B": _of_t(1, 3), "C": []}
    second = [Member(member, ("T",), owned=tuple(owned), generation=2) for member, owned in first.items()]
    assert cooperative_sticky.assign({"T": 6}, second) == {"A": _of_t(0, 2), "B": _of_t(1, 3), "C": _of_t(4, 5)}


def test_the_claim_of_the_higher_generation_wins():
    members = [_owner("A", 0, generation=1), _owner("B", 0, generation=2)]
    assert sticky.assign({"T": 2}, members) == {"A": _of_t(1), "B": _of_t(0)}


def test_conflicting_claims_compare_the_subscription_generation_of_the_first_member():
    members = [_owner("A", 0, generation=2), _owner("B", 0, generation=1)]
    assert sticky.assign({"T": 2}, members)["A"] == _of_t(0)
    assert sticky.assign({"T": 2}, members, subscription_generations={"A": None})["B"] == _of_t(0)


def test_neither_of_two_claims_in_one_generation_wins():
    members = [_owner("A", 1), _owner("B", 1)]
    assert sticky.assign({"T": 2}, members) == {"A": _of_t(0), "B": _of_t(1)}


def test_a_first_member_without_topics_gets_unsubscribed_partitions():
    assert sticky.assign({"T": 2}, [Member("A", ()), Member("B", ("T",))]) == {"A": _of_t(0), "B": _of_t(1)}


def test_a_later_member_without_topics_gets_nothing():
    assert sticky.assign({"T": 2}, [Member("B", ()), Member("A", ("T",))]) == {"A": _of_t(0, 1), "B": []}


def test_a_claim_of_a_partition_that_does_not_exist_can_be_refused():
    with pytest.raises(BrokenClaims):
        sticky.assign({"T": 2}, [_owner("A", 7), _owner("B", 0)])


@pytest.mark.parametrize("assignor", [sticky, cooperative_sticky])
def test_a_group_without_members_is_refused(assignor):
    with pytest.raises(EmptyGroup):
        assignor.assign({"T": 2}, [])


def test_a_topic_without_metadata_is_skipped():
    assert sticky.assign({"T": 1}, [Member("A", ("deleted", "T"), owned=(("deleted", 0),), generation=1)]) == {"A": _of_t(0)}


def test_before_3_7_1_a_member_keeps_the_partitions_that_it_lists_first():
    members = [_owner("A", 4, 2, 0), _owner("B", 1, 3, 5), Member("C", ("T",))]
    assert sticky.assign({"T": 6}, members, version=parse_release("3.6.2"))["A"] == _of_t(4, 2)
    assert sticky.assign({"T": 6}, members, version=parse_release("3.7.1"))["A"] == _of_t(0, 2)


@pytest.mark.parametrize("version", ["3.5.0", "3.5.1"])
def test_before_3_5_2_a_lost_claim_hides_the_owner_from_the_next_claim(version):
    """A and C get partition 0: C is compared with B, whose claim A has beaten."""
    members = [_owner("A", 0, generation=3), _owner("B", 0, generation=1), _owner("C", 0, generation=2)]
    assert sticky.assign({"T": 4}, members, version=parse_release(version)) == {"A": _of_t(0, 2), "B": _of_t(1), "C": _of_t(0, 3)}
    assert sticky.assign({"T": 4}, members, version=parse_release("3.5.2")) == {"A": _of_t(0, 3), "B": _of_t(1), "C": _of_t(2)}
    with pytest.raises(BrokenClaims):
        sticky.assign({"T": 2}, members, version=parse_release(version))


@pytest.mark.parametrize("version", ["3.5.0", "3.5.1"])
def test_before_3_5_2_a_difference_of_one_can_move_a_partition_to_an_earlier_owner(version):
    """U-1 moves back to C, although C no longer subscribes to U."""
    members = [
        Member("A", ("U",), owned=(("T", 0),), generation=2),
        Member("B", ("T", "U"), generation=2),
        Member("C", ("T",), owned=(("U", 1),), generation=1),
    ]
    before, since = (sticky.assign({"T": 1, "U": 2}, members, version=parse_release(text)) for text in (version, "3.5.2"))
    assert before == {"A": [("U", 0)], "B": [("T", 0)], "C": [("U", 1)]}
    assert since == {"A": [("U", 0), ("U", 1)], "B": [("T", 0)], "C": []}


def test_owned_partitions_are_packed_by_topic_in_hash_map_order():
    yesterday = [("refunds", 1), ("orders", 4), ("refunds", 0)]
    assert sticky.pack(yesterday) == (("orders", 4), ("refunds", 1), ("refunds", 0))
    assert cooperative_sticky.pack([("t", 1), ("\uffee", 0), ("\U0001f600", 2), ("t", 0)]) == (
        ("t", 0),
        ("t", 1),
        ("\U0001f600", 2),
        ("\uffee", 0),
    )


def test_before_3_7_1_a_member_keeps_the_partitions_that_its_packed_user_data_lists_first():
    """orders comes first in the HashMap, so the member loses refunds-0, although its assignment lists it first."""
    topics = ("orders", "refunds")
    owned = [("refunds", 0), ("orders", 0)]
    members = [Member("A", topics, owned=sticky.pack(owned), generation=1), Member("B", topics)]
    assert sticky.assign({"orders": 1, "refunds": 1}, members, version=parse_release("3.6.2")) == {
        "A": [("orders", 0)],
        "B": [("refunds", 0)],
    }


@pytest.mark.parametrize("assign", [sticky.assign, cooperative_sticky.assign])
@pytest.mark.parametrize("version", ["2.0.0", "2.4.1", "3.4.1"])
def test_versions_before_3_5_are_refused(assign, version):
    with pytest.raises(UnknownVersion, match=version):
        assign({"T": 6}, [_owner("A", 0)], version=parse_release(version))


def _owner(member_id: str, *partitions: int, generation: int = 1) -> Member:
    return Member(member_id, ("T",), owned=tuple(_of_t(*partitions)), generation=generation)


def _of_t(*partitions: int) -> list[tuple[str, int]]:
    return [("T", partition) for partition in partitions]
