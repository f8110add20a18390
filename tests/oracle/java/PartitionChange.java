package org.apache.kafka.controller;

// before 3.8.0: boolean elr = question.get("elr").asBoolean() -> boolean elr = false
// before 3.7.0: import org.apache.kafka.common.DirectoryId; ->
// before 3.7.0: builder.setDefaultDirProvider(broker -> DirectoryId.UNASSIGNED); ->
// before 3.7.0: if (step.has("unclean_shutdown")) builder.setUncleanShutdownReplicas(list(step.get("unclean_shutdown"))); ->
// before 3.8.0: .setEligibleLeaderReplicas(list(fields.get("elr"))).setLastKnownElr(list(fields.get("last_known_elr"))) ->
// before 3.7.0: .setDirectories(directories) ->
// before 3.7.0: question.get("bump").asBoolean() ? DirectoryId.MIGRATING : DirectoryId.UNASSIGNED -> TOPIC
// before 3.7.0: partition.elr -> new int[0]
// before 3.7.0: partition.lastKnownElr -> new int[0]
// before 3.7.0: MetadataVersion.latestTesting() -> MetadataVersion.latest()
import com.fasterxml.jackson.databind.JsonNode;
import java.lang.reflect.Constructor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.IntPredicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import oracle.Lines;
import org.apache.kafka.common.DirectoryId;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.metadata.Replicas;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.MetadataVersion;

/**
 * {"partition": registration, "elr", "min_isr", "bump", "steps": [{"isr", "acceptable", "election", ...}]} -> the registration after each step, null where
 * nothing was recorded. A step contains the ISR, or the brokers that leave it ("leaving"); one with
 * "fenced" is skipped where that broker is not in the ISR.
 */
public class PartitionChange {
    private static final Uuid TOPIC = new Uuid(1, 1);

    public static void main(String[] args) throws Exception {
        Lines.serve(question -> {
            PartitionRegistration partition = registration(question);
            boolean elr = question.get("elr").asBoolean();
            List<Object> answer = new ArrayList<>();
            for (JsonNode step : question.get("steps")) {
                // as handleBrokerFenced, which looks only at partitions that have the broker in their ISR
                if (step.has("fenced") && !Replicas.contains(partition.isr, step.get("fenced").asInt())) {
                    answer.add(null);
                    continue;
                }
                Optional<ApiMessageAndVersion> record = builder(partition, question, step, elr).build();
                if (record.isPresent()) partition = partition.merge((PartitionChangeRecord) record.get().message());
                answer.add(record.isPresent() ? registration(partition) : null);
            }
            return answer;
        });
    }

    private static PartitionChangeBuilder builder(PartitionRegistration partition, JsonNode question, JsonNode step, boolean elr) throws Exception {
        Set<Integer> acceptable = Arrays.stream(Lines.ints(step.get("acceptable"))).boxed().collect(Collectors.toSet());
        IntPredicate isAcceptable = acceptable::contains;
        MetadataVersion version = question.get("bump").asBoolean() ? MetadataVersion.IBP_3_5_IV2 : MetadataVersion.latestTesting();
        Constructor<?> constructor = PartitionChangeBuilder.class.getConstructors()[0];
        List<Object> arguments = new ArrayList<>(Arrays.asList(partition, TOPIC, 0, isAcceptable, version, question.get("min_isr").asInt()));
        if (constructor.getParameterCount() == 7) arguments.add(elr);
        if (constructor.getParameterCount() == 5) arguments.remove(5); // before 3.7: without min.insync.replicas
        if (constructor.getParameterTypes()[4] == boolean.class) arguments.set(4, true); // 3.5: whether leader recovery is supported
        PartitionChangeBuilder builder = (PartitionChangeBuilder) constructor.newInstance(arguments.toArray());
        if (constructor.getParameterCount() == 6) // since 3.7: by a setter, which the releases with a parameter for it do not have
            PartitionChangeBuilder.class.getMethod("setEligibleLeaderReplicasEnabled", boolean.class).invoke(builder, elr);
        builder.setDefaultDirProvider(broker -> DirectoryId.UNASSIGNED);
        builder.setElection(PartitionChangeBuilder.Election.valueOf(step.get("election").asText().toUpperCase()));
        if (step.has("leaving")) {
            int[] leaving = Lines.ints(step.get("leaving"));
            builder.setTargetIsr(Arrays.stream(partition.isr).filter(id -> IntStream.of(leaving).noneMatch(gone -> gone == id)).boxed().collect(Collectors.toList()));
        } else {
            builder.setTargetIsr(list(step.get("isr")));
        }
        if (step.has("unclean_shutdown")) builder.setUncleanShutdownReplicas(list(step.get("unclean_shutdown")));
        if (step.has("recovering"))
            builder.setTargetLeaderRecoveryState(step.get("recovering").asBoolean() ? LeaderRecoveryState.RECOVERING : LeaderRecoveryState.RECOVERED);
        if (step.has("replicas")) {
            builder.setTargetReplicas(list(step.get("replicas")));
            builder.setTargetAdding(list(step.get("adding")));
            builder.setTargetRemoving(list(step.get("removing")));
        }
        return builder;
    }

    private static PartitionRegistration registration(JsonNode question) {
        JsonNode fields = question.get("partition");
        List<Integer> replicas = list(fields.get("replicas"));
        Uuid directory = question.get("bump").asBoolean() ? DirectoryId.MIGRATING : DirectoryId.UNASSIGNED; // 3.5 has no directories
        List<Uuid> directories = Collections.nCopies(replicas.size(), directory);
        return new PartitionRegistration(new PartitionRecord().setReplicas(replicas).setDirectories(directories).setIsr(list(fields.get("isr")))
            .setLeader(fields.get("leader").isNull() ? -1 : fields.get("leader").asInt())
            .setEligibleLeaderReplicas(list(fields.get("elr"))).setLastKnownElr(list(fields.get("last_known_elr")))
            .setAddingReplicas(list(fields.get("adding_replicas"))).setRemovingReplicas(list(fields.get("removing_replicas")))
            .setLeaderRecoveryState((fields.get("recovering").asBoolean() ? LeaderRecoveryState.RECOVERING : LeaderRecoveryState.RECOVERED).value())
            .setLeaderEpoch(fields.get("leader_epoch").asInt()).setPartitionEpoch(fields.get("partition_epoch").asInt()));
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
        registration.put("adding_replicas", partition.addingReplicas);
        registration.put("removing_replicas", partition.removingReplicas);
        return registration;
    }

    private static List<Integer> list(JsonNode array) {
        return Arrays.stream(Lines.ints(array)).boxed().collect(Collectors.toList());
    }
}
