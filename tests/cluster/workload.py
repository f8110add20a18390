"""The applications of a test cluster: producers with their keys, and consumer groups. Workload.java runs them."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.cluster import VERSION, Cluster, command


@dataclass(frozen=True, slots=True)
class Sent:
    """The records that producers send with one key: a row of a key sample."""

    topic: str
    key: str | None  # None: no key, which differs from the empty key
    partition: int | None  # None: chosen by the partitioner
    records: int
    size_bytes: int  # of keys and values


@dataclass(frozen=True, slots=True)
class Group:
    """A consumer group: the topics of each member, and the configs of all members."""

    id: str
    members: Sequence[Sequence[str]]
    config: dict[str, str] = field(default_factory=dict)
    static: bool = False
    paused: bool = False  # stops reading after the first day
    regex: str | None = None  # subscription of members without topics
    racks: Sequence[str] = ()  # client.rack of the members, in turn
    share: bool = False


@dataclass(frozen=True, slots=True)
class Workload:
    """A running Workload.java; each call waits until its request is completed."""

    process: subprocess.Popen[str]

    def send(self, rows: Sequence[Sent]) -> None:
        """Produce all records in shuffled order, with Kafka's own partitioner."""
        self._request(do="send", rows=[asdict(row) for row in rows])

    def join(self, groups: Sequence[Group]) -> None:
        """Start every member of the groups, and wait until all are stable and have read all records."""
        for group in groups:
            for number in range(1, len(group.members) + 1):
                self.add(group, number)
        self.settle()

    def add(self, group: Group, number: int) -> None:
        """Start a member of the group, counted from 1."""
        config = dict(group.config)
        if group.static:
            config["group.instance.id"] = f"{group.id}-{number}"
        if group.racks:
            config["client.rack"] = group.racks[(number - 1) % len(group.racks)]
        topics, share = group.members[number - 1], group.share
        self._request(
            do="join", group=group.id, client_id=f"{group.id}-{number}", topics=topics, regex=group.regex, share=share, config=config
        )

    def remove_last(self, group: Group) -> None:
        """Let the member that joined last leave its group."""
        self._request(do="leave", group=group.id)

    def pause(self, group: Group) -> None:
        """Pause all members of the group."""
        self._request(do="pause", group=group.id)

    def settle(self) -> None:
        """Wait until all groups are stable and all offsets stay the same."""
        self._request(do="await")

    def _request(self, **request: object) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        if self.process.stdout.readline() != "done\n":
            raise RuntimeError(f"Workload.java ended at the request {str(request)[:200]}")


@contextmanager
def workload(kafka: Cluster, *, heap: str = "256m") -> Iterator[Workload]:
    """Start the applications, and kill them when the block ends."""
    source = str(Path(__file__).with_name("Workload.java"))
    arguments = [*command(VERSION, source, heap=heap, level="error"), kafka.bootstrap]  # newer clients support older brokers
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Workload(process)
        finally:
            process.kill()


def skewed(topic: str, prefix: str, *, keys: int, records: int, value_bytes: int, day: int) -> list[Sent]:
    """Return keyed records that follow Zipf's law: every day the same keys with different counts."""
    chance = random.Random(f"{topic} {day}")
    names = random.Random(topic).sample([f"{prefix}{number}" for number in range(keys * 10)], keys)
    harmonic = sum(1 / rank for rank in range(1, keys + 1))
    sent = []
    for rank, name in enumerate(names, start=1):
        count = max(1, round(records / rank / harmonic * chance.uniform(0.7, 1.3)))
        size = sum(len(name.encode()) + chance.randint(value_bytes // 2, value_bytes * 3 // 2) for _ in range(count))
        sent.append(Sent(topic, name, None, count, size))
    return sent
