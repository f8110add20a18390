"""rejected_input: what could not be read is a finding, since what it would have said is not known."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import soft

READS = ()


def expectations(limits: Limits) -> list[Expectation]:
    return [
        soft(
            "nothing_rejected",
            "Every entry of the dumps could be read.",
            "SELECT cluster_id, file, line, text, reason FROM {batch}",
            measured="1",
            limit=0,
            formula="entries that cannot be read = 0",
            change="concat('mend line ', line, ' of ', file, ': ', reason)",
        ),
    ]
