"""The failover matrix of a plan: what each failure does to a cluster as it is, and once the plan is done.

Failures are those of a night: every broker killed, every broker stopped in order, every rack lost, and every two brokers that share a
partition. What happens to a partition is what jobs/failure/patterns.py asks the model, once for each pattern, so that what this says of
the cluster as it is equals `scenario` and `broker_pair`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations
from typing import NamedTuple

from jobs.failure.patterns import AS_TOPIC_SAYS, harm_of, outcome_of

COUNTS = ("partitions", "moved_leaders", "newly_offline", "newly_refusing_acks_all", "at_min_isr", "newly_lost")


class State(NamedTuple):
    """A partition as a failure finds it; `elr` and `last_known_elr` None: not kept."""

    replicas: tuple[int, ...]
    leader: int | None
    isr: tuple[int, ...]
    elr: tuple[int, ...] | None = None
    last_known_elr: tuple[int, ...] | None = None
    min_insync_replicas: int = 1
    replication_factor: int | None = None
    unclean: bool = False


class Failure(NamedTuple):
    """Who dies, in order; the deaths that are acted upon are fewer where they cost the controllers their quorum."""

    kind: str
    brokers: tuple[int, ...]
    heard: tuple[int, ...]

    @property
    def quorum_lost(self) -> bool:
        return len(self.heard) < len(self.brokers)


class Found(NamedTuple):
    """A partition's pattern, its replicas' places, and those of them that live."""

    pattern: tuple[tuple[int, ...], ...]
    place: Mapping[int, int]
    live: Sequence[int]

    def after(self, failure: Failure) -> tuple[int, ...]:
        """What a failure does to it: each of COUNTS, 0 or 1."""
        heard, gone = (tuple([self.place[id] for id in ids if id in self.place]) for ids in (failure.heard, failure.brokers))
        return _counted(self.pattern, (len(heard), int(failure.quorum_lost), AS_TOPIC_SAYS, int(failure.kind == "stop")), gone)


class Failures:
    """All failures of a cluster, and how many partitions each harms."""

    def __init__(
        self, controller: str, *, live: Mapping[int, str | None], dead: Collection[int] = (), voters: Collection[int] | None = None
    ) -> None:
        """`live` brokers with their racks; `voters` of KRaft's quorum, None: unknown."""
        self._kraft = int(controller == "kraft")
        self._voters = None if voters is None or controller != "kraft" else [id for id in voters if id not in dead]
        self._needed = len(voters or ()) // 2 + 1
        self.live = frozenset(live)
        self.of: dict[str, Failure] = {}
        for id in sorted(live):
            self.of[f"broker {id}"] = self._failure("broker", (id,))
            self.of[f"stop {id}"] = self._failure("stop", (id,))
        for rack in sorted({rack for rack in live.values() if rack is not None}):
            self.of[f"rack {rack}"] = self._failure("rack", tuple(sorted(id for id in live if live[id] == rack)))
        self._rack_of = {id: f"rack {rack}" for id, rack in live.items() if rack is not None}
        # Of these two brokers the second death goes unheard: all partitions of either are played.
        pairs = combinations(sorted(live), 2) if self._voters else ()
        self._silencing = {pair: failure for pair in pairs if (failure := self._failure("pair", pair)).quorum_lost}

    def _failure(self, kind: str, brokers: tuple[int, ...]) -> Failure:
        """jobs.failure.partition_state.heard."""
        left = [id for id in self._voters or () if id not in brokers]
        if self._voters is None or len(left) == len(self._voters) or len(left) >= self._needed:
            return Failure(kind, brokers, brokers)
        spare = len(self._voters) - self._needed
        heard = brokers[: brokers.index([id for id in brokers if id in self._voters][spare])] if spare >= 0 else ()
        return Failure(kind, brokers, heard)

    def matrix(self, states: Iterable[State]) -> Matrix:
        """What each failure does to these partitions."""
        found = Matrix(self)
        for state in states:
            found.add(state)
        return found

    def found(self, state: State) -> Found:
        """A partition as its pattern: what befalls it depends on places, not on who these brokers are."""
        leader = () if state.leader is None else (state.leader,)
        told = (*state.replicas, *state.isr, *(state.elr or ()), *(state.last_known_elr or ()), *leader)
        place = {id: at for at, id in enumerate(dict.fromkeys(told), 1)}
        live = [id for id in state.replicas if id in self.live]
        replicas = dict.fromkeys(state.replicas)
        scalars = (
            self._kraft, int(state.elr is not None), int(state.unclean), state.min_insync_replicas,
            len(state.replicas) if state.replication_factor is None else state.replication_factor, len(replicas),
            place[state.leader] if state.leader is not None and state.leader in live else 0,
        )  # fmt: skip
        lists = (tuple([place[id] for id in ids]) for ids in (state.isr, state.elr or (), state.last_known_elr or (), live))
        return Found((scalars, *lists), {id: place[id] for id in replicas}, live)

    def singles(self, found: Found) -> Iterator[tuple[str, tuple[int, ...]]]:
        """The failures of a broker or a rack that take a replica of it, and what they do to it: each of COUNTS, 0 or 1."""
        names = [name for id in found.live for name in (f"broker {id}", f"stop {id}")]
        for name in (*names, *dict.fromkeys(self._rack_of[id] for id in found.live if id in self._rack_of)):
            yield name, found.after(self.of[name])

    def pairs(self, found: Found) -> Iterator[tuple[tuple[int, int], tuple[int, ...]]]:
        """Of two brokers with a replica each, what both take less what either takes alone; of a silencing pair all that it takes."""
        for pair in combinations(sorted(found.live), 2):
            if pair not in self._silencing:
                both, one, other = (found.after(Failure("pair", dying, dying)) for dying in (pair, pair[:1], pair[1:]))
                yield pair, tuple([two - a - b for two, a, b in zip(both, one, other, strict=True)])
        for pair, failure in self._silencing.items():
            if any(id in found.live for id in pair):
                yield pair, found.after(failure)

    def harms(self, state: State) -> bool:
        """Whether the death of one broker takes the partition offline or makes it refuse acks=all."""
        found = self.found(state)
        return any(any(found.after(self.of[f"broker {id}"])[2:4]) for id in found.live)

    def is_silencing(self, pair: tuple[int, int]) -> bool:
        return pair in self._silencing


class Compared(NamedTuple):
    """A failure, and each of COUNTS before and after a plan."""

    scenario_id: str
    kind: str
    brokers: list[int]
    before: list[int]
    after: list[int]


class Matrix:
    """The counts of each failure, to which partitions are added, or taken away."""

    def __init__(self, failures: Failures) -> None:
        self._failures = failures
        self._single = {id: [0] * len(COUNTS) for id in failures.of}
        self._pair: dict[tuple[int, int], list[int]] = {}

    def add(self, state: State, sign: int = 1) -> None:
        found = self._failures.found(state)
        for name, counts in self._failures.singles(found):
            _plus(self._single[name], counts, sign)
        for pair, counts in self._failures.pairs(found):
            _plus(self._pair.setdefault(pair, [0] * len(COUNTS)), counts, sign)

    def copy(self) -> Matrix:
        other = Matrix(self._failures)
        other._single = {id: list(counts) for id, counts in self._single.items()}
        other._pair = {pair: list(counts) for pair, counts in self._pair.items()}
        return other

    def beside(self, after: Matrix, *, every_pair: bool = False) -> list[Compared]:
        """Each failure before and after; of pairs, those that share a partition in either, or all."""
        pairs = combinations(sorted(self._failures.live), 2) if every_pair else sorted(self._pair.keys() | after._pair.keys())
        singles = [Compared(id, of.kind, list(of.brokers), self._single[id], after._single[id]) for id, of in self._failures.of.items()]
        both = [Compared(f"brokers {pair[0]}+{pair[1]}", "pair", list(pair), self._of_pair(pair), after._of_pair(pair)) for pair in pairs]
        return [*singles, *both]

    def _of_pair(self, pair: tuple[int, int]) -> list[int]:
        """What two brokers take together; without a shared partition, what each takes alone."""
        both = list(self._pair.get(pair, [0] * len(COUNTS)))
        if not self._failures.is_silencing(pair):
            for id in pair:
                _plus(both, self._single[f"broker {id}"], 1)
        return both


def _plus(sums: list[int], counts: Sequence[int], sign: int) -> None:
    for at, count in enumerate(counts):
        sums[at] += sign * count


@cache
def _counted(pattern: tuple[tuple[int, ...], ...], rules: tuple[int, ...], gone: tuple[int, ...]) -> tuple[int, ...]:
    """COUNTS of a pattern, brokers being places."""
    after = outcome_of(pattern, rules, gone)
    offline, refusing, lost = harm_of(after)
    moved = after["leader"] is not None and after["leader"] != after["leader_before"]
    return tuple([int(count) for count in (True, moved, offline, refusing, after["at_min_isr"], lost)])
