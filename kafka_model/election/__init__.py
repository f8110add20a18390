"""How controllers record a partition, elect its leader and change its ISR: ZooKeeper's controller and KRaft's."""
