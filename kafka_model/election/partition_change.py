"""A change of a partition by the KRaft controller: PartitionChangeBuilder and PartitionRegistration.merge (Kafka 3.5 to 4.4).

A change starts from the new ISR; everything else follows. With eligible leader replicas (KIP-966), in this order:

1. An ISR with at least min.insync.replicas members clears the ELR. With a smaller ISR, all replicas that leave it join the ELR, except
   after an unclean shutdown.
2. The leader stays if it is in the ISR and acceptable. Otherwise the next leader is the first replica of the assignment that is both. If
   the ISR is empty, the ELR takes its role. If both are empty, the last known leader is elected if it is acceptable. Otherwise an
   unclean election elects the first acceptable replica. Otherwise there is no leader. A preferred election tries the first replica
   before the current leader.
3. A leader from the ELR becomes the only member of the ISR, and the others stay in the ELR. An unclean leader becomes the only member of
   the ISR, the ELR becomes empty, and the partition is recovering.
4. A lost leader is recorded as the last known leader if none is recorded. A new leader clears the record.
5. A new leader, a lost leader, and (until metadata version 3.6) a smaller ISR raise the leader epoch. Every change raises the partition
   epoch.

Without ELR the ISR never becomes empty: its last member stays. Earlier releases differ: before 4.1.0, the last known leader is elected
whether it is live or not; before 4.1.1, it is recorded when the ISR becomes empty, and cleared by any change that leaves a leader.
ELR of earlier releases than 3.8.0 has other rules and is refused.

    >>> led = Partition(replicas=(11, 21, 31), leader=11, isr=(11, 21, 31), min_insync_replicas=2)
    >>> two = change(led, isr=(21, 31), acceptable={21, 31}, elr=True)
    >>> one = change(two, isr=(31,), acceptable={31}, elr=True)
    >>> one.leader, one.isr, one.elr
    (31, (31,), (21,))
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from kafka_model.election.partition import Partition
from kafka_model.java.hash_map import hash_map_order
from kafka_model.release import LATEST, Release, UnknownVersion

_NO_LEADER = -1  # Kafka records it as the last known leader if there was none


@dataclass(frozen=True, slots=True)
class Reassignment:
    """All replicas of a partition during a reassignment, and which of them are being added and removed."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()


class Election(Enum):
    """The elections that the controller may hold (PartitionChangeBuilder.Election)."""

    PREFERRED = "preferred"
    ONLINE = "online"
    UNCLEAN = "unclean"


def change(
    partition: Partition,
    *,
    isr: Sequence[int],
    acceptable: Collection[int],
    elr: bool,
    election: Election = Election.ONLINE,
    unclean_shutdown: Collection[int] = (),
    reassignment: Reassignment | None = None,
    recovering: bool | None = None,
    bump_on_isr_shrink: bool = False,
    version: Release = LATEST,
) -> Partition:
    """Compute the partition with this ISR and its leader. Return the same object if nothing changes.

    A reassignment (the current one if none is given) completes when all added replicas are in the ISR. From 3.8 to 4.2, and since 4.3 if
    fewer are added than removed, all replicas that stay must be in the ISR. `recovering` overrides the state that follows from the election.
    `bump_on_isr_shrink`: also a smaller ISR raises the leader epoch; before 3.8, `isr` counts here also if it is empty and not applied.
    """
    if elr and version < Release(3, 8, 0):
        raise UnknownVersion(f"the ELR of Kafka {version} is not modelled: use 3.8 or later")
    current = reassignment or Reassignment(partition.replicas, partition.adding_replicas, partition.removing_replicas)
    current, isr = _complete(current, tuple(isr), version=version)
    eligible = _eligible_leader_replicas(partition, isr, unclean_shutdown) if elr else partition.elr
    leader, may_lose_records = _elect(partition, current.replicas, isr, eligible, acceptable, elr=elr, election=election, version=version)
    leader_changed = leader != partition.leader
    if leader_changed and leader is not None and leader in eligible:
        isr, eligible = (leader,), tuple(replica for replica in eligible if replica != leader)
    unclean = leader_changed and may_lose_records
    if unclean and leader is not None:
        isr, eligible = (leader,), ()
    requested_isr = isr
    if not elr:
        eligible = ()
        isr = isr or partition.isr
    shrunk = bump_on_isr_shrink and not set(partition.isr) <= set(requested_isr if version < Release(3, 8, 0) else isr)
    new_epoch = leader_changed or shrunk or not set(partition.replicas) <= set(current.replicas)
    changed = replace(
        partition,
        replicas=current.replicas,
        leader=leader,
        isr=isr,
        elr=eligible,
        last_known_elr=_last_known_leader(partition, leader, isr, new_epoch=new_epoch, version=version)
        if elr
        else partition.last_known_elr,
        recovering=partition.recovering or unclean if recovering in (None, partition.recovering) else bool(recovering),
        adding_replicas=current.adding,
        removing_replicas=current.removing,
    )
    if changed == partition and not new_epoch:
        return partition
    return replace(changed, leader_epoch=partition.leader_epoch + new_epoch, partition_epoch=partition.partition_epoch + 1)


def _complete(current: Reassignment, isr: tuple[int, ...], *, version: Release) -> tuple[Reassignment, tuple[int, ...]]:
    """Complete the reassignment if possible, and remove the removed replicas from the ISR in that case."""
    staying = tuple(replica for replica in current.replicas if replica not in current.removing)
    in_sync = tuple(replica for replica in isr if replica not in current.removing)
    added_suffice = version < Release(3, 8, 0) or (version >= Release(4, 3, 0) and len(current.adding) >= len(current.removing))
    caught_up = set(current.adding if added_suffice else staying) <= set(in_sync)
    leaves_replicas = not current.removing or (staying and in_sync)
    if (current.adding or current.removing) and caught_up and leaves_replicas:
        return Reassignment(staying), in_sync
    return current, isr


def _eligible_leader_replicas(partition: Partition, isr: tuple[int, ...], unclean_shutdown: Collection[int]) -> tuple[int, ...]:
    if len(isr) >= partition.effective_min_isr:
        return ()
    candidates = dict.fromkeys((*partition.elr, *partition.isr))
    ordered = hash_map_order(candidates, list)  # Kafka records this order, and another order counts as a change
    return tuple(replica for replica in ordered if replica not in isr and replica not in unclean_shutdown)


def _elect(
    partition: Partition,
    replicas: tuple[int, ...],
    isr: tuple[int, ...],
    eligible: tuple[int, ...],
    acceptable: Collection[int],
    *,
    elr: bool,
    election: Election,
    version: Release,
) -> tuple[int | None, bool]:
    """Elect the next leader, and report whether records may be lost with it."""
    valid = [replica for replica in isr or eligible if replica in acceptable]
    incumbent = () if partition.leader is None else (partition.leader,)
    preferred = replicas[:1] if election is Election.PREFERRED else ()
    for candidate in (*preferred, *incumbent, *replicas):
        if candidate in valid:
            return candidate, False
    if elr and not isr and not eligible and len(partition.last_known_elr) == 1:
        last_known = partition.last_known_elr[0]
        if last_known in acceptable or version < Release(4, 1, 0):
            return None if last_known == _NO_LEADER else last_known, True
    if election is Election.UNCLEAN:
        return next(((replica, True) for replica in replicas if replica in acceptable), (None, False))
    return None, False


def _last_known_leader(
    partition: Partition, leader: int | None, isr: tuple[int, ...], *, new_epoch: bool, version: Release
) -> tuple[int, ...]:
    previous = (_NO_LEADER if partition.leader is None else partition.leader,)
    if version < Release(4, 1, 1):
        if partition.isr and not isr and partition.last_known_elr != previous:
            return previous
        return () if leader is not None else partition.last_known_elr
    if not new_epoch:
        return partition.last_known_elr
    return partition.last_known_elr or previous if leader is None else ()
