"""The rules of every table: one module per table, with the table's name, plus the limits that the rules use."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from expectations.limits import Limits
from expectations.rule import Rule, one_row_per_key
from jobs.schema import Table


def rules_of(table: Table, limits: Limits) -> list[Rule]:
    """Return the rules of a table: its key is unique, then the rules of its module if it has one."""
    module = f"expectations.{table.name}"
    return [one_row_per_key(table), *(import_module(module).rules(limits) if find_spec(module) else [])]
