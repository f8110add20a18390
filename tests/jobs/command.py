"""The command, run in the process of the tests."""

from __future__ import annotations

import subprocess
import sys

import pytest

from jobs import cli


class Command:
    """Runs the command in this process, which takes a second less than a process of its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        self._monkeypatch.setattr(sys, "argv", ["topology-audit", *arguments])
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as exited:
            cli.main()
        printed = self._capsys.readouterr()
        return subprocess.CompletedProcess(arguments, exited.value.code or 0, printed.out, printed.err)
