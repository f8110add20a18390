"""Errors for placements that Kafka refuses (InvalidPartitionsException and its relatives, Kafka 2.0 to 4.4).

>>> raise InvalidReplicationFactor("replication factor 4 is larger than the number of brokers, 3")
Traceback (most recent call last):
kafka_model.placement.errors.InvalidReplicationFactor: replication factor 4 is larger than the number of brokers, 3
"""

from __future__ import annotations


class InvalidPartitions(ValueError):
    """A topic needs at least one partition."""


class InvalidReplicationFactor(ValueError):
    """The brokers cannot hold this number of replicas."""


class MixedRacks(ValueError):
    """Some brokers have a rack and some have none: AdminUtils places neither rack-aware nor rack-unaware."""
