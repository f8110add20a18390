"""Assignment of partitions to the members of a consumer or share group: one module per assignor of Kafka.

`range`, `round_robin`, `sticky` and `cooperative_sticky` run in the client that leads the group. `uniform` and `share_simple` run in the
broker that coordinates the group; its own range assignor (KIP-848) gives the answers of `range` without racks.
"""
