"""Key samples of all files, summed by topic, key and partition."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from jobs.ingest.resolve.rows import schema_of
from jobs.schema import KEY_SAMPLE

_KEY = ["topic", "key", "partition"]
_ORDER = [("topic", "ascending"), ("partition", "ascending"), ("key", "ascending")]


def key_sample_table(samples: Sequence[pa.Table]) -> pa.Table:
    """Return the sums of the samples, and the partitions in which the records of each key were observed."""
    schema = schema_of(KEY_SAMPLE)
    if not samples:
        return schema.empty_table()
    return _with_observed_partitions(pa.concat_tables(samples)).select(schema.names).cast(schema)


def _with_observed_partitions(sample: pa.Table) -> pa.Table:
    """Sum rows with the same topic, key and partition; list their observed partitions and the records in each."""
    if sample["observed_partition"].null_count == len(sample):
        sums = _summed(sample, _KEY)
        partitions, records = (pa.nulls(len(sums), pa.list_(value_type)) for value_type in (pa.int32(), pa.int64()))
        return sums.append_column("observed_partitions", partitions).append_column("observed_records", records)
    observed_sums = _summed(sample, [*_KEY, "observed_partition"])
    sums = _summed(observed_sums, _KEY)
    # One thread, so that the lists keep the order of the rows. Lists and sums have the same order of keys.
    observed = observed_sums.filter(pc.is_valid(observed_sums["observed_partition"])).sort_by("observed_partition")
    lists = observed.group_by(_KEY, use_threads=False).aggregate([("observed_partition", "list"), ("records", "list")])
    lists = lists.rename_columns([*_KEY, "observed_partitions", "observed_records"]).sort_by(_ORDER)
    counts = observed_sums.group_by(_KEY).aggregate([("observed_partition", "count")]).sort_by(_ORDER)
    has_list = pc.greater(counts["observed_partition_count"], 0)
    list_row = pc.if_else(has_list, pc.subtract(pc.cumulative_sum(has_list.cast(pa.int64())), 1), None)
    for name in ("observed_partitions", "observed_records"):
        sums = sums.append_column(name, lists[name].take(list_row))
    return sums


def _summed(sample: pa.Table, keys: list[str]) -> pa.Table:
    """Sum records and bytes of the rows that have the same keys, in the order of topic, partition and key; an unknown size has no sum."""
    unknown_if_any = pc.ScalarAggregateOptions(skip_nulls=False)
    sums = sample.group_by(keys).aggregate([("records", "sum"), ("size_bytes", "sum", unknown_if_any)])
    sums = sums.rename_columns([name.removesuffix("_sum") for name in sums.column_names])
    return sums.select([*_KEY, "records", "size_bytes", *keys[len(_KEY) :]]).sort_by(_ORDER)
