"""The origin of a fact: a file of a cluster, and an entry in it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from jobs.ingest.dump import Parsed
from jobs.ingest.reading import Reading


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """A file of a cluster and its parsed entries."""

    name: str
    size_bytes: int
    written_at: datetime
    reading: Reading


class Origin(NamedTuple):
    """An entry of a file."""

    file: ParsedFile
    parsed: Parsed

    @property
    def fact(self) -> Any:
        """Return the fact that the entry states."""
        return self.parsed.fact

    @property
    def location(self) -> str:
        """Return file and line, as reasons name them."""
        return f"{self.file.name}, line {self.parsed.line}"

    def with_fact(self, fact: Any) -> Origin:
        """Return this origin for another fact that follows from the same entry."""
        return self._replace(parsed=self.parsed._replace(fact=fact))
