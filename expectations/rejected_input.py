"""Rules of rejected_input: unreadable input is a finding, because its content is unknown."""

from __future__ import annotations

from expectations.limits import Limits
from expectations.rule import Rule, soft


def rules(limits: Limits) -> list[Rule]:
    return [
        soft(
            "nothing_rejected",
            "Every entry of the dumps was read.",
            "SELECT cluster_id, file, line, text, reason FROM rejected_input",
            measured="1",
            limit=0,
            formula="entries that cannot be read = 0",
            change="'correct line ' || line || ' of ' || file || ': ' || reason",
        ),
    ]
