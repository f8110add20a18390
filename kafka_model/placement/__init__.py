"""Where the replicas of a new partition go, with a ZooKeeper controller and with KRaft."""
