"""The documents name only files, modules and objects that exist."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = ["README.md", "CONTRIBUTING.md", "tests/README.md", "tests/snapshots/README.md"]


@pytest.fixture(scope="module")
def tracked() -> list[str]:
    return subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_path_exists(document: str, tracked: list[str]) -> None:
    """A path starts with a folder of the project, or is a file at the top; `<name>` stands for any name."""
    top = {name.partition("/")[0] for name in tracked}
    text = (ROOT / document).read_text()
    linked = re.findall(r"\]\(([^)#:]+)\)", text)
    quoted = [word for word in re.findall(r"`([^`\s]+)`", text) if word.partition("/")[0] in top]
    assert [path for path in linked + quoted if not [*ROOT.glob(re.sub(r"<\w+>", "*", path).rstrip("/"))]] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_module_that_is_run_exists(document: str) -> None:
    modules = re.findall(r"python -m (tests[\w.]+)", (ROOT / document).read_text())
    files = [ROOT / module.replace(".", "/") for module in modules]
    assert [file for file in files if not file.with_suffix(".py").exists() and not (file / "__main__.py").exists()] == []


def test_every_object_is_in_the_file_named_with_it() -> None:
    text = " ".join((ROOT / "CONTRIBUTING.md").read_text().split())
    named = re.findall(r"`(\w+)` (?:of|in) `([\w/]+\.py)`", text)
    assert len(named) > 5
    assert [(name, file) for name, file in named if not re.search(rf"\b{name}\b", (ROOT / file).read_text())] == []
