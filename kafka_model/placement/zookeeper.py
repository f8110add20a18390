"""Replica placement with a ZooKeeper controller: AdminUtils.assignReplicasToBrokers (Kafka 2.0.0 to 3.9.2).

AdminUtils draws a start index and a shift at random. Here they are arguments, so that a placement can be repeated or recovered.

Without racks, the first replica goes round robin over the brokers from the start index. Followers are `shift` brokers behind the first
replica; the shift grows by one with each round. Brokers 0, 1, 2, replication factor 3, start index 2, shift 1:

    >>> place_rack_unaware([0, 1, 2], 6, 3, start_index=2, shift=1)
    [(2, 1, 0), (0, 2, 1), (1, 0, 2), (2, 0, 1), (0, 1, 2), (1, 2, 0)]

With racks, the brokers are first put in an order in which racks alternate. A follower skips a rack that already has a replica while
another rack has none:

    >>> alternate_racks({0: "1", 1: "1", 2: "1", 3: "2", 4: "2", 5: "2"})
    [0, 3, 1, 4, 2, 5]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafka_model.java.hash_map import string_order
from kafka_model.placement.errors import InvalidPartitions, InvalidReplicationFactor, MixedRacks


def place(
    brokers: Mapping[int, str | None],
    partitions: int,
    replication_factor: int,
    *,
    start_index: int,
    shift: int,
    start_partition: int = 0,
) -> list[tuple[int, ...]]:
    """Place each partition: rack-aware if all brokers have a rack, rack-unaware if none has one. The order of the brokers matters."""
    _validate(partitions, replication_factor, len(brokers))
    racks = {broker: rack for broker, rack in brokers.items() if rack is not None}
    if not racks:
        return place_rack_unaware(
            list(brokers), partitions, replication_factor, start_index=start_index, shift=shift, start_partition=start_partition
        )
    if len(racks) < len(brokers):
        raise MixedRacks(f"brokers without a rack: {sorted(set(brokers) - set(racks))}; give all brokers a rack, or none")
    return place_rack_aware(racks, partitions, replication_factor, start_index=start_index, shift=shift, start_partition=start_partition)


def place_rack_unaware(
    brokers: Sequence[int], partitions: int, replication_factor: int, *, start_index: int, shift: int, start_partition: int = 0
) -> list[tuple[int, ...]]:
    """Place each partition without racks, preferred leader first. The order of the brokers matters."""
    _validate(partitions, replication_factor, len(brokers))
    return [
        replicas_rack_unaware(brokers, first_index, grown_shift, replication_factor)
        for first_index, grown_shift in _first_indexes_and_shifts(len(brokers), partitions, start_index, shift, start_partition)
    ]


def place_rack_aware(
    racks: Mapping[int, str], partitions: int, replication_factor: int, *, start_index: int, shift: int, start_partition: int = 0
) -> list[tuple[int, ...]]:
    """Place each partition on as many racks as possible, preferred leader first."""
    _validate(partitions, replication_factor, len(racks))
    arranged = alternate_racks(racks)
    return [
        replicas_rack_aware(racks, arranged, first_index, grown_shift, replication_factor)
        for first_index, grown_shift in _first_indexes_and_shifts(len(racks), partitions, start_index, shift, start_partition)
    ]


def replicas_rack_unaware(brokers: Sequence[int], first_index: int, shift: int, replication_factor: int) -> tuple[int, ...]:
    """Place one partition without racks.

    Only `first_index` modulo the number of brokers matters, and `shift` modulo that number less one.
    """
    followers = (_replica_index(first_index, shift, nth, len(brokers)) for nth in range(replication_factor - 1))
    return (brokers[first_index % len(brokers)], *(brokers[index] for index in followers))


def replicas_rack_aware(
    racks: Mapping[int, str], arranged: Sequence[int], first_index: int, shift: int, replication_factor: int
) -> tuple[int, ...]:
    """Place one partition over the brokers in the order of `alternate_racks`.

    As without racks, only `first_index` and `shift` modulo the number of brokers, and that number less one, matter.
    """
    rack_count = len(set(racks.values()))
    replicas = [arranged[first_index % len(arranged)]]
    used_racks = {racks[replicas[0]]}
    nth = 0
    while len(replicas) < replication_factor:
        broker = arranged[_replica_index(first_index, shift * rack_count, nth, len(arranged))]
        if broker not in replicas and (racks[broker] not in used_racks or len(used_racks) == rack_count):
            replicas.append(broker)
            used_racks.add(racks[broker])
        nth += 1
    return tuple(replicas)


def alternate_racks(racks: Mapping[int, str]) -> list[int]:
    """Order the brokers so that racks alternate: racks by name in Java's order, brokers by id within a rack."""
    brokers_by_rack: dict[str, list[int]] = {}
    for broker in sorted(racks):
        brokers_by_rack.setdefault(racks[broker], []).append(broker)
    queues = [brokers_by_rack[rack] for rack in sorted(brokers_by_rack, key=string_order)]
    longest = max(map(len, queues), default=0)
    return [queue[nth] for nth in range(longest) for queue in queues if nth < len(queue)]


def added_partitions_start_index(brokers: Sequence[int], first_replica: int) -> int:
    """Compute the start index that AdminZkClient uses to add partitions to a topic.

    It is the first broker, in the given order, whose id is not below the first replica of partition 0.
    """
    return next((index for index, broker in enumerate(brokers) if broker >= first_replica), 0)


def _validate(partitions: int, replication_factor: int, brokers: int) -> None:
    if partitions <= 0:
        raise InvalidPartitions(f"{partitions} partitions: at least one is needed")
    if replication_factor <= 0:
        raise InvalidReplicationFactor(f"replication factor {replication_factor}: at least one replica is needed")
    if replication_factor > brokers:
        raise InvalidReplicationFactor(f"replication factor {replication_factor} is larger than the number of brokers, {brokers}")


def _first_indexes_and_shifts(brokers: int, partitions: int, start_index: int, shift: int, start_partition: int) -> list[tuple[int, int]]:
    """List, for each partition, the index of its first replica and the shift of its followers.

    The shift grows by one at each partition number, from `start_partition` on, that is a multiple of the number of brokers.
    """
    start_partition = max(0, start_partition)
    earlier_rounds = max(0, start_partition - 1) // brokers
    return [
        ((partition + start_index) % brokers, shift + partition // brokers - earlier_rounds)
        for partition in range(start_partition, start_partition + partitions)
    ]


def _replica_index(first_index: int, shift: int, nth: int, brokers: int) -> int:
    return (first_index + 1 + (shift + nth) % (brokers - 1)) % brokers
