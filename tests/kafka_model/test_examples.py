"""The worked examples in the docstrings of kafka_model."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import kafka_model

MODULES = sorted(module.name for module in pkgutil.walk_packages(kafka_model.__path__, "kafka_model.") if not module.ispkg)


@pytest.mark.parametrize("module", MODULES)
def test_examples_in_docstrings_are_correct(module: str) -> None:
    assert doctest.testmod(importlib.import_module(module)).failed == 0
