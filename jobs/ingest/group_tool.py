"""The output of kafka-share-groups and kafka-streams-groups: a header, then lines of offsets, members or states below it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from jobs.ingest.dump import Dump, Parsed, Rejected, Unreadable, identifier, plain_text
from jobs.ingest.facts import Fact, GroupState, ListedGroup

_COLUMN = re.compile(r"\S+")
_COORDINATED = re.compile(r"(\S+)[ ]+\S*[ ]*\((-?[0-9]{1,10})\)[ ]+(\S+)[ ]+(?:\S+[ ]+\S+[ ]+)?([0-9]{1,10})[ ]*")


@dataclass(frozen=True, slots=True)
class GroupTool:
    """A tool: its headers, its message about a group without members, and the parsers of its lines."""

    name: str
    protocol: str
    offsets: re.Pattern[str]
    members: re.Pattern[str]
    state: re.Pattern[str]
    notice: re.Pattern[str]
    offset: Callable[[list[str], re.Match[str]], Fact]  # the cells of a line, and the match of its header
    member: Callable[[str, dict[str, int]], Fact]  # a line, and where each column of its header starts

    def parse(self, dump: Dump) -> Iterator[Parsed | Rejected]:
        """Yield a fact for each partition, member and group."""
        header: re.Match[str] | None = None
        for number, line in dump.lines():
            try:
                if match := self.offsets.fullmatch(line) or self.members.fullmatch(line) or self.state.fullmatch(line):
                    header = match
                elif match := self.notice.fullmatch(line):
                    yield Parsed(number, line, ListedGroup(plain_text(match[1], "the group"), self.protocol, "Empty"))
                elif header is None:
                    raise Unreadable(f"no header of {self.name} above it")
                else:
                    yield Parsed(number, line, self._fact(line, header))
            except Unreadable as e:
                yield Rejected(number, line, str(e))

    def _fact(self, line: str, header: re.Match[str]) -> Fact:
        if header.re is self.offsets:
            return self.offset(line.split(), header)
        if header.re is self.state:
            return self._group_state(line)
        return self.member(line, {match[0]: match.start() for match in _COLUMN.finditer(header[0])})

    def _group_state(self, line: str) -> GroupState:
        match = _COORDINATED.fullmatch(line)
        if match is None:
            raise Unreadable("coordinator, state or #MEMBERS is missing")
        group_id, coordinator_id, state, members = match.groups()
        coordinator = None if coordinator_id == "-1" else identifier(coordinator_id, "COORDINATOR (ID)")
        group_id, state = plain_text(group_id, "GROUP"), plain_text(state, "STATE")
        return GroupState(group_id, self.protocol, None, state, coordinator, identifier(members, "#MEMBERS"))
