"""Key samples of all files, added up by topic, key and partition."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from jobs.ingest.resolve.rows import schema_of
from jobs.schema import KEY_SAMPLE

_KEY = ["topic", "key", "partition"]
_ORDER = [("topic", "ascending"), ("partition", "ascending"), ("key", "ascending")]


def key_sample_table(samples: Sequence[pa.Table]) -> pa.Table:
    """Return the sums of the samples, with the partitions in which each key was found."""
    schema = schema_of(KEY_SAMPLE)
    if not samples:
        return schema.empty_table()
    return _added_up(samples).select(schema.names).cast(schema)


def _added_up(samples: Sequence[pa.Table]) -> pa.Table:
    sample = pa.concat_tables(samples)
    observed = sample["observed_partition"].null_count < len(sample)
    found = _summed(sample, [*_KEY, "observed_partition"]) if observed else sample
    summed = _summed(found, _KEY)
    if not observed:
        partitions, records = (pa.nulls(len(summed), pa.list_(type)) for type in (pa.int32(), pa.int64()))
        return summed.append_column("observed_partitions", partitions).append_column("observed_records", records)
    # One thread, so that the lists keep the order of the rows. Lists and keys are in the same order.
    where = found.filter(pc.is_valid(found["observed_partition"])).sort_by("observed_partition").group_by(_KEY, use_threads=False)
    lists = where.aggregate([("observed_partition", "list"), ("records", "list")]).rename_columns(
        [*_KEY, "observed_partitions", "observed_records"]
    )
    lists = lists.sort_by(_ORDER)
    has = pc.greater(found.group_by(_KEY).aggregate([("observed_partition", "count")]).sort_by(_ORDER)["observed_partition_count"], 0)
    row = pc.if_else(has, pc.subtract(pc.cumulative_sum(has.cast(pa.int64())), 1), None)
    for name in ("observed_partitions", "observed_records"):
        summed = summed.append_column(name, lists[name].take(row))
    return summed


def _summed(sample: pa.Table, by: list[str]) -> pa.Table:
    """Add up the rows that have the same values of `by`, in the order of topic, partition and key."""
    summed = sample.group_by(by).aggregate([("records", "sum"), ("size_bytes", "sum")])
    named = summed.rename_columns([name.removesuffix("_sum") for name in summed.column_names])
    return named.select([*_KEY, "records", "size_bytes", *by[len(_KEY) :]]).sort_by(_ORDER)
