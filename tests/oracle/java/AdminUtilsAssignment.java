package org.apache.kafka.admin;

import com.fasterxml.jackson.databind.JsonNode;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import oracle.Lines;
import org.apache.kafka.server.common.AdminOperationException;

/**
 * {"brokers": [[id, rack or null]], "partitions", "replication_factor", "start_index", "start_partition", "seed"} -> the replicas of each partition in turn.
 * With a seed in place of the start index, AdminUtils draws start and shift itself. {"starts": [index], "repeat": n}: the nanoseconds of processor time that each
 * of n runs took, a topic for each start (tests/benchmarks/batches.py).
 */
public class AdminUtilsAssignment {
    private static long sink;

    public static void main(String[] args) throws Exception {
        Lines.serve(question -> {
            List<BrokerMetadata> brokers = new ArrayList<>();
            for (JsonNode broker : question.get("brokers"))
                brokers.add(new BrokerMetadata(broker.get(0).asInt(), broker.get(1).isNull() ? Optional.empty() : Optional.of(broker.get(1).asText())));
            if (question.has("repeat")) return times(question, brokers);
            boolean drawn = question.has("seed");
            if (drawn) AdminUtils.RAND.setSeed(question.get("seed").asLong());
            Map<Integer, List<Integer>> placed = AdminUtils.assignReplicasToBrokers(brokers, question.get("partitions").asInt(),
                question.get("replication_factor").asInt(), drawn ? -1 : question.get("start_index").asInt(), question.get("start_partition").asInt());
            return new ArrayList<>(new TreeMap<>(placed).values());
        });
    }

    private static List<Long> times(JsonNode question, List<BrokerMetadata> brokers) {
        int partitions = question.get("partitions").asInt(), factor = question.get("replication_factor").asInt();
        int[] starts = Lines.ints(question.get("starts"));
        List<Long> times = new ArrayList<>();
        for (int run = 0; run < question.get("repeat").asInt(); run++) {
            long began = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
            for (int start : starts) sink += AdminUtils.assignReplicasToBrokers(brokers, partitions, factor, start, 0).size();
            times.add(ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - began);
        }
        return times;
    }
}
