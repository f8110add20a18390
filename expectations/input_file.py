"""input_file: every entry of a file is accounted for, and every file is understood."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import equal, hard, soft
from jobs.schema import REJECTED_INPUT

READS = (REJECTED_INPUT,)


def expectations(limits: Limits) -> list[Expectation]:
    return [
        hard(
            "entries_add_up",
            "What a file has to read was accepted or rejected.",
            "SELECT cluster_id, file, entries, accepted, rejected FROM {batch} WHERE entries <> accepted + rejected",
        ),
        hard(
            "rejected_are_kept",
            "A file has as many rows of rejected_input as it counts.",
            equal(
                "cluster_id, file",
                said="SELECT cluster_id, file, rejected AS said FROM {batch} WHERE rejected > 0",
                found="SELECT cluster_id, file, count(*) AS found FROM rejected_input GROUP BY ALL",
            ),
        ),
        soft(
            "recognised_files",
            "Every file is of a format that is known by its content.",
            "SELECT cluster_id, file FROM {batch} WHERE format IS NULL",
            measured="0",
            limit="1",
            formula="formats that the file is of = 1",
            change="concat('save ', file, ' as its tool prints it, or take it out of the folder')",
        ),
    ]
