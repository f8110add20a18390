"""Random consumer groups, edge cases included, for the algorithms that assign partitions to members."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable
from typing import Any

from kafka_model.assignor.group import Assignment, Member, TopicPartition
from kafka_model.java.hash_map import string_order

# Names with equal String.hashCode (Aa and BB), and characters at and beyond the end of the BMP: difficult for an order by hash or by
# code point.
_SYLLABLES = ("Aa", "BB", "C#")
_LETTERS = ("a", "Z", "é", "中", "\ue000", "\uffee", "\U0001f600", "\U00010000", "-", ".")
RACKS = ("a", "b", "c", "d")


def names(rng: random.Random, count: int) -> list[str]:
    """Draw this number of distinct names, all of one random kind."""
    kind = rng.randrange(6)
    made: dict[str, None] = {}
    while len(made) < count:
        number = len(made)
        if kind == 0:
            made[f"n{number}"] = None
        elif kind == 1:
            made["".join(rng.choices(_SYLLABLES, k=rng.randint(3, 6)))] = None
        elif kind == 2:
            made["".join(rng.choices(_LETTERS, k=rng.randint(1, 4)))] = None
        else:
            made[f"consumer-{rng.randrange(100)}-{rng.getrandbits(64):016x}"] = None
    shuffled = list(made)
    rng.shuffle(shuffled)
    return shuffled


def small_number(rng: random.Random, *, usual: int, rarely: int) -> int:
    """Draw a number up to `usual`, in 6 % of the draws one up to `rarely`."""
    return rng.randint(0, rarely) if rng.random() < 0.06 else rng.randint(0, usual)


def group(rng: random.Random, *, claims: bool) -> dict[str, Any]:
    """Draw topics with the racks of their replicas, and members with subscriptions, racks and instance ids.

    With `claims`, members also have partitions that they owned and a generation.
    """
    known = names(rng, max(1, small_number(rng, usual=5, rarely=30)))
    topics = {
        name: [[None]] * max(1, small_number(rng, usual=9, rarely=40)) for name in known[: rng.randint(min(1, len(known)), len(known))]
    }
    members = [_member(member_id) for member_id in names(rng, 0 if rng.random() < 0.02 else 1 + small_number(rng, usual=6, rarely=34))]
    _subscribe(rng, known, members)
    if rng.random() < 0.35:
        _make_static(rng, members)
    if rng.random() < 0.45:
        _put_on_racks(rng, topics, members)
    if claims and members and rng.random() < 0.8:
        _own(rng, known, topics, members)
    rng.shuffle(members)
    if not claims:
        members = [{key: member[key] for key in ("id", "topics", "instance", "rack")} for member in members]
    return {"topics": topics, "members": members}


def _member(member_id: str) -> dict[str, Any]:
    return {
        "id": member_id, "topics": [], "instance": None, "rack": None, "owned": [], "generation": None, "subscription_generation": None,
    }  # fmt: skip


def _subscribe(rng: random.Random, known: list[str], members: list[dict[str, Any]]) -> None:
    equal_subscriptions = rng.random() < 0.55
    common = rng.sample(known, rng.randint(1, len(known)))
    for member in members:
        member["topics"] = rng.sample(common, len(common)) if equal_subscriptions else rng.sample(known, rng.randint(0, len(known)))
    if members and rng.random() < 0.2:
        rng.choice(members)["topics"] = rng.sample(known, rng.randint(0, len(known)))
    if members and rng.random() < 0.1:
        rng.choice(members)["topics"] = []


def _make_static(rng: random.Random, members: list[dict[str, Any]]) -> None:
    instances = names(rng, len(members))
    for member, instance in zip(members, instances, strict=True):
        if rng.random() < 0.6:
            member["instance"] = instance


def _put_on_racks(rng: random.Random, topics: dict[str, Any], members: list[dict[str, Any]]) -> None:
    racks = RACKS[: rng.randint(1, len(RACKS))]
    rackless = rng.random() < 0.3
    for topic, partitions in topics.items():
        replicas = rng.randint(1, len(racks))
        everywhere = rng.random() < 0.1
        topics[topic] = [
            list(racks) if everywhere else [None if rackless and rng.random() < 0.2 else rack for rack in rng.choices(racks, k=replicas)]
            for _ in partitions
        ]
    for member in members:
        member["rack"] = rng.choice([*racks, *racks, *racks, None, "", "elsewhere"])


def _own(rng: random.Random, known: list[str], topics: dict[str, Any], members: list[dict[str, Any]]) -> None:
    """Draw an earlier assignment: topics and members have changed since, and some claims conflict."""
    owned_pairs = [(topic, partition) for topic in known for partition in range(len(topics.get(topic, [0] * 3)))]
    rng.shuffle(owned_pairs)
    holders = rng.sample(members, rng.randint(1, len(members)))
    faithful = rng.random() < 0.8
    for number, partition in enumerate(owned_pairs):
        if rng.random() < 0.1:
            continue
        holder = holders[number % len(holders)] if rng.random() < 0.8 else rng.choice(holders)
        if not faithful or partition[0] in holder["topics"] or rng.random() < 0.03:
            holder["owned"].append(list(partition))
    if rng.random() < 0.3:
        for _ in range(rng.randint(1, 4)):
            rng.choice(members)["owned"].append(list(rng.choice(owned_pairs)))
    if rng.random() < 0.06:
        topic = rng.choice(known)
        rng.choice(members)["owned"].append([topic, len(topics.get(topic, ())) + rng.randrange(3)])
    if rng.random() < 0.5:
        for member in members:
            member["owned"].sort()
    now = rng.choice([None, 0, 5])
    for member in members:
        member["generation"] = now
        if rng.random() < 0.2:
            member["generation"] = rng.choice([None, -1, 3, 4, 6])
        member["subscription_generation"] = member["generation"] if rng.random() < 0.8 else rng.choice([None, 3, 5])


def maybe_packed(rng: random.Random, drawn: dict[str, Any]) -> dict[str, Any]:
    """Let Kafka's client encode the subscriptions in 30 % of the cases: it sorts topics, orders owned partitions, and always has a generation."""
    drawn["packed"] = rng.random() < 0.3
    for member in drawn["members"] if drawn["packed"] else ():
        member["topics"].sort(key=string_order)
        if member["generation"] is None:
            member["generation"] = -1
    return drawn


def as_members(
    case: dict[str, Any],
    *,
    static: bool = True,
    racks: bool = True,
    pack: Callable[[list[TopicPartition]], tuple[TopicPartition, ...]] = tuple,
) -> list[Member]:
    """Convert the members of a case to the model's class. `pack` orders what they own if the case is packed."""
    return [
        Member(
            member["id"],
            tuple(member["topics"]),
            member["instance"] if static else None,
            member.get("rack") if racks else None,
            _owned(member, pack if case.get("packed") else tuple),
            member.get("generation"),
        )
        for member in case["members"]
    ]


def _owned(member: dict[str, Any], pack: Callable[[list[TopicPartition]], tuple[TopicPartition, ...]]) -> tuple[TopicPartition, ...]:
    return pack([(topic, partition) for topic, partition in member.get("owned", ())])


def counts(case: dict[str, Any]) -> dict[str, int]:
    """Count the partitions of each topic of a case."""
    return {topic: len(partitions) for topic, partitions in case["topics"].items()}


def racks_of(case: dict[str, Any]) -> dict[str, list[list[str]]]:
    """List the racks of each partition's replicas, without replicas that have none."""
    return {
        topic: [[rack for rack in replicas if rack is not None] for replicas in racks_by_partition]
        for topic, racks_by_partition in case["topics"].items()
    }


def sorted_by_topic(assignment: Assignment, key: Callable[[str], bytes]) -> Assignment:
    """Sort the partitions of each member by topic, in the order of `key`, and number."""
    return {member: sorted(owned, key=lambda pair: (key(pair[0]), pair[1])) for member, owned in assignment.items()}


def contested_group(rng: random.Random) -> dict[str, Any]:
    """Draw a group in which one or two members own nearly all partitions.

    Others claim the same partitions in older generations, and some claim partitions that do not exist.
    """
    topics: dict[str, Any] = {f"t{number}": [[None]] * rng.randint(1, 12) for number in range(rng.randint(2, 5))}
    members = [_member(member_id) for member_id in names(rng, rng.randint(2, 7))]
    for member in members:
        member["topics"] = rng.sample(sorted(topics), rng.randint(0 if rng.random() < 0.2 else 1, len(topics)))
        member["generation"] = member["subscription_generation"] = 5 if rng.random() < 0.6 else rng.choice([3, 4, None])
    if rng.random() < 0.3:
        _put_on_racks(rng, topics, members)
    owned_pairs = [[topic, partition] for topic, partitions in topics.items() for partition in range(len(partitions))]
    holders = rng.sample(members, rng.randint(1, 2))
    for pair in rng.sample(owned_pairs, len(owned_pairs)):
        holder = rng.choice(holders if rng.random() < 0.8 else members)
        if pair[0] in holder["topics"] or rng.random() < 0.1:
            holder["owned"].append(pair)
    beyond = rng.random() < 0.5
    for member in members:
        for topic in rng.choices(sorted(topics), k=rng.randint(1, 6) if beyond and rng.random() < 0.5 else 0):
            member["owned"].append([topic, len(topics[topic]) + rng.randrange(4)])
        member["owned"] += rng.choices(owned_pairs, k=rng.randint(0, 4))
    return {"topics": topics, "members": members}


def modern_group(rng: random.Random) -> dict[str, Any]:
    """Draw a group of the coordinator's protocol: topics with ids, members that own the current target, deleted topics in both."""
    drawn = group(rng, claims=True)
    named = dict.fromkeys([*drawn["topics"], *(topic for member in drawn["members"] for topic in member["topics"])])
    named |= dict.fromkeys(topic for member in drawn["members"] for topic, _ in member["owned"])
    ids = {topic: base64.urlsafe_b64encode(rng.randbytes(16)).decode().rstrip("=") for topic in named}
    claimed: set[tuple[str, int]] = set()
    for member in drawn["members"]:
        owned = {(topic, partition): None for topic, partition in member["owned"] if partition < len(drawn["topics"].get(topic, [0] * 3))}
        member["owned"] = [pair for pair in owned if pair not in claimed]
        claimed.update(owned)
    if rng.random() < 0.2:
        _hold_by_stride(rng, drawn)
    members = [{key: member[key] for key in ("id", "topics", "instance", "owned")} for member in drawn["members"]]
    return {"topics": {topic: len(partitions) for topic, partitions in drawn["topics"].items()}, "ids": ids, "members": members}


def share_group(rng: random.Random) -> dict[str, Any]:
    """Draw a share group: several members own a partition, and some partitions are not assignable yet."""
    drawn = modern_group(rng)
    owned_pairs = [(topic, number) for topic, partitions in drawn["topics"].items() for number in range(partitions)]
    if rng.random() < 0.6 and owned_pairs:
        for member in drawn["members"]:
            drawn_pairs = rng.sample(owned_pairs, rng.randint(0, min(5, len(owned_pairs))))
            more = [pair for pair in drawn_pairs if pair[0] in member["topics"] or rng.random() < 0.1]
            member["owned"] = list(dict.fromkeys([*map(tuple, member["owned"]), *more]))
    if rng.random() < 0.2:
        drawn["assignable"] = {topic: [n for n in range(partitions) if rng.random() < 0.8] for topic, partitions in drawn["topics"].items()}
        drawn["assignable"].pop(rng.choice(sorted(drawn["topics"])), None)
    return drawn


def _hold_by_stride(rng: random.Random, drawn: dict[str, Any]) -> None:
    """Let one or more members own all partitions, at strides that put their numbers into one bin of a HashSet."""
    if not drawn["members"]:
        return
    holders = rng.sample(drawn["members"], rng.randint(1, len(drawn["members"])))
    for member in drawn["members"]:
        member["owned"] = []
    stride = rng.choice((1, 16, 32, 64))
    longest = rng.choice(sorted(drawn["topics"]))
    for topic in rng.sample(sorted(drawn["topics"]), len(drawn["topics"])):
        if topic == longest:
            drawn["topics"][topic] = drawn["topics"][topic][:1] * stride * rng.randint(1, 14)
        for number in range(0, len(drawn["topics"][topic]), stride):
            holder = holders[number // stride % len(holders)] if rng.random() < 0.9 else rng.choice(holders)
            if topic in holder["topics"]:
                holder["owned"].append([topic, number])
