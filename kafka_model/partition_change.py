"""What KRaft's controller makes of a partition: PartitionChangeBuilder and PartitionRegistration.merge (Kafka 3.9.2 and 4.3.1).

A change states the ISR to be; the rest follows. With eligible leader replicas (KIP-966), in this order:

1. An ISR of min.insync.replicas or more clears the ELR. A smaller one adds to the ELR all that leave the ISR (but who shut down uncleanly).
2. The leader stays if it is in the ISR and acceptable. Else the first replica, in the order of the assignment, that is; the ELR stands in for the
   ISR when that is empty. Else, with ISR and ELR both empty, the last known leader, if acceptable. Else, if the election is unclean, the first
   acceptable replica. Else none. A preferred election looks at the first replica before the leader.
3. A leader from the ELR becomes the ISR, and the others stay in the ELR. An unclean leader becomes the ISR, empties the ELR, and recovers.
4. An ISR that becomes empty notes the leader that was as the last known one; a leader found clears the note.
5. A new leader, a leader lost, and (until metadata version 3.6) an ISR that shrinks raise the leader epoch; every change raises the partition's.

Without ELR the ISR never becomes empty: its last member stays recorded.

    >>> led = Partition(replicas=(11, 21, 31), leader=11, isr=(11, 21, 31), min_insync_replicas=2)
    >>> two = change(led, isr=(21, 31), acceptable={21, 31}, elr=True)
    >>> one = change(two, isr=(31,), acceptable={31}, elr=True)
    >>> one.leader, one.isr, one.elr
    (31, (31,), (21,))
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from enum import Enum

from kafka_model.partition import Partition


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
    bump_on_isr_shrink: bool = False,
) -> Partition:
    """The partition with that ISR, led by whom it must be; the very same value if nothing is to be recorded."""
    isr = tuple(isr)
    eligible = _eligible(partition, isr, unclean_shutdown) if elr else partition.elr
    leader, unclean = _elect(partition, isr, eligible, acceptable, elr=elr, election=election)
    changed = leader != partition.leader
    if changed and leader in eligible:
        isr, eligible = (leader,), tuple(replica for replica in eligible if replica != leader)
    if unclean and changed:
        isr, eligible = (leader,), ()
    if not elr:
        eligible = ()
        isr = isr or partition.isr
    bumped = changed or (bump_on_isr_shrink and not set(partition.isr) <= set(isr))
    after = replace(
        partition,
        leader=leader,
        isr=isr,
        elr=eligible,
        last_known_elr=_last_known_leader(partition, leader, isr) if elr else partition.last_known_elr,
        recovering=partition.recovering or (unclean and changed),
    )
    if after == partition:
        return partition
    return replace(after, leader_epoch=partition.leader_epoch + bumped, partition_epoch=partition.partition_epoch + 1)


def _eligible(partition: Partition, isr: tuple[int, ...], unclean_shutdown: Collection[int]) -> tuple[int, ...]:
    if len(isr) >= partition.effective_min_isr:
        return ()
    return tuple(sorted(replica for replica in {*partition.elr, *partition.isr} if replica not in isr and replica not in unclean_shutdown))


def _elect(
    partition: Partition, isr: tuple[int, ...], eligible: tuple[int, ...], acceptable: Collection[int], *, elr: bool, election: Election
) -> tuple[int | None, bool]:
    """The leader to be, and whether records may be lost with it."""
    valid = [replica for replica in isr or eligible if replica in acceptable]
    incumbent = [] if partition.leader is None else [partition.leader]
    order = [*incumbent, *partition.replicas]
    if election is Election.PREFERRED:
        order.insert(0, partition.replicas[0])
    for candidate in order:
        if candidate in valid:
            return candidate, False
    if elr and not isr and not eligible and len(partition.last_known_elr) == 1 and partition.last_known_elr[0] in acceptable:
        return partition.last_known_elr[0], True
    if election is Election.UNCLEAN:
        return next(((replica, True) for replica in partition.replicas if replica in acceptable), (None, False))
    return None, False


def _last_known_leader(partition: Partition, leader: int | None, isr: tuple[int, ...]) -> tuple[int, ...]:
    if not isr and partition.isr and partition.leader is not None:
        return (partition.leader,)
    return () if leader is not None else partition.last_known_elr
