package kafka.controller;

import com.fasterxml.jackson.databind.JsonNode;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.LinkedBlockingQueue;
import kafka.api.LeaderAndIsr;
import kafka.cluster.Broker;
import kafka.server.KafkaConfig;
import kafka.zk.BrokerInfo;
import kafka.zk.KafkaZkClient;
import kafka.zk.TopicPartitionStateZNode;
import kafka.zookeeper.CreateResponse;
import kafka.zookeeper.GetDataResponse;
import kafka.zookeeper.ResponseMetadata;
import kafka.zookeeper.SetDataResponse;
import oracle.Lines;
import org.apache.kafka.clients.NetworkClient;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.feature.Features;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.AbstractControlRequest;
import org.apache.kafka.common.requests.LeaderAndIsrRequest;
import org.apache.kafka.common.requests.StopReplicaRequest;
import org.apache.kafka.common.requests.UpdateMetadataRequest;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.data.Stat;
import scala.Option;
import scala.Tuple2;
import scala.collection.JavaConverters;

/**
 * The real KafkaController, its ZooKeeper a map in memory: {"partitions", "live", "unclean_topics", "events"} -> after each event the state of every
 * partition and replica, and the requests put in each broker's queue, sorted.
 */
public class ZkController {
    private final Map<TopicPartition, LeaderIsrAndControllerEpoch> zookeeper = new HashMap<>();
    private final Map<Integer, LinkedBlockingQueue<QueueItem>> queues = new TreeMap<>();
    private final KafkaController controller;
    private final ControllerContext context;
    private final JsonNode question;
    private List<String> deletions = new ArrayList<>();

    private ZkController(JsonNode question) throws Exception {
        this.question = question;
        Properties properties = new Properties();
        properties.put("zookeeper.connect", "none");
        properties.put("broker.id", "999");
        properties.put("leader.imbalance.per.broker.percentage", question.get("imbalance_percentage").asText());
        KafkaConfig config = new KafkaConfig(properties, false);
        BrokerInfo self = new BrokerInfo(broker(999), 5, 0);
        controller = new KafkaController(config, new MapInMemory(), Time.SYSTEM, new Metrics(), self, 0, null, null, null, Option.empty());
        context = controller.controllerContext();
        context.epoch_$eq(1);
        Field manager = KafkaController.class.getDeclaredField("controllerChannelManager");
        manager.setAccessible(true);
        Field states = ControllerChannelManager.class.getDeclaredField("brokerStateInfo");
        states.setAccessible(true);
        @SuppressWarnings("unchecked")
        scala.collection.mutable.Map<Object, ControllerBrokerStateInfo> brokerStates =
            (scala.collection.mutable.Map<Object, ControllerBrokerStateInfo>) states.get(manager.get(controller));
        for (int id = 0; id < 32; id++) {
            queues.put(id, new LinkedBlockingQueue<>());
            brokerStates.put(id, new ControllerBrokerStateInfo(null, new Node(id, "h", 1), queues.get(id), null, null, null, Option.empty()));
        }
    }

    public static void main(String[] args) throws Exception {
        Lines.serve(question -> new ZkController(question).run());
    }

    private Object run() throws Exception {
        Map<Broker, Object> live = new HashMap<>();
        for (int id : Lines.ints(question.get("live"))) live.put(broker(id), 1L);
        context.setLiveBrokers(scalaMap(live));
        for (JsonNode partition : question.get("partitions")) {
            TopicPartition name = name(partition);
            context.allTopics().add(name.topic());
            assign(name, partition);
            if (!partition.has("isr")) continue;
            LeaderAndIsr recorded = new LeaderAndIsr(partition.get("leader").isNull() ? -1 : partition.get("leader").asInt(),
                partition.get("leader_epoch").asInt(), LeaderRecoveryState.RECOVERED, brokerStates(partition.get("isr")), partition.get("partition_epoch").asInt());
            zookeeper.put(name, new LeaderIsrAndControllerEpoch(recorded, 1));
            context.putPartitionLeadershipInfo(name, zookeeper.get(name));
        }
        List<Object> answer = new ArrayList<>();
        for (JsonNode event : question.get("events")) {
            happen(event);
            Map<String, Object> after = new HashMap<>();
            after.put("partitions", partitions());
            after.put("replicas", replicas());
            after.put("requests", requests());
            answer.add(after);
        }
        return answer;
    }

    private void happen(JsonNode event) throws Exception {
        JsonNode about = event.get(1);
        switch (event.get(0).asText()) {
            case "start_up":
                call("sendUpdateMetadataRequest", context.liveOrShuttingDownBrokerIds().toSeq(), JavaConverters.asScalaBufferConverter(new ArrayList<>()).asScala().toSet());
                controller.replicaStateMachine().startup();
                controller.partitionStateMachine().startup();
                break;
            case "die":
                context.removeLiveBrokers(JavaConverters.asScalaBufferConverter(boxed(about)).asScala().toSet());
                call("onBrokerFailure", seq(about));
                break;
            case "start":
                Map<Broker, Object> live = new HashMap<>();
                for (int id : Lines.ints(about)) live.put(broker(id), 2L);
                context.addLiveBrokers(scalaMap(live));
                call("onBrokerStartup", seq(about));
                break;
            case "controlled_shutdown":
                active();
                call("doControlledShutdown", about.asInt(), -1L);
                break;
            case "create":
                List<TopicPartition> created = new ArrayList<>();
                for (JsonNode partition : about) {
                    context.allTopics().add(name(partition).topic());
                    assign(name(partition), partition);
                    created.add(name(partition));
                }
                call("onNewPartitionCreation", JavaConverters.asScalaBufferConverter(created).asScala().toSet());
                break;
            case "reassign":
                active();
                TopicPartition moving = name(about);
                call("onPartitionReassignment", moving, context.partitionFullReplicaAssignment(moving).reassignTo(seq(about.get("target"))));
                break;
            case "isr":
                active();
                LeaderIsrAndControllerEpoch before = zookeeper.get(name(about));
                LeaderAndIsr after = new LeaderAndIsr(before.leaderAndIsr().leader(), before.leaderAndIsr().leaderEpoch(),
                    before.leaderAndIsr().leaderRecoveryState(), brokerStates(about.get("isr")), before.leaderAndIsr().partitionEpoch() + 1);
                zookeeper.put(name(about), new LeaderIsrAndControllerEpoch(after, 1));
                context.putPartitionLeadershipInfo(name(about), zookeeper.get(name(about)));
                call("processPartitionReassignmentIsrChange", name(about));
                break;
            case "delete":
                active();
                deletions = strings(about);
                call("processTopicDeletion");
                break;
            case "deleted":
                active();
                Map<TopicPartition, Errors> errors = new HashMap<>();
                JavaConverters.mapAsJavaMapConverter(context.replicaStates()).asJava().forEach((replica, state) -> {
                    if (replica.replica() == about.asInt() && state == ReplicaDeletionStarted$.MODULE$)
                        errors.put(replica.topicPartition(), event.get(2).asBoolean() ? Errors.UNKNOWN_SERVER_ERROR : Errors.NONE);
                });
                call("processTopicDeletionStopReplicaResponseReceived", about.asInt(), Errors.NONE, scalaMap(errors));
                break;
            default:
                call("checkAndTriggerAutoLeaderRebalance");
        }
    }

    private void active() throws Exception {
        Field active = KafkaController.class.getDeclaredField("activeControllerId");
        active.setAccessible(true);
        active.setInt(controller, 999);
    }

    private static List<String> strings(JsonNode array) {
        List<String> values = new ArrayList<>();
        array.forEach(value -> values.add(value.asText()));
        return values;
    }

    private void call(String name, Object... arguments) throws Exception {
        for (Method method : KafkaController.class.getDeclaredMethods())
            if (method.getName().equals(name) || method.getName().endsWith("$$" + name)) {
                method.setAccessible(true);
                method.invoke(controller, arguments);
                return;
            }
        throw new NoSuchMethodException(name);
    }

    // ---------------------------------------------------------------- answers
    private Object partitions() {
        Map<String, Object> states = new TreeMap<>();
        JavaConverters.mapAsJavaMapConverter(context.partitionStates()).asJava().forEach((name, state) -> {
            Map<String, Object> partition = new LinkedHashMap<>();
            partition.put("state", state.toString());
            if (zookeeper.containsKey(name)) leaderAndIsr(partition, zookeeper.get(name).leaderAndIsr());
            states.put(name.toString(), partition);
        });
        return states;
    }

    private Object replicas() {
        Map<String, Object> states = new TreeMap<>();
        JavaConverters.mapAsJavaMapConverter(context.replicaStates()).asJava().forEach(
            (replica, state) -> states.put(replica.topicPartition() + "/" + replica.replica(), state.toString()));
        return states;
    }

    private static void leaderAndIsr(Map<String, Object> fields, LeaderAndIsr state) {
        fields.put("leader", state.leader() < 0 ? null : state.leader());
        fields.put("isr", JavaConverters.seqAsJavaListConverter(state.isr()).asJava());
        fields.put("leader_epoch", state.leaderEpoch());
        fields.put("partition_epoch", state.partitionEpoch());
        fields.put("recovering", state.leaderRecoveryState() == LeaderRecoveryState.RECOVERING);
    }

    private Object requests() throws Exception {
        Map<String, Object> byBroker = new TreeMap<>();
        for (Map.Entry<Integer, LinkedBlockingQueue<QueueItem>> queue : queues.entrySet()) {
            List<String> requests = new ArrayList<>();
            for (QueueItem item : queue.getValue()) {
                Map<String, Object> request = new TreeMap<>();
                request.put(item.apiKey().toString(), content(item.request().build()));
                requests.add(Lines.JSON.writeValueAsString(request));
            }
            queue.getValue().clear();
            Collections.sort(requests);
            if (!requests.isEmpty()) byBroker.put(queue.getKey().toString(), requests);
        }
        return byBroker;
    }

    private static Object content(AbstractControlRequest request) {
        Map<String, Object> content = new TreeMap<>();
        if (request instanceof LeaderAndIsrRequest)
            ((LeaderAndIsrRequest) request).partitionStates().forEach(state -> content.put(state.topicName() + "-" + state.partitionIndex(), Arrays.asList(
                state.leader() < 0 ? null : state.leader(), state.isr(), state.leaderEpoch(), state.partitionEpoch(), state.replicas(), state.isNew())));
        else if (request instanceof UpdateMetadataRequest)
            ((UpdateMetadataRequest) request).partitionStates().forEach(state -> content.put(state.topicName() + "-" + state.partitionIndex(), Arrays.asList(
                state.leader() < 0 ? null : state.leader(), state.isr(), state.leaderEpoch(), state.zkVersion(), state.replicas(), state.offlineReplicas())));
        else
            ((StopReplicaRequest) request).partitionStates().forEach((name, state) -> content.put(name.toString(), state.deletePartition()));
        return content;
    }

    // ---------------------------------------------------------------- Scala
    private static Broker broker(int id) {
        return Broker.apply(id, JavaConverters.asScalaBufferConverter(
            Collections.singletonList(new kafka.cluster.EndPoint("h", 1, new ListenerName("PLAINTEXT"), SecurityProtocol.PLAINTEXT))).asScala(),
            Option.empty(), Features.emptySupportedFeatures());
    }

    private void assign(TopicPartition name, JsonNode partition) {
        context.updatePartitionFullReplicaAssignment(name, ReplicaAssignment.apply(seq(partition.get("replicas"))));
    }

    private static TopicPartition name(JsonNode partition) {
        return new TopicPartition(partition.get("topic").asText(), partition.get("partition").asInt());
    }

    private static <K, V> scala.collection.immutable.Map<K, V> scalaMap(Map<K, V> map) {
        return scala.collection.immutable.Map$.MODULE$.from(JavaConverters.mapAsScalaMapConverter(map).asScala());
    }

    private static scala.collection.Seq<Object> seq(JsonNode array) {
        return JavaConverters.asScalaBufferConverter(boxed(array)).asScala();
    }

    private static List<Object> boxed(JsonNode array) {
        List<Object> values = new ArrayList<>();
        for (int value : Lines.ints(array)) values.add(value);
        return values;
    }

    private static scala.collection.immutable.List<org.apache.kafka.common.message.AlterPartitionRequestData.BrokerState> brokerStates(JsonNode isr) {
        List<org.apache.kafka.common.message.AlterPartitionRequestData.BrokerState> states = new ArrayList<>();
        for (int id : Lines.ints(isr)) states.add(new org.apache.kafka.common.message.AlterPartitionRequestData.BrokerState().setBrokerId(id));
        return JavaConverters.asScalaBufferConverter(states).asScala().toList();
    }

    /** Answers the controller's requests to ZooKeeper from the map. */
    private final class MapInMemory extends KafkaZkClient {
        MapInMemory() {
            super(null, false, Time.SYSTEM, false);
        }

        @Override
        public scala.collection.Seq<GetDataResponse> getTopicPartitionStatesRaw(scala.collection.Seq<TopicPartition> partitions) {
            List<GetDataResponse> responses = new ArrayList<>();
            JavaConverters.seqAsJavaListConverter(partitions).asJava().forEach(name -> {
                LeaderIsrAndControllerEpoch state = zookeeper.get(name);
                Stat stat = new Stat();
                if (state != null) stat.setVersion(state.leaderAndIsr().partitionEpoch());
                responses.add(new GetDataResponse(state == null ? KeeperException.Code.NONODE : KeeperException.Code.OK, "", Option.apply(name),
                    state == null ? null : TopicPartitionStateZNode.encode(state), stat, new ResponseMetadata(0, 0)));
            });
            return JavaConverters.asScalaBufferConverter(responses).asScala();
        }

        @Override
        public scala.collection.Seq<CreateResponse> createTopicPartitionStatesRaw(
            scala.collection.Map<TopicPartition, LeaderIsrAndControllerEpoch> states, int version) {
            List<CreateResponse> responses = new ArrayList<>();
            JavaConverters.mapAsJavaMapConverter(states).asJava().forEach((name, state) -> {
                zookeeper.put(name, state);
                responses.add(new CreateResponse(KeeperException.Code.OK, "", Option.apply(name), "", new ResponseMetadata(0, 0)));
            });
            return JavaConverters.asScalaBufferConverter(responses).asScala();
        }

        @Override
        public UpdateLeaderAndIsrResult updateLeaderAndIsr(scala.collection.Map<TopicPartition, LeaderAndIsr> states, int epoch, int version) {
            Map<TopicPartition, scala.util.Either<Exception, LeaderAndIsr>> done = new HashMap<>();
            JavaConverters.mapAsJavaMapConverter(states).asJava().forEach((name, state) -> {
                LeaderAndIsr written = state.withPartitionEpoch(state.partitionEpoch() + 1);
                zookeeper.put(name, new LeaderIsrAndControllerEpoch(written, epoch));
                done.put(name, new scala.util.Right<>(written));
            });
            return new UpdateLeaderAndIsrResult(scalaMap(done), JavaConverters.asScalaBufferConverter(new ArrayList<TopicPartition>()).asScala());
        }

        @Override
        public Tuple2<scala.collection.Map<String, LogConfig>, scala.collection.Map<String, Exception>> getLogConfigs(
            scala.collection.immutable.Set<String> topics, Map<String, Object> config) {
            Map<String, LogConfig> configs = new HashMap<>();
            JavaConverters.setAsJavaSetConverter(topics).asJava().forEach(topic -> {
                Properties properties = new Properties();
                for (JsonNode unclean : question.get("unclean_topics"))
                    if (unclean.asText().equals(topic)) properties.put("unclean.leader.election.enable", "true");
                configs.put(topic, new LogConfig(properties));
            });
            return new Tuple2<>(scalaMap(configs), scalaMap(new HashMap<String, Exception>()));
        }

        @Override
        public SetDataResponse setTopicAssignmentRaw(String topic, Option<Uuid> id, scala.collection.Map<TopicPartition, ReplicaAssignment> assignment, int version) {
            return new SetDataResponse(KeeperException.Code.OK, "", Option.empty(), new Stat(), new ResponseMetadata(0, 0));
        }

        @Override
        public boolean reassignPartitionsInProgress() {
            return false;
        }

        @Override
        public scala.collection.Seq<String> getTopicDeletions() {
            return JavaConverters.asScalaBufferConverter(deletions).asScala();
        }

        @Override
        public void deleteTopicZNode(String topic, int version) {
            zookeeper.keySet().removeIf(name -> name.topic().equals(topic));
        }

        @Override
        public void deleteTopicConfigs(scala.collection.Seq<String> topics, int version) {
        }

        @Override
        public void deleteTopicDeletions(scala.collection.Seq<String> topics, int version) {
        }

        @Override
        public boolean registerZNodeChangeHandlerAndCheckExistence(kafka.zookeeper.ZNodeChangeHandler handler) {
            return true;
        }

        @Override
        public void unregisterZNodeChangeHandler(String path) {
        }
    }
}
