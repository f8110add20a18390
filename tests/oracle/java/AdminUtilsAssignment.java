package org.apache.kafka.admin;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import oracle.Lines;
import org.apache.kafka.server.common.AdminOperationException;

/**
 * {"brokers": [[id, rack or null]], "partitions", "replication_factor", "start_index", "start_partition", "seed"} -> the replicas of each partition in turn.
 * With a seed in place of the start index, {"start_index", "shift"} as AdminUtils draws them are part of the answer.
 */
public class AdminUtilsAssignment {
    public static void main(String[] args) throws Exception {
        Lines.serve(question -> {
            List<BrokerMetadata> brokers = new ArrayList<>();
            for (JsonNode broker : question.get("brokers"))
                brokers.add(new BrokerMetadata(broker.get(0).asInt(), broker.get(1).isNull() ? Optional.empty() : Optional.of(broker.get(1).asText())));
            boolean drawn = question.has("seed");
            if (drawn) AdminUtils.RAND.setSeed(question.get("seed").asLong());
            Map<Integer, List<Integer>> placed = AdminUtils.assignReplicasToBrokers(brokers, question.get("partitions").asInt(),
                question.get("replication_factor").asInt(), drawn ? -1 : question.get("start_index").asInt(), question.get("start_partition").asInt());
            return new ArrayList<>(new TreeMap<>(placed).values());
        });
    }
}
