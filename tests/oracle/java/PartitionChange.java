package org.apache.kafka.controller;

import com.fasterxml.jackson.databind.JsonNode;
import java.lang.reflect.Constructor;
import java.util.ArrayList;
import java.util.Arrays;
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
        PartitionChangeBuilder builder = (PartitionChangeBuilder) constructor.newInstance(arguments.toArray());
        if (constructor.getParameterCount() == 6) // 3.9: by a setter, which 4.x does not have
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
        int[] replicas = Lines.ints(fields.get("replicas"));
        Uuid[] directories = new Uuid[replicas.length];
        Arrays.fill(directories, question.get("bump").asBoolean() ? DirectoryId.MIGRATING : DirectoryId.UNASSIGNED); // 3.5 has no directories
        return new PartitionRegistration.Builder().setReplicas(replicas).setDirectories(directories).setIsr(Lines.ints(fields.get("isr")))
            .setLeader(fields.get("leader").isNull() ? -1 : fields.get("leader").asInt())
            .setElr(Lines.ints(fields.get("elr"))).setLastKnownElr(Lines.ints(fields.get("last_known_elr")))
            .setAddingReplicas(Lines.ints(fields.get("adding_replicas"))).setRemovingReplicas(Lines.ints(fields.get("removing_replicas")))
            .setLeaderRecoveryState(fields.get("recovering").asBoolean() ? LeaderRecoveryState.RECOVERING : LeaderRecoveryState.RECOVERED)
            .setLeaderEpoch(fields.get("leader_epoch").asInt()).setPartitionEpoch(fields.get("partition_epoch").asInt()).build();
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
