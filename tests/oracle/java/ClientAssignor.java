package org.apache.kafka.clients.consumer;

import com.fasterxml.jackson.databind.JsonNode;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.Constructor;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import oracle.Lines;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.types.ArrayOf;
import org.apache.kafka.common.protocol.types.Field;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.Struct;
import org.apache.kafka.common.protocol.types.Type;

/**
 * {"assignor", "topics": {name: [[rack or null of each replica] of each partition]}, "members": [{"id", "topics", "instance", "rack", "owned": [[topic, partition]],
 * "generation", "subscription_generation"}], "packed": boolean} -> {member: [[topic, partition]]}, in Kafka's order. The partitions that a member owned are encoded as in real
 * subscriptions: in the user data of sticky (with the generation if there is one), in the subscription's own field for cooperative-sticky; in the given order, or with "packed" by
 * the code of Kafka's own client.
 * With "repeat": n, the nanoseconds of processor time that each of n runs took (tests/benchmarks/assignors.py asks for them).
 */
public class ClientAssignor {
    private static final ThreadMXBean CPU = ManagementFactory.getThreadMXBean();
    private static final Schema TOPIC = new Schema(new Field("topic", Type.STRING), new Field("partitions", new ArrayOf(Type.INT32)));
    private static final Schema STICKY_V0 = new Schema(new Field("previous_assignment", new ArrayOf(TOPIC)));
    private static final Schema STICKY_V1 = new Schema(new Field("previous_assignment", new ArrayOf(TOPIC)), new Field("generation", Type.INT32));
    private static final Schema COOPERATIVE = new Schema(new Field("generation", Type.INT32));

    public static void main(String[] args) throws Exception {
        Lines.serve(ClientAssignor::answer);
    }

    static Object answer(JsonNode question) {
        String name = question.get("assignor").asText();
        if (question.has("repeat")) return times(question, name);
        Map<String, Assignment> given = assignor(name).assign(cluster(question.get("topics")), new GroupSubscription(subscriptions(question, name))).groupAssignment();
        Map<String, List<List<Object>>> answer = new TreeMap<>();
        given.forEach((member, assignment) -> {
            List<List<Object>> partitions = new ArrayList<>();
            for (TopicPartition partition : assignment.partitions()) partitions.add(List.of(partition.topic(), partition.partition()));
            answer.put(member, partitions);
        });
        return answer;
    }

    /** The processor time that the assignor takes, in nanoseconds, each time on a group of its own; no new run after five seconds. */
    private static List<Long> times(JsonNode question, String name) {
        Cluster cluster = cluster(question.get("topics"));
        List<Long> times = new ArrayList<>();
        long end = CPU.getCurrentThreadCpuTime() + 5_000_000_000L;
        for (int i = 0; i < question.get("repeat").asInt() && CPU.getCurrentThreadCpuTime() < end; i++) {
            GroupSubscription group = new GroupSubscription(subscriptions(question, name));
            long began = CPU.getCurrentThreadCpuTime();
            assignor(name).assign(cluster, group);
            times.add(CPU.getCurrentThreadCpuTime() - began);
        }
        return times;
    }

    static ConsumerPartitionAssignor assignor(String name) {
        switch (name) {
            case "range": return new RangeAssignor();
            case "roundrobin": return new RoundRobinAssignor();
            case "sticky": return new StickyAssignor();
            case "cooperative-sticky": return new CooperativeStickyAssignor();
            default: throw new AssertionError(name);
        }
    }

    static Cluster cluster(JsonNode topics) {
        Map<String, Node> nodes = new HashMap<>();
        List<PartitionInfo> partitions = new ArrayList<>();
        topics.fields().forEachRemaining(topic -> {
            for (int p = 0; p < topic.getValue().size(); p++) {
                List<Node> replicas = new ArrayList<>();
                for (JsonNode rack : topic.getValue().get(p))
                    replicas.add(nodes.computeIfAbsent(rack.toString(), r -> new Node(nodes.size(), "host", 9092, rack.isNull() ? null : rack.asText())));
                Node[] all = replicas.toArray(new Node[0]);
                partitions.add(new PartitionInfo(topic.getKey(), p, all.length > 0 ? all[0] : Node.noNode(), all, all));
            }
        });
        return new Cluster("cluster", nodes.values(), partitions, Set.of(), Set.of());
    }

    static Map<String, Subscription> subscriptions(JsonNode question, String assignor) {
        Map<String, Subscription> subscriptions = new HashMap<>();
        for (JsonNode member : question.get("members")) {
            List<String> topics = new ArrayList<>();
            member.get("topics").forEach(topic -> topics.add(topic.asText()));
            List<TopicPartition> owned = new ArrayList<>();
            member.path("owned").forEach(pair -> owned.add(new TopicPartition(pair.get(0).asText(), pair.get(1).asInt())));
            Integer generation = member.path("generation").isInt() ? member.get("generation").asInt() : null;
            int subscriptionGeneration = member.path("subscription_generation").asInt(-1);
            boolean cooperative = assignor.equals("cooperative-sticky");
            ByteBuffer userData = cooperative ? cooperativeUserData(generation) : assignor.equals("sticky") ? stickyUserData(owned, generation) : null;
            boolean packed = question.path("packed").asBoolean();
            if (packed && assignor.equals("sticky")) userData = packedUserData(topics, owned, generation);
            Subscription subscription = subscription(topics, userData, cooperative ? owned : List.of(), subscriptionGeneration, rack(member));
            if (packed) subscription = ConsumerProtocol.deserializeSubscription(ConsumerProtocol.serializeSubscription(subscription));
            if (!member.get("instance").isNull()) subscription.setGroupInstanceId(Optional.of(member.get("instance").asText()));
            subscriptions.put(member.get("id").asText(), subscription);
        }
        return subscriptions;
    }

    /** Subscriptions before 3.4 have neither a generation nor a rack. */
    private static Subscription subscription(Object... all) {
        for (Constructor<?> constructor : Subscription.class.getConstructors())
            if (constructor.getParameterCount() == 5) return made(constructor, all);
        for (Constructor<?> constructor : Subscription.class.getConstructors())
            if (constructor.getParameterCount() == 3) return made(constructor, Arrays.copyOf(all, 3));
        throw new AssertionError();
    }

    private static Subscription made(Constructor<?> constructor, Object[] arguments) {
        try {
            return (Subscription) constructor.newInstance(arguments);
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    private static Optional<String> rack(JsonNode member) {
        return member.get("rack").isNull() ? Optional.empty() : Optional.of(member.get("rack").asText());
    }

    private static ByteBuffer cooperativeUserData(Integer generation) {
        if (generation == null) return null;
        Struct struct = new Struct(COOPERATIVE);
        struct.set("generation", generation);
        return written(COOPERATIVE, struct);
    }

    private static ByteBuffer packedUserData(List<String> topics, List<TopicPartition> owned, int generation) {
        StickyAssignor assignor = new StickyAssignor();
        assignor.onAssignment(new Assignment(owned), new ConsumerGroupMetadata("group", generation, "member", Optional.empty()));
        return assignor.subscriptionUserData(Set.copyOf(topics));
    }

    private static ByteBuffer stickyUserData(List<TopicPartition> owned, Integer generation) {
        Schema schema = generation == null ? STICKY_V0 : STICKY_V1;
        Struct struct = new Struct(schema);
        Object[] topics = new Object[owned.size()];
        for (int i = 0; i < topics.length; i++)
            topics[i] = new Struct(TOPIC).set("topic", owned.get(i).topic()).set("partitions", new Object[] {owned.get(i).partition()});
        struct.set("previous_assignment", topics);
        if (generation != null) struct.set("generation", generation);
        return written(schema, struct);
    }

    private static ByteBuffer written(Schema schema, Struct struct) {
        ByteBuffer buffer = ByteBuffer.allocate(schema.sizeOf(struct));
        schema.write(buffer, struct);
        buffer.flip();
        return buffer;
    }
}
