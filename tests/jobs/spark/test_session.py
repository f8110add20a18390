"""The session's own manners."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F


def test_what_makes_expressions_is_resolved_once(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    def expression() -> None:
        spark.range(1).select(F.when(F.col("id") > 0, F.lit("more")).alias("it"), F.filter(F.array("id"), lambda id: id > 0))

    expression()
    client, asked = spark.sparkContext._gateway._gateway_client, []
    send = client.send_command
    monkeypatch.setattr(client, "send_command", lambda command, *rest, **named: asked.append(command) or send(command, *rest, **named))
    expression()
    assert [command for command in asked if command.startswith("c\n")]  # it was said through this client
    assert [command for command in asked if command.startswith("r\n")] == []
