"""The coefficient of variation of integers, computed exactly."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F


def variation(name: str) -> Column:
    """The coefficient of variation of a column of 64-bit integers: the standard deviation over the mean.

    Null if their sum is 0, or if the sum of their squares has more than 38 digits. Spark's own stddev adds in the order in which tasks
    end: the last bits of its result differ from run to run.
    """
    value = F.col(name).cast("decimal(19,0)")
    total = F.sum(value)
    scaled_variance = F.try_subtract(F.try_multiply(F.try_sum(value * value), F.count(name)), F.try_multiply(total, total))
    return F.when(total > 0, F.sqrt(scaled_variance.cast("double")) / total.cast("double"))
