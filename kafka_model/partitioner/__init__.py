"""The partition that a producer chooses for a record, by client and version."""
