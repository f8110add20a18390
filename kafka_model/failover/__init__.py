"""What brokers' deaths and returns do to partitions, in which order brokers can restart, and which joint deaths are fatal."""
