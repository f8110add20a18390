"""Assignments that start from an earlier one, compared with the observed one."""

from __future__ import annotations

import pytest

from jobs.steps.group_assignors import Group, assign, depends_on_version, observed_differences
from kafka_model.assignor.group import Member, TopicPartition
from kafka_model.release import LATEST, Release


def differences(observed: dict[str, list[int]], assignor: str = "sticky", racks: tuple[str | None, str | None] = ("c", "b")) -> int | None:
    """Compare an observed assignment of topic T, with partitions on the racks b, c and a, to members C1 and C2."""
    assignment: dict[str, list[TopicPartition]] = {member: [("T", number) for number in numbers] for member, numbers in observed.items()}
    members = [Member(id, ("T",), rack=rack) for id, rack in zip(("C1", "C2"), racks, strict=True)]
    group = Group(
        "classic", assignor, True, LATEST, LATEST, members, True, True, {"T": 3}, {}, [None], {"T": [["b"], ["c"], ["a"]]}, assignment
    )
    return observed_differences(assignor, group, assign(assignor, group, members))


@pytest.mark.parametrize("assignor", ["sticky", "cooperative-sticky"])
def test_an_assignment_from_nothing_is_right_although_the_next_one_by_racks_moves_a_partition(assignor: str) -> None:
    """From nothing C2 gets partition 2, which is on neither rack. The next assignment takes it away from C2, and gives it to C1."""
    assert differences({"C1": [1], "C2": [0, 2]}, assignor) == 0
    assert differences({"C1": [1, 2], "C2": [0]}, assignor) == 0


def test_an_assignment_by_racks_that_is_as_even_may_follow_from_an_earlier_one() -> None:
    assert differences({"C1": [0], "C2": [1, 2]}) is None
    # A less even one is never the result.
    assert differences({"C1": [], "C2": [0, 1, 2]}) == 1


def test_without_racks_members_keep_an_even_assignment() -> None:
    assert differences({"C1": [0], "C2": [1, 2]}, racks=(None, None)) == 0
    assert differences({"C1": [0], "C2": [1]}, racks=(None, None)) == 1


@pytest.mark.parametrize(
    ("protocol", "assignor", "assignors"),
    [
        ("classic", "sticky", ["range", "roundrobin", "sticky"]),
        ("share", "simple", ["simple"]),
        ("streams", "sticky", []),
        ("streams", None, []),
    ],
)
def test_a_streams_group_has_no_assignor_of_partitions(protocol: str, assignor: str | None, assignors: list[str]) -> None:
    group = Group(protocol, assignor, True, LATEST, LATEST, [Member("C1", ("T",))], True, True, {"T": 3}, {}, [None], {}, {})
    assert [*group.assignors] == assignors


def test_uniform_of_4_0_0_gives_the_remainder_to_the_first_members() -> None:
    """C2 owns the only partition: since 4.0.1 it keeps it, in 4.0.0 it goes to C1."""
    members = [Member("C1", ("T",)), Member("C2", ("T",))]

    def answer(version: Release, oldest: Release) -> tuple[list[str], bool]:
        observed: dict[str, list[TopicPartition]] = {"C2": [("T", 0)]}
        topic_ids = {"T": "AAAAAAAAAAEAAAAAAAAAAQ"}
        group = Group("consumer", "uniform", True, version, oldest, members, True, True, {"T": 1}, topic_ids, [None], {}, observed)
        assignment = assign("uniform", group, members)
        return [member for member, assigned in assignment.items() if assigned], depends_on_version("uniform", group, members, assignment)

    assert answer(Release(4, 0, 2), Release(4, 0, 0)) == (["C2"], True)
    assert answer(Release(4, 0, 0), Release(4, 0, 0)) == (["C1"], False)
    assert answer(Release(4, 1, 2), Release(4, 1, 0)) == (["C2"], False)
