package org.apache.kafka.controller;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;
import oracle.Lines;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.BrokerRegistrationChangeRecord;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.metadata.placement.StripedReplicaPlacer;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.EligibleLeaderReplicasVersion;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.timeline.SnapshotRegistry;

/**
 * The real ReplicationControlManager, initialised by records: {"brokers", "dead", "partitions": [registration], "elr", "min_isr", "unclean", "steps"} ->
 * the registrations of the topic's partitions after each step: ["fence", broker], ["return", broker, whether it had shut down cleanly], ["balance"].
 */
public class KRaftController {
    private static final Uuid TOPIC = new Uuid(1, 1);
    private final ConfigurationControlManager configs;
    private final FeatureControlManager features;
    private final ClusterControlManager cluster;
    private final ReplicationControlManager replication;

    private KRaftController() {
        LogContext log = new LogContext();
        SnapshotRegistry registry = new SnapshotRegistry(log);
        features = new FeatureControlManager.Builder().setSnapshotRegistry(registry)
            .setQuorumFeatures(new QuorumFeatures(0, QuorumFeatures.defaultSupportedFeatureMap(true), List.of(0))).build();
        configs = new ConfigurationControlManager.Builder().setSnapshotRegistry(registry).setFeatureControl(features)
            .setKafkaConfigSchema(kafka.server.KafkaRaftServer.configSchema()).build();
        cluster = new ClusterControlManager.Builder().setLogContext(log).setTime(Time.SYSTEM).setSnapshotRegistry(registry).setSessionTimeoutNs(1)
            .setReplicaPlacer(new StripedReplicaPlacer(new Random(0))).setFeatureControlManager(features)
            .setBrokerShutdownHandler((broker, clean, records) -> { }).build();
        replication = new ReplicationControlManager.Builder().setSnapshotRegistry(registry).setLogContext(log).setMaxElectionsPerImbalance(1000)
            .setConfigurationControl(configs).setClusterControl(cluster).setFeatureControl(features).build();
    }

    public static void main(String[] args) throws Exception {
        Lines.serve(question -> new KRaftController().run(question));
    }

    private Object run(JsonNode question) {
        features.replay(new FeatureLevelRecord().setName(MetadataVersion.FEATURE_NAME).setFeatureLevel(MetadataVersion.latestProduction().featureLevel()));
        features.replay(new FeatureLevelRecord().setName(EligibleLeaderReplicasVersion.FEATURE_NAME)
            .setFeatureLevel((short) (question.get("elr").asBoolean() ? 1 : 0)));
        List<Integer> dead = list(question.get("dead"));
        for (int id : Lines.ints(question.get("brokers")))
            cluster.replay(new RegisterBrokerRecord().setBrokerId(id).setBrokerEpoch(100 + id).setFenced(dead.contains(id)).setLogDirs(List.of(new Uuid(2, id))), 0);
        replication.replay(new TopicRecord().setName("t").setTopicId(TOPIC));
        configs.replay(config("min.insync.replicas", question.get("min_isr").asText()));
        configs.replay(config("unclean.leader.election.enable", question.get("unclean").asText()));
        for (int number = 0; number < question.get("partitions").size(); number++) replication.replay(record(number, question.get("partitions").get(number)));
        List<Object> answer = new ArrayList<>();
        for (JsonNode step : question.get("steps")) {
            switch (step.get(0).asText()) {
                case "fence": {
                    List<ApiMessageAndVersion> records = new ArrayList<>();
                    replication.handleBrokerFenced(step.get(1).asInt(), records);
                    replay(records);
                    break;
                }
                case "return": {
                    int broker = step.get(1).asInt();
                    List<ApiMessageAndVersion> registered = new ArrayList<>(), unfenced = new ArrayList<>();
                    replication.handleBrokerShutdown(broker, step.get(2).asBoolean(), registered);
                    replay(registered);
                    replication.handleBrokerUnfenced(broker, 100 + broker, unfenced);
                    replay(unfenced);
                    break;
                }
                default:
                    replay(replication.maybeBalancePartitionLeaders().records());
            }
            List<Object> registrations = new ArrayList<>();
            for (int number = 0; number < question.get("partitions").size(); number++) registrations.add(registration(replication.getPartition(TOPIC, number)));
            answer.add(registrations);
        }
        return answer;
    }

    private void replay(List<ApiMessageAndVersion> records) {
        for (ApiMessageAndVersion record : records) {
            ApiMessage message = record.message();
            if (message instanceof PartitionChangeRecord) replication.replay((PartitionChangeRecord) message);
            else cluster.replay((BrokerRegistrationChangeRecord) message);
        }
    }

    private static ConfigRecord config(String name, String value) {
        return new ConfigRecord().setResourceType((byte) 2).setResourceName("t").setName(name).setValue(value);
    }

    private static PartitionRecord record(int number, JsonNode fields) {
        return new PartitionRecord().setTopicId(TOPIC).setPartitionId(number).setReplicas(list(fields.get("replicas"))).setIsr(list(fields.get("isr")))
            .setEligibleLeaderReplicas(list(fields.get("elr"))).setLastKnownElr(list(fields.get("last_known_elr")))
            .setDirectories(list(fields.get("replicas")).stream().map(id -> new Uuid(2, id)).collect(Collectors.toList()))
            .setLeader(fields.get("leader").isNull() ? -1 : fields.get("leader").asInt()).setLeaderEpoch(fields.get("leader_epoch").asInt())
            .setPartitionEpoch(fields.get("partition_epoch").asInt());
    }

    private static Map<String, Object> registration(PartitionRegistration partition) {
        Map<String, Object> registration = new LinkedHashMap<>();
        registration.put("replicas", partition.replicas);
        registration.put("leader", partition.leader < 0 ? null : partition.leader);
        registration.put("isr", partition.isr);
        registration.put("elr", partition.elr);
        registration.put("last_known_elr", partition.lastKnownElr);
        registration.put("leader_epoch", partition.leaderEpoch);
        registration.put("partition_epoch", partition.partitionEpoch);
        registration.put("recovering", partition.leaderRecoveryState == LeaderRecoveryState.RECOVERING);
        return registration;
    }

    private static List<Integer> list(JsonNode array) {
        return Arrays.stream(Lines.ints(array)).boxed().collect(Collectors.toList());
    }
}
