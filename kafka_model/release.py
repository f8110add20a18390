"""Releases of Apache Kafka. Functions whose answers differ between releases take a `Release` as `version`.

Only existing releases from 2.0.0 to 4.4.0 can be created. Text without a patch number means the newest patch of that minor release:

    >>> parse_release("4.1.0") < parse_release("4.1") == Release(4, 1, 2)
    True
    >>> parse_release("4.3-rc0")
    Traceback (most recent call last):
    kafka_model.release.UnknownVersion: Kafka 4.3-rc0 is not modelled: use an existing release from 2.0.0 to 4.4.0
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

# The newest patch of each minor release on Maven Central. All earlier patches exist, too.
_NEWEST_PATCH = {
    (2, 0): 1, (2, 1): 1, (2, 2): 2, (2, 3): 1, (2, 4): 1, (2, 5): 1, (2, 6): 3, (2, 7): 2, (2, 8): 2,
    (3, 0): 2, (3, 1): 2, (3, 2): 3, (3, 3): 2, (3, 4): 1, (3, 5): 2, (3, 6): 2, (3, 7): 2, (3, 8): 1, (3, 9): 2,
    (4, 0): 2, (4, 1): 2, (4, 2): 2, (4, 3): 1, (4, 4): 0,
}  # fmt: skip
# The first level of metadata.version of each minor release, and the newest level (MetadataVersion of Kafka 4.4).
_FIRST_LEVEL = {
    (3, 0): 1, (3, 1): 2, (3, 2): 3, (3, 3): 4, (3, 4): 8, (3, 5): 9, (3, 6): 12, (3, 7): 15, (3, 8): 20, (3, 9): 21,
    (4, 0): 22, (4, 1): 26, (4, 2): 28, (4, 3): 30, (4, 4): 31,
}  # fmt: skip
_NEWEST_LEVEL = 33
_NUMBER = "(0|[1-9][0-9]{0,2})"
_TEXT = re.compile(rf"{_NUMBER}\.{_NUMBER}(?:\.{_NUMBER})?")


class UnknownVersion(ValueError):
    """No release that the model knows, or a release whose algorithm the model does not reproduce."""


@dataclass(frozen=True, order=True, slots=True)
class Release:
    """A release, `major.minor.patch`. Releases compare in the order of their numbers."""

    major: int
    minor: int
    patch: int

    def __post_init__(self) -> None:
        if not 0 <= self.patch <= _NEWEST_PATCH.get((self.major, self.minor), -1):
            raise _unknown(str(self))

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"

    @property
    def patches(self) -> tuple[Release, ...]:
        """Return all patch releases of the same minor release, the oldest first."""
        return tuple(release for release in RELEASES if (release.major, release.minor) == (self.major, self.minor))


def parse_release(text: str) -> Release:
    """Parse `major.minor.patch`, or `major.minor` for its newest patch. Raise UnknownVersion for every other text."""
    numbers = _TEXT.fullmatch(text)
    major, minor = (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)
    newest = _NEWEST_PATCH.get((major, minor), -1)
    patch = int(numbers[3]) if numbers and numbers[3] else newest
    if not 0 <= patch <= newest:
        raise _unknown(text)
    return Release(major, minor, patch)


def parse_metadata_version(text: str) -> Release:
    """Return the newest patch of the minor release that introduced a finalized metadata.version, given as its level or its name.

    >>> parse_metadata_version("4.1-IV0") == parse_metadata_version("26") == Release(4, 1, 2)
    True
    """
    name = re.fullmatch(rf"({_NUMBER}\.{_NUMBER})-IV[0-9]", text)
    if name:
        return parse_release(name[1])
    level = int(text) if re.fullmatch(_NUMBER, text) else 0
    if not 1 <= level <= _NEWEST_LEVEL:
        raise UnknownVersion(f"metadata.version {text} is not modelled: use a level from 1 to {_NEWEST_LEVEL}")
    major, minor = list(_FIRST_LEVEL)[bisect_right(list(_FIRST_LEVEL.values()), level) - 1]
    return Release(major, minor, _NEWEST_PATCH[major, minor])


def _unknown(text: str) -> UnknownVersion:
    (oldest, _), (newest, patch) = min(_NEWEST_PATCH.items()), max(_NEWEST_PATCH.items())
    known = f"{oldest[0]}.{oldest[1]}.0 to {newest[0]}.{newest[1]}.{patch}"
    return UnknownVersion(f"Kafka {text} is not modelled: use an existing release from {known}")


RELEASES = tuple(Release(*minor, patch) for minor, newest in _NEWEST_PATCH.items() for patch in range(newest + 1))
LATEST = RELEASES[-1]
LATEST_WITH_ZOOKEEPER = max(release for release in RELEASES if release.major < 4)
