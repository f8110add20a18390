"""Access to S3 without Spark: Spark's settings of S3A as options of delta-rs and of Arrow.

A setting that Spark does not have comes from the AWS_* environment variables, as for Spark itself.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from urllib.parse import urlparse

from pyarrow import fs

# Hadoop's S3A setting -> (delta-rs's storage option, the argument of Arrow's S3FileSystem)
_S3 = {
    "access.key": ("aws_access_key_id", "access_key"),
    "secret.key": ("aws_secret_access_key", "secret_key"),
    "session.token": ("aws_session_token", "session_token"),
    "endpoint.region": ("aws_region", "region"),
}
_PREFIX = "spark.hadoop.fs.s3a."


def delta_rs_options(properties: Mapping[str, str]) -> dict[str, str]:
    """Return delta-rs's storage options for Spark's properties `spark.hadoop.fs.s3a.*`."""
    options = {option: properties[_PREFIX + name] for name, (option, _) in _S3.items() if _PREFIX + name in properties}
    if endpoint := _endpoint(properties):
        options |= {"aws_endpoint_url": endpoint, "aws_allow_http": str(endpoint.startswith("http://")).lower()}
    if properties.get(f"{_PREFIX}path.style.access") == "false":
        options["aws_virtual_hosted_style_request"] = "true"
    return options


def s3_file_system(properties: Mapping[str, str]) -> fs.S3FileSystem:
    """Return Arrow's S3 file system for the same properties."""
    arguments = {argument: properties[_PREFIX + name] for name, (_, argument) in _S3.items() if _PREFIX + name in properties}
    if endpoint := _endpoint(properties):
        parsed = urlparse(endpoint)
        arguments |= {"endpoint_override": parsed.netloc, "scheme": parsed.scheme}
    return fs.S3FileSystem(**arguments)


def _endpoint(properties: Mapping[str, str]) -> str | None:
    endpoint = properties.get(f"{_PREFIX}endpoint") or os.environ.get("AWS_ENDPOINT_URL")
    return endpoint if endpoint is None or "://" in endpoint else f"https://{endpoint}"
