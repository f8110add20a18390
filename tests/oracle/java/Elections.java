package kafka.controller;

import com.fasterxml.jackson.databind.JsonNode;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import oracle.Lines;
import scala.collection.JavaConverters;

/**
 * {"replicas", "isr", "live", "shutting_down", "unclean"} -> the leader by each of PartitionLeaderElectionAlgorithms, null where there is none;
 * {"states": ...} -> the valid previous states of each state of partitions and replicas.
 */
public class Elections {
    public static void main(String[] args) throws Exception {
        Lines.serve(question -> question.has("states") ? states() : elections(question));
    }

    private static Object elections(JsonNode question) throws Exception {
        Object replicas = seq(question.get("replicas")), isr = seq(question.get("isr")), live = set(question.get("live"));
        Map<String, Object> answer = new HashMap<>();
        answer.put("offline", call("offlinePartitionLeaderElection", replicas, isr, live, question.get("unclean").asBoolean(), new ControllerContext()));
        answer.put("reassign", call("reassignPartitionLeaderElection", replicas, isr, live));
        answer.put("preferred", call("preferredReplicaPartitionLeaderElection", replicas, isr, live));
        answer.put("controlled_shutdown", call("controlledShutdownPartitionLeaderElection", replicas, isr, live, set(question.get("shutting_down"))));
        return answer;
    }

    private static Object call(String name, Object... arguments) throws Exception {
        for (Method method : PartitionLeaderElectionAlgorithms.class.getMethods())
            if (method.getName().equals(name)) {
                scala.Option<?> leader = (scala.Option<?>) method.invoke(null, arguments);
                return leader.isDefined() ? leader.get() : null;
            }
        throw new NoSuchMethodException(name);
    }

    private static Object seq(JsonNode array) {
        return JavaConverters.asScalaBufferConverter(boxed(array)).asScala();
    }

    private static Object set(JsonNode array) {
        return JavaConverters.asScalaBufferConverter(boxed(array)).asScala().toSet();
    }

    private static List<Object> boxed(JsonNode array) {
        List<Object> values = new ArrayList<>();
        for (int value : Lines.ints(array)) values.add(value);
        return values;
    }

    private static Object states() throws Exception {
        Map<String, Object> answer = new HashMap<>();
        for (Object state : Arrays.asList(NewPartition$.MODULE$, OnlinePartition$.MODULE$, OfflinePartition$.MODULE$, NonExistentPartition$.MODULE$,
            NewReplica$.MODULE$, OnlineReplica$.MODULE$, OfflineReplica$.MODULE$, ReplicaDeletionStarted$.MODULE$, ReplicaDeletionSuccessful$.MODULE$,
            ReplicaDeletionIneligible$.MODULE$, NonExistentReplica$.MODULE$)) {
            List<String> names = new ArrayList<>();
            scala.collection.Set<?> from = (scala.collection.Set<?>) state.getClass().getMethod("validPreviousStates").invoke(state);
            JavaConverters.setAsJavaSetConverter(from).asJava().forEach(previous -> names.add(previous.toString()));
            names.sort(null);
            answer.put(state.toString(), names);
        }
        return answer;
    }
}
