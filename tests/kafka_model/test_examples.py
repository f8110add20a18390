"""The worked examples in the docstrings are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import kafka_model

MODULES = sorted(module.name for module in pkgutil.walk_packages(kafka_model.__path__, "kafka_model.") if not module.ispkg)


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_of_the_docstrings_hold(module: str) -> None:
    assert doctest.testmod(importlib.import_module(module)).failed == 0
