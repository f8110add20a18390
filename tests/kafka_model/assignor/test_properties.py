"""Properties of assignments for random groups."""

import base64
import builtins
import hashlib
from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from kafka_model.assignor import cooperative_sticky, range, round_robin, share_simple, sticky, uniform
from kafka_model.assignor.group import Assignment, Member

TOPICS = st.dictionaries(st.text("abcAB\U0001f600\uffee", min_size=1, max_size=3), st.integers(1, 12), min_size=1, max_size=5)
IDS = st.sets(st.text("mnAaBC#\U0001f600\uffee", min_size=1, max_size=4), min_size=1, max_size=9).map(sorted)


@st.composite
def groups(draw: st.DrawFn, *, equal: bool = False) -> tuple[dict[str, int], list[Member]]:
    topics = draw(TOPICS)
    subscription = st.just(tuple(topics)) if equal else st.sets(st.sampled_from(sorted(topics))).map(sorted).map(tuple)
    return topics, [Member(member_id, draw(subscription)) for member_id in draw(IDS)]


EQUAL, ANY = groups(equal=True), groups()


def assign_uniform(topics: dict[str, int], members: list[Member]) -> Assignment:
    return uniform.assign(topics, topic_ids(topics), members)


def topic_ids(topics: dict[str, int]) -> dict[str, str]:
    return {topic: base64.urlsafe_b64encode(hashlib.md5(topic.encode()).digest()).decode().rstrip("=") for topic in topics}


def with_owned(members: list[Member], assignment: Assignment) -> list[Member]:
    return [replace(member, owned=tuple(assignment.get(member.member_id, ())), generation=1) for member in members]


def as_sets(assignment: Assignment) -> dict[str, set[tuple[str, int]]]:
    return {member: set(owned) for member, owned in assignment.items()}


@given(ANY)
def test_each_subscribed_partition_is_assigned_to_one_subscriber(group):
    topics, members = group
    subscribed = {(topic, partition) for member in members for topic in member.topics for partition in builtins.range(topics[topic])}
    subscriptions = {member.member_id: set(member.topics) for member in members}
    for assign in (range.assign, round_robin.assign, assign_uniform):
        answer = assign(topics, members)
        assert Counter(pair for owned in answer.values() for pair in owned) == dict.fromkeys(subscribed, 1)
        assert all(topic in subscriptions[member] for member, owned in answer.items() for topic, _ in owned)
    for assign in (sticky.assign, cooperative_sticky.assign):
        assert Counter(pair for owned in assign(topics, members).values() for pair in owned) == dict.fromkeys(subscribed, 1)


@given(EQUAL)
def test_equal_subscriptions_differ_by_one_partition_at_most(group):
    topics, members = group
    for assign in (round_robin.assign, sticky.assign, cooperative_sticky.assign, assign_uniform):
        sizes = [len(owned) for owned in assign(topics, members).values()]
        assert max(sizes) - min(sizes) <= 1


@given(ANY)
def test_range_divides_each_topic_evenly(group):
    topics, members = group
    answer = range.assign(topics, members)
    for topic in topics:
        sizes = [sum(name == topic for name, _ in answer[member.member_id]) for member in members if topic in member.topics]
        assert not sizes or max(sizes) - min(sizes) <= 1


@given(ANY)
def test_a_second_assignment_changes_nothing(group):
    topics, members = group
    for assign in (sticky.assign, cooperative_sticky.assign, assign_uniform):
        first = assign(topics, members)
        assert as_sets(assign(topics, with_owned(members, first))) == as_sets(first)


@given(EQUAL)
def test_remaining_members_keep_all_partitions_when_a_member_leaves(group):
    topics, members = group
    for assign in (sticky.assign, assign_uniform):
        assigned_before = as_sets(assign(topics, members))
        assigned_after = as_sets(assign(topics, with_owned(members, assign(topics, members))[1:])) if members[1:] else {}
        assert all(assigned_before[member] <= owned for member, owned in assigned_after.items())


@given(EQUAL)
def test_partitions_move_only_to_a_new_member(group):
    topics, members = group
    new = Member("new", members[0].topics)
    for assign in (sticky.assign, assign_uniform):
        assigned_before = as_sets(assign(topics, members))
        assigned_after = as_sets(assign(topics, [*with_owned(members, assign(topics, members)), new]))
        assert all(assigned_after[member] <= owned for member, owned in assigned_before.items())


@given(EQUAL)
def test_two_cooperative_rounds_equal_one_sticky_round(group):
    topics, members = group
    joined = [*with_owned(members, sticky.assign(topics, members)), Member("new", members[0].topics)]
    first = cooperative_sticky.assign(topics, joined)
    assert first["new"] == []
    second = cooperative_sticky.assign(topics, with_owned(joined, first))
    assert as_sets(second) == as_sets(sticky.assign(topics, joined))


@given(EQUAL)
def test_in_a_share_group_every_partition_has_a_member_and_every_member_a_partition(group):
    topics, members = group
    answer = share_simple.assign(topics, topic_ids(topics), members)
    every = {(topic, partition) for topic, partitions in topics.items() for partition in builtins.range(partitions)}
    assert {pair for owned in answer.values() for pair in owned} == every
    assert all(answer.values())
    assert as_sets(share_simple.assign(topics, topic_ids(topics), with_owned(members, answer))) == as_sets(answer)
