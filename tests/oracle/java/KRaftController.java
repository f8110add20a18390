// before 4.4.0: org.apache.kafka.common.utils.internals.LogContext -> org.apache.kafka.common.utils.LogContext
package org.apache.kafka.controller;

import com.fasterxml.jackson.databind.JsonNode;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import oracle.Lines;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.message.AlterPartitionReassignmentsRequestData;
import org.apache.kafka.common.message.AlterPartitionReassignmentsRequestData.ReassignablePartition;
import org.apache.kafka.common.message.AlterPartitionReassignmentsRequestData.ReassignableTopic;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.AlterPartitionRequestData.BrokerState;
import org.apache.kafka.common.message.AlterPartitionRequestData.PartitionData;
import org.apache.kafka.common.message.AlterPartitionRequestData.TopicData;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.metadata.BrokerRegistrationChangeRecord;
import org.apache.kafka.common.metadata.ClearElrRecord;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.internals.LogContext;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.metadata.Replicas;
import org.apache.kafka.metadata.placement.StripedReplicaPlacer;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.EligibleLeaderReplicasVersion;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.timeline.SnapshotRegistry;

/**
 * The real ReplicationControlManager, initialised by records: {"brokers", "dead", "partitions": [registration], "elr", "min_isr", "unclean", "steps"} ->
 * the registrations of the topic's partitions after each step: ["fence", broker], ["return", broker, whether it had shut down cleanly], ["balance"],
 * ["reassign", partition, replicas], after which live added replicas join the ISR, and ["min_isr", value].
 * A step after which a reassignment is not complete has the answer null.
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

    private Object run(JsonNode question) throws Exception {
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
                case "reassign":
                    reassign(step.get(1).asInt(), list(step.get(2)));
                    break;
                case "min_isr":
                    alterMinIsr(step.get(1).asText());
                    break;
                default:
                    replay(replication.maybeBalancePartitionLeaders().records());
            }
            boolean reassigning = IntStream.range(0, question.get("partitions").size()).mapToObj(number -> replication.getPartition(TOPIC, number))
                .anyMatch(partition -> partition.addingReplicas.length + partition.removingReplicas.length > 0);
            List<Object> registrations = new ArrayList<>();
            for (int number = 0; number < question.get("partitions").size(); number++) registrations.add(registration(replication.getPartition(TOPIC, number)));
            answer.add(reassigning ? null : registrations);
        }
        return answer;
    }

    private void reassign(int number, List<Integer> target) {
        PartitionRegistration before = replication.getPartition(TOPIC, number);
        replay(replication.alterPartitionReassignments(new AlterPartitionReassignmentsRequestData().setTopics(List.of(
            new ReassignableTopic().setName("t").setPartitions(List.of(new ReassignablePartition().setPartitionIndex(number).setReplicas(target)))))).records());
        PartitionRegistration requested = replication.getPartition(TOPIC, number);
        List<Integer> added = target.stream().filter(id -> !Replicas.contains(before.replicas, id) && cluster.isUnfenced(id)).collect(Collectors.toList());
        if (requested.leader < 0 || added.isEmpty()) return;
        List<BrokerState> isr = Stream.concat(Arrays.stream(requested.isr).boxed(), added.stream()).map(id -> new BrokerState().setBrokerId(id)).collect(Collectors.toList());
        ControllerRequestContext context = new ControllerRequestContext(
            new RequestHeaderData().setRequestApiVersion((short) 3), KafkaPrincipal.ANONYMOUS, OptionalLong.empty());
        replay(replication.alterPartition(context, new AlterPartitionRequestData().setBrokerId(requested.leader).setBrokerEpoch(100 + requested.leader)
            .setTopics(List.of(new TopicData().setTopicId(TOPIC).setPartitions(List.of(new PartitionData().setPartitionIndex(number)
                .setLeaderEpoch(requested.leaderEpoch).setPartitionEpoch(requested.partitionEpoch).setNewIsrWithEpochs(isr)))))).records());
    }

    /** Alter the config of the topic; the releases differ in flags after the configs. */
    private void alterMinIsr(String value) throws Exception {
        Object altered = Map.of(new ConfigResource(ConfigResource.Type.TOPIC, "t"), Map.of("min.insync.replicas", Map.entry(AlterConfigOp.OpType.SET, value)));
        Method alter = Arrays.stream(ConfigurationControlManager.class.getDeclaredMethods()).filter(each -> each.getName().equals("incrementalAlterConfigs")).findFirst().get();
        Object[] arguments = new Object[alter.getParameterCount()];
        Arrays.fill(arguments, false);
        arguments[0] = altered;
        alter.setAccessible(true);
        replay(((ControllerResult<?>) alter.invoke(configs, arguments)).records());
    }

    private void replay(List<ApiMessageAndVersion> records) {
        for (ApiMessageAndVersion record : records) {
            ApiMessage message = record.message();
            if (message instanceof PartitionChangeRecord) replication.replay((PartitionChangeRecord) message);
            else if (message instanceof ClearElrRecord) replication.replay((ClearElrRecord) message);
            else if (message instanceof ConfigRecord) configs.replay((ConfigRecord) message);
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
