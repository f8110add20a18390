package org.apache.kafka.clients.consumer;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import oracle.Lines;
import org.apache.kafka.clients.consumer.internals.PartitionAssignor;
import org.apache.kafka.clients.consumer.internals.PartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.internals.PartitionAssignor.Subscription;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

/** ClientAssignor for range and roundrobin of 2.0.0, and 2.1, which have neither static members nor racks. */
public class ClientAssignor20 {
    public static void main(String[] args) throws Exception {
        Lines.serve(question -> {
            PartitionAssignor assignor = question.get("assignor").asText().equals("range") ? new RangeAssignor() : new RoundRobinAssignor();
            List<PartitionInfo> partitions = new ArrayList<>();
            question.get("topics").fields().forEachRemaining(topic -> {
                for (int p = 0; p < topic.getValue().size(); p++) partitions.add(new PartitionInfo(topic.getKey(), p, null, new Node[0], new Node[0]));
            });
            Map<String, Subscription> subscriptions = new HashMap<>();
            for (JsonNode member : question.get("members")) {
                List<String> topics = new ArrayList<>();
                member.get("topics").forEach(topic -> topics.add(topic.asText()));
                subscriptions.put(member.get("id").asText(), new Subscription(topics));
            }
            Cluster cluster = new Cluster("cluster", List.of(), partitions, java.util.Set.of(), java.util.Set.of());
            Map<String, List<List<Object>>> answer = new TreeMap<>();
            for (Map.Entry<String, Assignment> given : assignor.assign(cluster, subscriptions).entrySet()) {
                List<List<Object>> partitionsOfMember = new ArrayList<>();
                for (TopicPartition partition : given.getValue().partitions()) partitionsOfMember.add(List.of(partition.topic(), partition.partition()));
                answer.put(given.getKey(), partitionsOfMember);
            }
            return answer;
        });
    }
}
