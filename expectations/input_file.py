"""Rules of input_file: every entry of a file is counted, and the format of every file is known."""

from __future__ import annotations

from expectations.limits import Limits
from expectations.rule import Rule, hard, mismatches, soft


def rules(limits: Limits) -> list[Rule]:
    return [
        hard(
            "entries_add_up",
            "The accepted and rejected entries of a file add up to its entries.",
            "SELECT cluster_id, file, entries, accepted, rejected FROM input_file WHERE entries <> accepted + rejected",
        ),
        hard(
            "rejected_entries_have_rows",
            "Every rejected entry of a file has a row of rejected_input.",
            mismatches(
                "cluster_id, file",
                stated="SELECT cluster_id, file, rejected AS stated FROM input_file WHERE rejected > 0",
                computed="SELECT cluster_id, file, count(*) AS computed FROM rejected_input GROUP BY ALL",
            ),
        ),
        soft(
            "formats_recognised",
            "Every file has a format that its content identifies.",
            "SELECT cluster_id, file FROM input_file WHERE format IS NULL",
            measured="0",
            limit="1",
            formula="recognised formats of the file = 1",
            change="'save ' || file || ' as its tool prints it, or remove it from the folder'",
        ),
    ]
