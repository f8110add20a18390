"""What KRaft's controller makes of a partition: PartitionChangeBuilder and PartitionRegistration.merge (Kafka 3.8 to 4.3).

A change states the ISR to be; the rest follows. With eligible leader replicas (KIP-966), in this order:

1. An ISR of min.insync.replicas or more clears the ELR. A smaller one adds to the ELR all that leave the ISR (but who shut down
   uncleanly).
2. The leader stays if it is in the ISR and acceptable. Else the first replica, in the order of the assignment, that is; the ELR stands in
   for the ISR when that is empty. Else, with ISR and ELR both empty, the last known leader, if acceptable. Else, if the election is
   unclean, the first acceptable replica. Else none. A preferred election looks at the first replica before the leader.
3. A leader from the ELR becomes the ISR, and the others stay in the ELR. An unclean leader becomes the ISR, empties the ELR, and
   recovers.
4. A leader lost is noted as the last known one, if none is noted yet; a new leader clears the note.
5. A new leader, a leader lost, and (until metadata version 3.6) an ISR that shrinks raise the leader epoch; every change raises the
   partition's.

Without ELR the ISR never becomes empty: its last member stays recorded. Before version 4.1, where ELR was a preview, the last known
leader is elected dead or alive, is noted when the ISR becomes empty, and is cleared by any change that leaves a leader; 3.7 kept another
account, and is refused.

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
from kafka_model.release import LATEST, UnknownVersion, release

_NO_LEADER = -1  # Kafka notes it as the last known leader where there was none


@dataclass(frozen=True, slots=True)
class Reassignment:
    """The replicas that a partition has while it moves: those that stay, those that come, those that will go."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()


class Election(Enum):
    """How far the controller goes to have a leader."""

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
    version: str = LATEST,
) -> Partition:
    """The partition with that ISR, led by whom it must be; the very same value if nothing is to be recorded.

    A reassignment (the one under way, if none is given) ends once the ISR has all the replicas that come (before 4.3, or where fewer come
    than go: all that stay). `recovering` overrides what follows from the election.
    """
    if release(version) < (3, 8):
        raise UnknownVersion(f"the ELR of Kafka {version} is not modelled: the first is that of 3.8")
    moving = reassignment or Reassignment(partition.replicas, partition.adding_replicas, partition.removing_replicas)
    moving, isr = _completed(moving, tuple(isr), version=version)
    eligible = _eligible(partition, isr, unclean_shutdown) if elr else partition.elr
    leader, lossy = _elect(partition, moving.replicas, isr, eligible, acceptable, elr=elr, election=election, version=version)
    changed = leader != partition.leader
    if changed and leader is not None and leader in eligible:
        isr, eligible = (leader,), tuple(replica for replica in eligible if replica != leader)
    unclean = changed and lossy
    if unclean and leader is not None:
        isr, eligible = (leader,), ()
    if not elr:
        eligible = ()
        isr = isr or partition.isr
    shrunk = bump_on_isr_shrink and not set(partition.isr) <= set(isr)
    bumped = changed or shrunk or not set(partition.replicas) <= set(moving.replicas)
    after = replace(
        partition,
        replicas=moving.replicas,
        leader=leader,
        isr=isr,
        elr=eligible,
        last_known_elr=_last_known_leader(partition, leader, isr, bumped=bumped, version=version) if elr else partition.last_known_elr,
        recovering=partition.recovering or unclean if recovering in (None, partition.recovering) else bool(recovering),
        adding_replicas=moving.adding,
        removing_replicas=moving.removing,
    )
    if after == partition:
        return partition
    return replace(after, leader_epoch=partition.leader_epoch + bumped, partition_epoch=partition.partition_epoch + 1)


def _preview(version: str) -> bool:
    """Whether the ELR is that of 3.8 to 4.0."""
    return release(version) < (4, 1)


def _completed(moving: Reassignment, isr: tuple[int, ...], *, version: str) -> tuple[Reassignment, tuple[int, ...]]:
    """The reassignment, ended if it can be, and the ISR without those who then go."""
    staying = tuple(replica for replica in moving.replicas if replica not in moving.removing)
    in_sync = tuple(replica for replica in isr if replica not in moving.removing)
    enough = (
        set(moving.adding) <= set(in_sync)
        if release(version) >= (4, 3) and len(moving.adding) >= len(moving.removing)
        else set(staying) <= set(in_sync)
    )
    possible = not moving.removing or (staying and in_sync)
    if (moving.adding or moving.removing) and enough and possible:
        return Reassignment(staying), in_sync
    return moving, isr


def _eligible(partition: Partition, isr: tuple[int, ...], unclean_shutdown: Collection[int]) -> tuple[int, ...]:
    if len(isr) >= partition.effective_min_isr:
        return ()
    candidates = dict.fromkeys((*partition.elr, *partition.isr))
    walked = hash_map_order(candidates, list)  # the order is recorded: another one is a change
    return tuple(replica for replica in walked if replica not in isr and replica not in unclean_shutdown)


def _elect(
    partition: Partition,
    replicas: tuple[int, ...],
    isr: tuple[int, ...],
    eligible: tuple[int, ...],
    acceptable: Collection[int],
    *,
    elr: bool,
    election: Election,
    version: str,
) -> tuple[int | None, bool]:
    """The leader to be, and whether records may be lost with it."""
    valid = [replica for replica in isr or eligible if replica in acceptable]
    incumbent = () if partition.leader is None else (partition.leader,)
    preferred = replicas[:1] if election is Election.PREFERRED else ()
    for candidate in (*preferred, *incumbent, *replicas):
        if candidate in valid:
            return candidate, False
    if elr and not isr and not eligible and len(partition.last_known_elr) == 1:
        last_known = partition.last_known_elr[0]
        if last_known in acceptable or _preview(version):
            return None if last_known == _NO_LEADER else last_known, True
    if election is Election.UNCLEAN:
        return next(((replica, True) for replica in replicas if replica in acceptable), (None, False))
    return None, False


def _last_known_leader(partition: Partition, leader: int | None, isr: tuple[int, ...], *, bumped: bool, version: str) -> tuple[int, ...]:
    noted = (_NO_LEADER if partition.leader is None else partition.leader,)
    if _preview(version):
        if partition.isr and not isr and partition.last_known_elr != noted:
            return noted
        return () if leader is not None else partition.last_known_elr
    if not bumped:
        return partition.last_known_elr
    return partition.last_known_elr or noted if leader is None else ()
