"""How unevenly whole numbers are spread, exactly."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F


def variation(name: str) -> Column:
    """The coefficient of variation of whole numbers of 64 bits, from their exact sums; null, if their sum is 0 or the sum of
    their squares passes 38 digits.

    Spark's own deviation adds in the order in which tasks end, and its last bits with it: a rerun would tell another number.
    """
    value = F.col(name).cast("decimal(19,0)")
    total = F.sum(value)
    scattered = F.try_subtract(F.try_multiply(F.try_sum(value * value), F.count(name)), F.try_multiply(total, total))
    return F.when(total > 0, F.sqrt(scattered.cast("double")) / total.cast("double"))
