package org.apache.kafka.clients.producer.internals;

import com.fasterxml.jackson.databind.JsonNode;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import oracle.Lines;
import org.apache.kafka.clients.producer.Partitioner;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import sun.misc.Unsafe;

/**
 * {"class": name, "topic": [[partition, leader's rack or null, available]] in the metadata's order, "seed" of the thread's random numbers, "steps"} -> the
 * partition after each step. Steps: ["send", key in hex or null], ["new_batch"] (the batch for the last partition was full).
 */
public class Partitioners {
    public static void main(String[] args) throws Exception {
        serve(question -> partitioner((Partitioner) Class.forName(question.get("class").asText()).getConstructor().newInstance(), question));
    }

    static void serve(Lines.Answer answer) throws Exception {
        Field unsafeField = Unsafe.class.getDeclaredField("theUnsafe");
        unsafeField.setAccessible(true);
        Unsafe unsafe = (Unsafe) unsafeField.get(null);
        java.util.concurrent.ThreadLocalRandom.current(); // its first use would otherwise draw another seed
        long seedOffset = unsafe.objectFieldOffset(Thread.class.getDeclaredField("threadLocalRandomSeed"));
        Lines.serve(question -> {
            unsafe.putLong(Thread.currentThread(), seedOffset, question.get("seed").asLong());
            return answer.to(question);
        });
    }

    private static Object partitioner(Partitioner partitioner, JsonNode question) throws Exception {
        Cluster cluster = cluster(question);
        List<Object> answer = new ArrayList<>();
        int last = -1;
        for (JsonNode step : question.get("steps")) {
            if (step.get(0).asText().equals("send")) {
                byte[] key = step.get(1).isNull() ? null : HexFormat.of().parseHex(step.get(1).asText());
                last = partitioner.partition("t", key, key, null, null, cluster);
            } else {
                for (Method method : partitioner.getClass().getMethods())
                    if (method.getName().equals("onNewBatch")) method.invoke(partitioner, "t", cluster, last);
            }
            answer.add(last);
        }
        return answer;
    }

    static Cluster cluster(JsonNode question) {
        List<PartitionInfo> partitions = new ArrayList<>();
        List<Node> nodes = new ArrayList<>();
        for (JsonNode partition : question.get("topic")) {
            Node leader = new Node(nodes.size(), "h", 1, partition.get(1).isNull() ? null : partition.get(1).asText());
            nodes.add(leader);
            Node[] replicas = {leader};
            partitions.add(new PartitionInfo("t", partition.get(0).asInt(), partition.get(2).asBoolean() ? leader : null, replicas, replicas));
        }
        return new Cluster("c", nodes, partitions, Collections.emptySet(), Collections.emptySet());
    }
}
