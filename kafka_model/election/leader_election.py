"""Who leads: PartitionLeaderElectionAlgorithms of the ZooKeeper controller (Kafka 2.0.0 to 3.9.2).

Each takes the first replica that passes, in the order of the *assignment*: the order of the ISR never matters.

    >>> elect_offline([1, 2, 3], isr=[3, 2], live=[2, 3], unclean=False)
    2
    >>> elect_offline([1, 2, 3], isr=[1], live=[2, 3], unclean=False) is None
    True
    >>> elect_offline([1, 2, 3], isr=[1], live=[2, 3], unclean=True)
    2
"""

from __future__ import annotations

from collections.abc import Collection, Sequence


def elect_offline(replicas: Sequence[int], isr: Collection[int], live: Collection[int], *, unclean: bool) -> int | None:
    """The first live in-sync replica; failing that, if unclean, the first live one."""
    standing = [replica for replica in replicas if replica in live]
    in_sync = [replica for replica in standing if replica in isr]
    return next(iter(in_sync or (standing if unclean else [])), None)


def elect_reassign(target_replicas: Sequence[int], isr: Collection[int], live: Collection[int]) -> int | None:
    """The first live in-sync replica of those that a reassignment moves to."""
    return elect_offline(target_replicas, isr, live, unclean=False)


def elect_preferred(replicas: Sequence[int], isr: Collection[int], live: Collection[int]) -> int | None:
    """The first replica, if it is live and in sync: no other will do."""
    return elect_offline(replicas[:1], isr, live, unclean=False)


def elect_controlled_shutdown(
    replicas: Sequence[int], isr: Collection[int], live: Collection[int], shutting_down: Collection[int]
) -> int | None:
    """The first live in-sync replica that is not shutting down (the live include those that are)."""
    return elect_offline([replica for replica in replicas if replica not in shutting_down], isr, live, unclean=False)
