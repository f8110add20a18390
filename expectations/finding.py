"""Findings: what a broken soft rule means for users. Rules that break for the same cause are symptoms of one finding.

RULES has an entry for every soft rule. The view `finding` names a finding by the problem of its worst broken rule.
"""

from __future__ import annotations

from typing import NamedTuple

from jobs.schema.publication import CONSEQUENCES

_LOSS, _OFFLINE, _REFUSED, _REDUNDANCY, _BALANCE, _HYGIENE = CONSEQUENCES


class Finding(NamedTuple):
    """What the rows that break a rule mean. `noun` names one row, with its plural if it is not regular; `problem` states what is wrong."""

    cause: str
    consequence: str
    noun: str
    problem: str

    def sentence(self, rows: int) -> str:
        """Return the problem of a number of rows, for example `9 partitions without a live leader`."""
        singular, _, plural = self.noun.partition("/")
        return f"{rows:,} {singular if rows == 1 else plural or f'{singular}s'} {self.problem}"


def _group(cause: str, *rules: tuple[str, str, str, str]) -> dict[str, Finding]:
    return {rule: Finding(cause, consequence, noun, problem) for rule, consequence, noun, problem in rules}


# By the name of the rule, with its suite.
RULES: dict[str, Finding] = {
    **_group(
        "partitions are down now",
        ("partition_health.every_partition_has_a_leader", _OFFLINE, "partition", "without a live leader now"),
        ("partition_health.accepts_acks_all", _REFUSED, "partition", "refusing acks=all now, because too few replicas are in sync"),
    ),
    **_group(
        "topic can never accept acks=all",
        ("partition_health.enough_replicas_for_min_isr", _REFUSED, "partition", "with fewer replicas than min.insync.replicas"),
    ),
    **_group(
        "one broker is fatal",
        ("scenario.data_survives_a_broker", _LOSS, "broker", "whose death alone loses acknowledged records"),
        ("scenario.reads_survive_a_broker", _OFFLINE, "broker", "whose death alone takes partitions offline"),
        ("scenario.writes_survive_a_broker", _REFUSED, "broker", "whose death alone makes partitions refuse acks=all"),
        ("scenario.writes_survive_a_rolling_restart", _REFUSED, "broker", "whose restart makes partitions refuse acks=all"),
        ("broker_restart.rolling_restart_has_an_order", _REFUSED, "broker", "without a safe place in a rolling restart"),
        ("partition_health.above_min_isr", _REDUNDANCY, "partition", "with no in-sync replica more than min.insync.replicas"),
        ("partition_health.more_replicas_than_min_isr", _REDUNDANCY, "partition", "with no replica more than min.insync.replicas"),
    ),
    **_group(
        "one rack is fatal",
        ("scenario.data_survives_a_rack", _LOSS, "rack", "whose loss loses acknowledged records"),
        ("scenario.reads_survive_a_rack", _OFFLINE, "rack", "whose loss takes partitions offline"),
        ("scenario.writes_survive_a_rack", _REFUSED, "rack", "whose loss makes partitions refuse acks=all"),
        ("partition_health.spread_over_racks", _REDUNDANCY, "partition", "with replicas in fewer racks than possible"),
        ("goal_breach.one_replica_per_rack", _REDUNDANCY, "row", "with two replicas of a partition in one rack (RackAwareGoal)"),
        ("goal_breach.replicas_even_over_racks", _REDUNDANCY, "row", "with replicas uneven over the racks (RackAwareDistributionGoal)"),
    ),
    **_group(
        "two brokers are fatal",
        ("broker_pair.data_survives_two_brokers", _REDUNDANCY, "pair/pairs", "of brokers whose joint loss loses acknowledged records"),
        ("topic.enough_replicas", _REDUNDANCY, "topic", "with a replication factor under the limit"),
    ),
    **_group(
        "controller quorum is at risk",
        ("scenario.quorum_survives_a_broker", _OFFLINE, "broker", "whose death costs the controllers their quorum"),
    ),
    **_group(
        "survivors lack capacity",
        ("failover_load.survivors_have_capacity", _OFFLINE, "failure", "after which a survivor's network is full"),
    ),
    **_group(
        "log dirs fail",
        ("log_dir.log_dirs_work", _REDUNDANCY, "log dir", "with an error"),
    ),
    **_group(
        "brokers are down",
        ("change.no_broker_lost", _REDUNDANCY, "broker", "lost since the previous night"),
        ("partition_health.replicas_on_live_brokers", _REDUNDANCY, "partition", "with a replica on a dead broker"),
        ("partition_health.fully_replicated", _REDUNDANCY, "partition", "with replicas outside the ISR"),
    ),
    **_group(
        "replicas left the ISR",
        ("change.isr_shrinks_explained", _REDUNDANCY, "replica", "that left the ISR for no visible reason"),
    ),
    **_group(
        "durability was lowered",
        ("change.durability_not_lowered", _REDUNDANCY, "config", "changed to a less durable value since the previous night"),
    ),
    **_group(
        "assignment is unfinished",
        ("partition.no_reassignment_in_progress", _REDUNDANCY, "partition", "still being reassigned"),
        ("partition_health.replication_factor_of_topic", _REDUNDANCY, "partition", "with another number of replicas than its topic"),
        ("partition_health.isr_within_replicas", _HYGIENE, "partition", "with a broker in the ISR that has no replica of it"),
    ),
    **_group(
        "disks are full",
        ("disk_usage.disks_not_full", _OFFLINE, "log dir", "used beyond the limit"),
        ("goal_breach.disk_within_capacity", _BALANCE, "broker", "storing more than the allowed share of the disk (DiskCapacityGoal)"),
    ),
    **_group(
        "brokers are overloaded",
        ("goal_breach.network_in_within_capacity", _BALANCE, "host", "receiving too much (NetworkInboundCapacityGoal)"),
        ("goal_breach.network_out_within_capacity", _BALANCE, "host", "sending too much (NetworkOutboundCapacityGoal)"),
        ("goal_breach.cpu_within_capacity", _BALANCE, "broker", "using too much CPU (CpuCapacityGoal)"),
        (
            "goal_breach.potential_network_out_within_capacity",
            _BALANCE,
            "broker",
            "that would send too much if it led all its partitions (PotentialNwOutGoal)",
        ),
        ("goal_breach.replicas_within_capacity", _BALANCE, "broker", "with too many replicas (ReplicaCapacityGoal)"),
        ("net_imbalance.replicas_per_broker_limited", _BALANCE, "broker", "with more replicas than the limit"),
        ("net_imbalance.partitions_per_cluster_limited", _BALANCE, "cluster", "with more partitions than the limit"),
        ("cluster_balance.enough_brokers", _BALANCE, "cluster", "with too few brokers, racks or partitions for its goals"),
    ),
    **_group(
        "leaders are uneven",
        ("broker_balance.even_leaders", _BALANCE, "broker", "with too many or too few leaders"),
        ("goal_breach.leaders_near_mean", _BALANCE, "broker", "with a number of leaders far from the mean (LeaderReplicaDistributionGoal)"),
        (
            "goal_breach.leader_bytes_in_near_mean",
            _BALANCE,
            "broker",
            "receiving much more than the mean as a leader (LeaderBytesInDistributionGoal)",
        ),
        (
            "goal_breach.topic_leaders_on_every_broker",
            _BALANCE,
            "row",
            "with too few leaders of a configured topic on a broker (MinTopicLeadersPerBrokerGoal)",
        ),
        ("partition_health.preferred_leaders", _BALANCE, "broker", "not leading many partitions that prefer it"),
        ("goal_breach.first_replica_leads", _BALANCE, "partition", "not led by its first replica (PreferredLeaderElectionGoal)"),
    ),
    **_group(
        "replicas are uneven",
        ("broker_balance.even_replicas", _BALANCE, "broker", "with too many or too few replicas"),
        ("goal_breach.replicas_near_mean", _BALANCE, "broker", "with a number of replicas far from the mean (ReplicaDistributionGoal)"),
        (
            "goal_breach.topic_replicas_near_mean",
            _BALANCE,
            "row",
            "with replicas of a topic far from the mean of its brokers (TopicReplicaDistributionGoal)",
        ),
    ),
    **_group(
        "bytes are uneven",
        ("broker_balance.even_bytes", _BALANCE, "broker", "storing much more than the mean"),
        ("disk_usage.disks_evenly_used", _BALANCE, "cluster", "with one disk much fuller than another"),
        ("goal_breach.disk_use_near_mean", _BALANCE, "broker", "with disk use far from the mean (DiskUsageDistributionGoal)"),
    ),
    **_group(
        "network or CPU use is uneven",
        ("broker_balance.even_produced_bytes", _BALANCE, "broker", "receiving much more from producers than the mean"),
        (
            "goal_breach.network_in_near_mean",
            _BALANCE,
            "broker",
            "with incoming traffic far from the mean (NetworkInboundUsageDistributionGoal)",
        ),
        (
            "goal_breach.network_out_near_mean",
            _BALANCE,
            "broker",
            "with outgoing traffic far from the mean (NetworkOutboundUsageDistributionGoal)",
        ),
        ("goal_breach.cpu_use_near_mean", _BALANCE, "broker", "with CPU use far from the mean (CpuUsageDistributionGoal)"),
    ),
    **_group(
        "producers are uneven",
        ("topic_load.even_producers", _BALANCE, "topic", "with a partition that receives much more than the mean"),
        ("hot_key.no_hot_key", _BALANCE, "key", "with too large a share of its topic's records"),
        ("topic_balance.even_records", _BALANCE, "topic", "with a partition much fuller than the mean"),
        ("topic_balance.several_partitions", _BALANCE, "topic", "with too few partitions"),
    ),
    **_group(
        "consumers are uneven",
        ("group_load.even_consumers", _BALANCE, "group", "whose members have very different numbers of partitions"),
        ("group_load.no_idle_members", _BALANCE, "group", "with members that have no partition"),
        ("group_load.members_share_records", _BALANCE, "member", "reading much more than the mean of its group"),
        ("group_load.hosts_share_records", _BALANCE, "host", "reading much more than the mean"),
    ),
    **_group(
        "replicas are not where Kafka would place them",
        ("topic_placement.placement_explained", _BALANCE, "topic", "whose placement no draw of Kafka's explains"),
        ("topic_placement.placeable", _HYGIENE, "topic", "that Kafka would refuse to place on the present brokers"),
    ),
    **_group(
        "consumers can skip or repeat records",
        ("committed_offset.committed_within_log", _LOSS, "offset", "committed beyond the end of the log"),
    ),
    **_group(
        "clients disagree",
        ("topic_partitioner.one_partitioner", _HYGIENE, "topic", "whose keys no single partitioner explains"),
        ("group_member.no_sarama", _HYGIENE, "member", "with Sarama's default client id"),
        ("group_assignment.assignment_as_predicted", _HYGIENE, "group", "whose members do not have the partitions that its assignor gives"),
    ),
    **_group(
        "reads are expensive",
        ("group_load.reads_stay_in_rack", _HYGIENE, "group", "reading across racks without need"),
        ("group_load.topics_per_group_limited", _HYGIENE, "group", "reading more topics than the limit"),
        ("topic_balance.record_size_limited", _HYGIENE, "topic", "with very large records"),
        ("topic_balance.partition_size_limited", _HYGIENE, "partition", "larger than the limit"),
    ),
    **_group(
        "something disappeared or moved",
        ("change.no_topic_deleted", _HYGIENE, "topic", "deleted or recreated since the previous night"),
        ("change.no_group_missing", _HYGIENE, "group", "gone since the previous night"),
        ("change.racks_unchanged", _HYGIENE, "broker", "in another rack than in the previous night"),
        ("replica.no_stray_replicas", _HYGIENE, "replica", "in a log dir of a broker that it is not assigned to"),
    ),
    **_group(
        "racks are incomplete",
        ("broker.all_brokers_have_racks", _HYGIENE, "broker", "without a rack although others have one"),
    ),
    **_group(
        "waivers have expired",
        ("waiver.waivers_in_force", _HYGIENE, "waiver", "no longer in force"),
    ),
    **_group(
        "dumps are incomplete",
        ("change.no_source_missing", _HYGIENE, "kind/kinds", "of dump missing since the previous night"),
        ("input_file.formats_recognised", _HYGIENE, "file", "of no known format"),
        ("rejected_input.nothing_rejected", _HYGIENE, "entry/entries", "that could not be read"),
        ("topic.partitions_described", _HYGIENE, "topic", "with partitions missing from the dumps"),
        ("topic.min_insync_replicas_known", _HYGIENE, "topic", "with an unknown min.insync.replicas"),
        ("log_dir.every_broker_reports_log_dirs", _HYGIENE, "broker", "whose log dirs are not in the dumps"),
        ("cluster.kafka_cluster_read_once", _HYGIENE, "folder", "with the Kafka cluster id of another one"),
        ("broker.capacities_configured", _HYGIENE, "broker", "with the capacities of Cruise Control's example"),
        ("broker_balance.stored_bytes_within_capacity", _HYGIENE, "broker", "storing more than its reported disk capacity"),
        ("key_sample.sampled_partitions_exist", _HYGIENE, "topic", "of the key sample unknown to the cluster"),
    ),
}
