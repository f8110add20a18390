import pytest

from kafka_model.assignor import cooperative_sticky, sticky
from kafka_model.assignor.group import BrokenClaims, EmptyGroup, Member
from kafka_model.release import UnknownVersion


def test_a_newcomer_takes_what_the_others_hold_above_their_quota():
    members = [_holder("A", 0, 2, 4), _holder("B", 1, 3, 5), Member("C", ("T",))]
    assert sticky.assign({"T": 6}, members) == {"A": _of_t(0, 2), "B": _of_t(1, 3), "C": _of_t(4, 5)}


def test_cooperative_withholds_for_one_round_what_changes_hands():
    members = [_holder("A", 0, 2, 4), _holder("B", 1, 3, 5), Member("C", ("T",))]
    first = cooperative_sticky.assign({"T": 6}, members)
    assert first == {"A": _of_t(0, 2), "B": _of_t(1, 3), "C": []}
    then = [Member(member, ("T",), owned=tuple(owned), generation=2) for member, owned in first.items()]
    assert cooperative_sticky.assign({"T": 6}, then) == {"A": _of_t(0, 2), "B": _of_t(1, 3), "C": _of_t(4, 5)}


def test_a_claim_by_two_goes_to_the_higher_generation():
    members = [_holder("A", 0, generation=1), _holder("B", 0, generation=2)]
    assert sticky.assign({"T": 2}, members) == {"A": _of_t(1), "B": _of_t(0)}


def test_a_clash_looks_at_the_subscriptions_generation_of_the_member_met_first():
    members = [_holder("A", 0, generation=2), _holder("B", 0, generation=1)]
    assert sticky.assign({"T": 2}, members)["A"] == _of_t(0)
    assert sticky.assign({"T": 2}, members, subscription_generations={"A": None})["B"] == _of_t(0)


def test_a_claim_by_two_of_one_generation_counts_for_neither():
    members = [_holder("A", 1), _holder("B", 1)]
    assert sticky.assign({"T": 2}, members) == {"A": _of_t(0), "B": _of_t(1)}


def test_a_first_member_without_topics_is_dealt_what_it_does_not_subscribe_to():
    assert sticky.assign({"T": 2}, [Member("A", ()), Member("B", ("T",))]) == {"A": _of_t(0), "B": _of_t(1)}


def test_a_later_member_without_topics_gets_nothing():
    assert sticky.assign({"T": 2}, [Member("B", ()), Member("A", ("T",))]) == {"A": _of_t(0, 1), "B": []}


def test_a_claim_to_a_partition_that_is_gone_can_leave_nobody_to_fill():
    with pytest.raises(BrokenClaims):
        sticky.assign({"T": 2}, [_holder("A", 7), _holder("B", 0)])


@pytest.mark.parametrize("assignor", [sticky, cooperative_sticky])
def test_a_group_without_members_is_refused(assignor):
    with pytest.raises(EmptyGroup):
        assignor.assign({"T": 2}, [])


def test_a_topic_without_metadata_is_left_out():
    assert sticky.assign({"T": 1}, [Member("A", ("gone", "T"), owned=(("gone", 0),), generation=1)]) == {"A": _of_t(0)}


def _holder(member_id: str, *partitions: int, generation: int = 1) -> Member:
    return Member(member_id, ("T",), owned=tuple(_of_t(*partitions)), generation=generation)


def _of_t(*partitions: int) -> list[tuple[str, int]]:
    return [("T", partition) for partition in partitions]


def test_before_3_7_1_a_member_keeps_what_it_names_first():
    members = [_holder("A", 4, 2, 0), _holder("B", 1, 3, 5), Member("C", ("T",))]
    assert sticky.assign({"T": 6}, members, version="3.6.2")["A"] == _of_t(4, 2)
    assert sticky.assign({"T": 6}, members, version="3.7.1")["A"] == _of_t(0, 2)


@pytest.mark.parametrize("assign", [sticky.assign, cooperative_sticky.assign])
@pytest.mark.parametrize("version", ["2.0.0", "2.4.1", "3.5.1"])
def test_an_older_version_is_refused(assign, version):
    with pytest.raises(UnknownVersion, match=version):
        assign({"T": 6}, [_holder("A", 0)], version=version)
