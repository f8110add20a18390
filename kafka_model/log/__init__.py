"""A partition's log: segments and their files, and replication between leader and followers."""
