package org.apache.kafka.admin;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import oracle.Lines;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.internals.AbstractPartitionAssignor;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Utils;

/**
 * A single-threaded program on Kafka's jars and the fleet as text, for comparison (tests/benchmarks/rivals.py).
 * {"folder"} with topics.tsv (cluster, topic, partitions, replication factor, start), brokers.tsv (cluster, id, rack), keys.tsv (cluster, topic, key, records)
 * and groups.tsv (cluster, group, member, topics) -> {"placement", "keys", "groups": [seconds, rows]}, each read, computed and written as text there.
 */
public class FleetByHand {
    private interface Work {
        long in(Path folder) throws IOException;
    }

    public static void main(String[] args) throws Exception {
        Lines.serve(question -> {
            Path folder = Path.of(question.get("folder").asText());
            Map<String, List<Number>> took = new TreeMap<>();
            took.put("placement", timed(FleetByHand::placed, folder));
            took.put("keys", timed(FleetByHand::hashed, folder));
            took.put("groups", timed(FleetByHand::assigned, folder));
            return took;
        });
    }

    private static List<Number> timed(Work work, Path folder) throws IOException {
        long began = System.nanoTime(), rows = work.in(folder);
        return List.of((System.nanoTime() - began) / 1e9, rows);
    }

    private static long placed(Path folder) throws IOException {
        Map<String, List<BrokerMetadata>> brokers = new HashMap<>();
        for (String[] row : rows(folder, "brokers"))
            brokers.computeIfAbsent(row[0], id -> new ArrayList<>()).add(new BrokerMetadata(Integer.parseInt(row[1]), row[2].isEmpty() ? Optional.empty() : Optional.of(row[2])));
        long rows = 0;
        try (BufferedWriter out = Files.newBufferedWriter(folder.resolve("placed.tsv"))) {
            for (String[] row : rows(folder, "topics")) {
                int start = Integer.parseInt(row[4]);
                Map<Integer, List<Integer>> topic = AdminUtils.assignReplicasToBrokers(brokers.get(row[0]), Integer.parseInt(row[2]), Integer.parseInt(row[3]), start, 0);
                for (Map.Entry<Integer, List<Integer>> partition : topic.entrySet()) {
                    out.write(row[0] + '\t' + row[1] + '\t' + partition.getKey() + '\t' + partition.getValue() + '\n');
                    rows++;
                }
            }
        }
        return rows;
    }

    private static long hashed(Path folder) throws IOException {
        Map<String, Integer> partitions = partitions(folder);
        Map<String, long[]> records = new HashMap<>();
        long rows = 0;
        try (BufferedReader in = Files.newBufferedReader(folder.resolve("keys.tsv"))) {
            for (String line = in.readLine(); line != null; line = in.readLine(), rows++) {
                String[] row = line.split("\t", -1);
                String topic = row[0] + '\t' + row[1];
                int count = partitions.get(topic);
                byte[] key = row[2].getBytes(StandardCharsets.UTF_8);
                records.computeIfAbsent(topic, name -> new long[count])[Utils.toPositive(Utils.murmur2(key)) % count] += Long.parseLong(row[3]);
            }
        }
        try (BufferedWriter out = Files.newBufferedWriter(folder.resolve("hashed.tsv"))) {
            for (Map.Entry<String, long[]> topic : records.entrySet())
                for (int partition = 0; partition < topic.getValue().length; partition++) out.write(topic.getKey() + '\t' + partition + '\t' + topic.getValue()[partition] + '\n');
        }
        return rows;
    }

    private static long assigned(Path folder) throws IOException {
        Map<String, Integer> partitions = partitions(folder);
        Map<String, TreeMap<String, List<String>>> groups = new TreeMap<>();
        for (String[] row : rows(folder, "groups")) groups.computeIfAbsent(row[0] + '\t' + row[1], id -> new TreeMap<>()).put(row[2], Arrays.asList(row[3].split(",")));
        long rows = 0;
        try (BufferedWriter out = Files.newBufferedWriter(folder.resolve("assigned.tsv"))) {
            for (Map.Entry<String, TreeMap<String, List<String>>> group : groups.entrySet()) {
                String cluster = group.getKey().substring(0, group.getKey().indexOf('\t'));
                for (int change = -1; change <= 1; change++) {
                    TreeMap<String, List<String>> members = new TreeMap<>(group.getValue());
                    String last = members.lastKey();
                    if (change == -1 && members.size() > 1) members.remove(last);
                    else if (change == -1) continue;
                    if (change == 1) members.put(last + "+1", members.get(last));
                    for (AbstractPartitionAssignor assignor : List.of(new RangeAssignor(), new RoundRobinAssignor())) {
                        Map<String, Integer> counts = new HashMap<>();
                        Map<String, Subscription> subscriptions = new HashMap<>();
                        members.forEach((member, topics) -> {
                            subscriptions.put(member, new Subscription(topics));
                            for (String topic : topics) counts.put(topic, partitions.get(cluster + '\t' + topic));
                        });
                        for (Map.Entry<String, List<TopicPartition>> assigned : assignor.assign(counts, subscriptions).entrySet()) {
                            for (TopicPartition partition : assigned.getValue()) {
                                out.write(group.getKey() + '\t' + assignor.name() + '\t' + change + '\t' + assigned.getKey() + '\t' + partition + '\n');
                                rows++;
                            }
                        }
                    }
                }
            }
        }
        return rows;
    }

    private static Map<String, Integer> partitions(Path folder) throws IOException {
        Map<String, Integer> partitions = new HashMap<>();
        for (String[] row : rows(folder, "topics")) partitions.put(row[0] + '\t' + row[1], Integer.parseInt(row[2]));
        return partitions;
    }

    private static List<String[]> rows(Path folder, String name) throws IOException {
        List<String[]> rows = new ArrayList<>();
        for (String line : Files.readAllLines(folder.resolve(name + ".tsv"))) rows.add(line.split("\t", -1));
        return Collections.unmodifiableList(rows);
    }
}
