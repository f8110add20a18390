"""The leader elections of the ZooKeeper controller: PartitionLeaderElectionAlgorithms (Kafka 2.0.0 to 3.9.2).

Each election selects the first suitable replica in the order of the *assignment*. The order of the ISR never matters.

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
    """Elect the first live in-sync replica. If there is none and `unclean` is set, elect the first live replica."""
    live_replicas = [replica for replica in replicas if replica in live]
    in_sync = [replica for replica in live_replicas if replica in isr]
    return next(iter(in_sync or (live_replicas if unclean else [])), None)


def elect_reassign(target_replicas: Sequence[int], isr: Collection[int], live: Collection[int]) -> int | None:
    """Elect the first live in-sync replica among the target replicas of a reassignment."""
    return elect_offline(target_replicas, isr, live, unclean=False)


def elect_preferred(replicas: Sequence[int], isr: Collection[int], live: Collection[int]) -> int | None:
    """Elect the first replica if it is live and in sync, otherwise none."""
    return elect_offline(replicas[:1], isr, live, unclean=False)


def elect_controlled_shutdown(
    replicas: Sequence[int], isr: Collection[int], live: Collection[int], shutting_down: Collection[int]
) -> int | None:
    """Elect the first live in-sync replica that is not shutting down. `live` includes brokers that are shutting down."""
    return elect_offline([replica for replica in replicas if replica not in shutting_down], isr, live, unclean=False)
