package org.apache.kafka.metadata.placement;

// before 3.7.0: import org.apache.kafka.common.DirectoryId; ->
// before 3.7.0: @Override public Uuid defaultDir(int brokerId) { return DirectoryId.UNASSIGNED; } ->
// before 3.4.0: TopicAssignment placed -> List<List<Integer>> placed
// before 3.4.0: for (PartitionAssignment assignment : placed.assignments()) answer.add(assignment.replicas()); -> answer.addAll(placed);
import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import oracle.Lines;
import org.apache.kafka.common.DirectoryId;
import org.apache.kafka.common.Uuid;

/** {"brokers": [[id, rack or null, fenced]], "partitions", "replication_factor", "seed"} -> the replicas of each partition in turn, and the next draw. */
public class StripedPlacement {
    public static void main(String[] args) throws Exception {
        Lines.serve(question -> {
            List<UsableBroker> brokers = new ArrayList<>();
            for (JsonNode broker : question.get("brokers")) {
                Optional<String> rack = broker.get(1).isNull() ? Optional.empty() : Optional.of(broker.get(1).asText());
                brokers.add(new UsableBroker(broker.get(0).asInt(), rack, broker.get(2).asBoolean()));
            }
            Random random = new Random(question.get("seed").asLong());
            TopicAssignment placed = new StripedReplicaPlacer(random).place(
                new PlacementSpec(0, question.get("partitions").asInt(), (short) question.get("replication_factor").asInt()),
                new ClusterDescriber() {
                    @Override
                    public Iterator<UsableBroker> usableBrokers() {
                        return brokers.iterator();
                    }

                    @Override public Uuid defaultDir(int brokerId) { return DirectoryId.UNASSIGNED; }
                });
            List<Object> answer = new ArrayList<>();
            for (PartitionAssignment assignment : placed.assignments()) answer.add(assignment.replicas());
            answer.add(random.nextInt());
            return answer;
        });
    }
}
