"""No file of the project uses a word of the old private language; reading decides about all other words."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXTS = (".cfg", ".conf", ".j2", ".java", ".md", ".py", ".sql", ".toml", ".txt", ".yaml")
RECORDED = ("jobs/bundled/", "tests/golden/", "tests/snapshots/")  # output of Kafka and its tools
FORBIDDEN = (
    "told",
    "untold",
    "tells of",
    "likewise",
    "whoever",
    "homeless",
    "befall",
    "befalls",
    "how-manieth",
    "held to",
    "held against",
    "let go",
)
# An underscore separates words of a name.
_PATTERN = re.compile(rf"(?<![a-z])({'|'.join(FORBIDDEN)})(?![a-z])".replace(" ", r"[\s_]+"), re.IGNORECASE)


def texts() -> list[Path]:
    """The text files of the project, without recorded output and this file."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [
        ROOT / name
        for name in listed
        if name.endswith(TEXTS) and not (name.startswith(RECORDED) and not name.endswith((".md", ".py"))) and ROOT / name != Path(__file__)
    ]


def test_no_text_contains_a_forbidden_word() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:120]}"
        for path in texts()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if _PATTERN.search(line)
    ]
    assert found == []


@pytest.mark.parametrize("line", ["what it told us", "test_it_is_told", "Untold sizes", "is held  to be", "nothing is let_go"])
def test_a_forbidden_word_is_found(line: str) -> None:
    assert _PATTERN.search(line)


@pytest.mark.parametrize("line", ["a toldot", "withheld topics", "a threshold", "shelled tomatoes"])
def test_other_words_are_allowed(line: str) -> None:
    assert not _PATTERN.search(line)
