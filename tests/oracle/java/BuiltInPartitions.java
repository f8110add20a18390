// with Partitioners.java
package org.apache.kafka.clients.producer.internals;

import com.fasterxml.jackson.databind.JsonNode;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import oracle.Lines;
import org.apache.kafka.common.Cluster;

/**
 * As Partitioners, with "sticky_batch_size" and "rack"; steps: ["append", bytes, enable_switch], ["load", queue sizes, partitions, leader racks, length].
 */
public class BuiltInPartitions {
    public static void main(String[] args) throws Exception {
        Partitioners.serve(BuiltInPartitions::builtIn);
    }

    private static Object builtIn(JsonNode question) throws Exception {
        Cluster cluster = Partitioners.cluster(question);
        Constructor<?> constructor = BuiltInPartitioner.class.getConstructors()[0];
        Object logContext = constructor.getParameterTypes()[0].getConstructor().newInstance();
        int batchSize = question.get("sticky_batch_size").asInt();
        BuiltInPartitioner partitioner = (BuiltInPartitioner) (constructor.getParameterCount() == 3
            ? constructor.newInstance(logContext, "t", batchSize)
            : constructor.newInstance(logContext, "t", batchSize, !question.get("rack").isNull(), question.get("rack").isNull() ? "" : question.get("rack").asText()));
        List<Object> answer = new ArrayList<>();
        for (JsonNode step : question.get("steps")) {
            if (step.get(0).asText().equals("append"))
                partitioner.updatePartitionInfo(partitioner.peekCurrentPartitionInfo(cluster), step.get(1).asInt(), cluster, step.get(2).asBoolean());
            else
                load(partitioner, step);
            answer.add(partitioner.peekCurrentPartitionInfo(cluster).partition());
        }
        return answer;
    }

    private static void load(BuiltInPartitioner partitioner, JsonNode step) throws Exception {
        for (Method method : BuiltInPartitioner.class.getMethods()) {
            if (!method.getName().equals("updatePartitionLoadStats")) continue;
            int[] sizes = Lines.ints(step.get(1));
            String[] racks = new String[sizes.length];
            for (int i = 0; i < racks.length; i++) racks[i] = step.get(3).get(i).isNull() ? null : step.get(3).get(i).asText();
            if (method.getParameterCount() == 3) method.invoke(partitioner, sizes, Lines.ints(step.get(2)), step.get(4).asInt());
            else method.invoke(partitioner, sizes, Lines.ints(step.get(2)), racks, step.get(4).asInt());
        }
    }
}
