package org.apache.kafka.metadata.placement;

// before 3.7.0: import org.apache.kafka.common.DirectoryId; ->
// before 3.7.0: @Override public Uuid defaultDir(int brokerId) { return DirectoryId.UNASSIGNED; } ->
// before 3.4.0: TopicAssignment placed -> List<List<Integer>> placed
// before 3.4.0: for (PartitionAssignment assignment : placed.assignments()) answer.add(assignment.replicas()); -> answer.addAll(placed);
import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import oracle.Lines;
import org.apache.kafka.common.DirectoryId;
import org.apache.kafka.common.Uuid;

/**
 * A topic that grows: {"brokers": [[id, rack or null]], "placements": [[partitions, [fenced id]]], "replication_factor", "seed"} -> the
 * replicas of each partition.
 */
public class StripedTopic {
    public static void main(String[] args) throws Exception {
        Lines.serve(question -> {
            Random random = new Random(question.get("seed").asLong());
            List<Object> answer = new ArrayList<>();
            for (JsonNode placement : question.get("placements")) {
                Set<Integer> fenced = new HashSet<>();
                for (JsonNode id : placement.get(1)) fenced.add(id.asInt());
                List<UsableBroker> brokers = new ArrayList<>();
                for (JsonNode broker : question.get("brokers")) {
                    Optional<String> rack = broker.get(1).isNull() ? Optional.empty() : Optional.of(broker.get(1).asText());
                    int id = broker.get(0).asInt();
                    brokers.add(new UsableBroker(id, rack, fenced.contains(id)));
                }
                TopicAssignment placed = new StripedReplicaPlacer(random).place(
                    new PlacementSpec(answer.size(), placement.get(0).asInt(), (short) question.get("replication_factor").asInt()),
                    new ClusterDescriber() {
                        @Override
                        public Iterator<UsableBroker> usableBrokers() {
                            return brokers.iterator();
                        }

                        @Override public Uuid defaultDir(int brokerId) { return DirectoryId.UNASSIGNED; }
                    });
                for (PartitionAssignment assignment : placed.assignments()) answer.add(assignment.replicas());
            }
            return answer;
        });
    }
}
