"""A model of Kafka's own algorithms: plain values in, plain values out.

The modules perform no I/O and use no clock and no random numbers of their own: start index, random source and time are arguments. They
import nothing of the project, only the standard library, numpy and numba. Where answers differ between Kafka versions, the version is an
argument. The golden files of `tests/golden` contain the answers of Kafka's own classes to random cases.

The list has, for each module, the Kafka classes and versions that it reproduces, and the Delta tables that are computed with it. A table
in parentheses is computed by a columnar form in `jobs/` or in cruise_control.columnar, which the tests compare with the module. `-`: no
table.

module                         | reproduces                          | versions     | tables
release                        | MetadataVersion; order of releases  | 2.0 to 4.4   | cluster
placement.zookeeper            | AdminUtils, AdminZkClient           | 2.0 to 3.9   | replica_assignment topic_placement
placement.kraft                | StripedReplicaPlacer                | 3.3 to 4.4   | -
placement.striped_draws        | StripedReplicaPlacer, inverted      | 3.3 to 4.4   | replica_assignment topic_placement
placement.striped_search       | StripedReplicaPlacer, inverted      | 3.3 to 4.4   | replica_assignment topic_placement
placement.errors               | InvalidPartitionsException          | 2.0 to 4.4   | -
partitioner.java_client        | DefaultPartitioner and successors   | 2.0 to 4.4   | (producer_load)
partitioner.other_clients      | librdkafka 1 to 2, Sarama 1         | -            | (topic_partitioner) (producer_load)
partitioner.key_hash           | Utils.murmur2, FNV-1a               | all          | producer_load hot_key topic_partitioner
partitioner.key_hash_loops     | Utils.murmur2, FNV-1a, CRC-32       | all          | producer_load hot_key topic_partitioner
partitioner.key_attribution    | no class: compares partitioners     | -            | topic_partitioner
assignor.group                 | AbstractPartitionAssignor           | 2.0 to 4.4   | consumer_assignment group_assignment
assignor.range                 | RangeAssignor (client, coordinator) | 2.0 to 4.4   | consumer_assignment group_assignment
assignor.round_robin           | RoundRobinAssignor                  | 2.0 to 4.4   | consumer_assignment group_assignment
assignor.sticky                | StickyAssignor                      | 3.5.0 to 4.4 | consumer_assignment group_assignment
assignor.cooperative_sticky    | CooperativeStickyAssignor           | 3.5.0 to 4.4 | consumer_assignment group_assignment
assignor.uniform               | UniformAssignor                     | 4.0 to 4.4   | consumer_assignment group_assignment
assignor.share_simple          | SimpleAssignor                      | 4.2 to 4.4   | consumer_assignment group_assignment
election.partition             | LeaderAndIsr, PartitionRegistration | 2.0 to 4.4   | failover broker_restart remedy plan_scenario
election.leader_election       | PartitionLeaderElectionAlgorithms   | 2.0 to 3.9   | failover broker_restart remedy plan_scenario
election.leader_and_isr        | kafka.controller.Election           | 3.9          | failover broker_restart remedy plan_scenario
election.partition_change      | PartitionChangeBuilder              | 3.5 to 4.4   | failover broker_restart remedy plan_scenario
election.state_machines        | PartitionState, ReplicaState        | 2.0 to 3.9   | failover
election.preferred_leaders     | ReplicationControlManager           | 4.0 to 4.4   | -
election.alterations           | ReplicationControlManager           | 4.0 to 4.4   | -
election.zookeeper_controller  | KafkaController, its state machines | 3.9          | (scenario)
failover.broker_failure        | KafkaController, QuorumController   | 2.0 to 4.4   | failover broker_restart remedy plan_scenario
failover.joint_failure         | no class: counts sets of brokers    | -            | joint_loss
failover.rolling_restart       | no class: order of clean shutdowns  | -            | broker_restart
log.segments                   | UnifiedLog, LogSegment, OffsetIndex | 4.1 to 4.4   | (log_storage)
log.file_formats               | FileRecords, OffsetIndex            | 4.0 to 4.4   | -
log.replication                | Partition, Replica, fetcher threads | 3.5 to 3.9   | (failover_pattern) (partition_health) (broker_restart)
java.hash_map                  | java.util.HashMap, hashCode         | OpenJDK 17   | consumer_assignment (scenario)
java.random_numbers            | java.util.Random                    | OpenJDK      | -
java.scala_hash_map            | immutable.HashMap of Scala          | 2.13         | (scenario)
cruise_control.limits          | BalancingConstraint and the goals   | 2.5          | goal_verdict goal_breach cluster_balance plan
cruise_control.cluster_load    | ClusterModel, Load, ModelUtils      | 2.5          | (goal_verdict) (goal_breach)
cruise_control.broker_goals    | goals on the load of brokers        | 2.5          | goal_verdict goal_breach
cruise_control.placement_goals | goals on racks, topics and leaders  | 2.5          | goal_verdict (goal_breach)
cruise_control.goals           | all goals on an unchanged cluster   | 2.5          | (goal_verdict) (goal_breach)
cruise_control.verdicts        | ProvisionResponse, score            | 2.5          | goal_verdict cluster_balance
cruise_control.columnar        | all goals in columns                | 2.5          | goal_verdict goal_breach net_imbalance plan_goal
cruise_control.plan            | no class: a reassignment plan       | -            | plan plan_move plan_blocked
cruise_control.plan_state      | no class: state while planning      | -            | plan plan_move
cruise_control.required_moves  | no class: replaces dead brokers     | -            | plan plan_move plan_blocked
cruise_control.capacity_moves  | no class: clears capacity limits    | -            | plan plan_move
cruise_control.replica_balance | no class: balances replicas         | -            | plan plan_move
cruise_control.leader_balance  | no class: balances leaders          | -            | plan plan_move
cruise_control.disk_balance    | no class: balances disks            | -            | plan plan_move
cruise_control.load_balance    | no class: balances network and cpu  | -            | plan plan_move
cruise_control.reassignment    | no class: order of the steps        | -            | plan plan_move
cruise_control.waves           | no class: order of the moves        | -            | plan_move plan_wave
"""
