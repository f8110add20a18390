"""Spark's access to S3: the jars of Hadoop's S3A file system, and its settings from the AWS_* environment variables."""

from __future__ import annotations

import os
from pathlib import Path

from jobs.spark.jars import SPARK_JARS, fetch


def s3_jars() -> list[Path]:
    """Return the jars of S3A and of Amazon's SDK, which are fetched once (640 MB)."""
    (client,) = SPARK_JARS.glob("hadoop-client-api-*.jar")  # S3A must have the version of Spark's Hadoop
    return fetch(f"org.apache.hadoop:hadoop-aws:{client.stem.rpartition('-')[2]}", transitive=True)


def s3_settings() -> dict[str, str]:
    """Return the settings that neither Spark nor Amazon's SDK takes from the environment; they take the keys and AWS_ENDPOINT_URL."""
    settings = {}
    if region := os.environ.get("AWS_REGION"):
        settings["spark.hadoop.fs.s3a.endpoint.region"] = region
    if os.environ.get("AWS_ENDPOINT_URL"):  # an S3-compatible server, which rarely has a host name for each bucket
        settings["spark.hadoop.fs.s3a.path.style.access"] = "true"
    return settings
