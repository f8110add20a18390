import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.regex.Pattern;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.ShareGroupDescription;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Applications of a test cluster in one JVM: producers and the members of consumer groups.
 *
 * <p>Usage: Workload.java BOOTSTRAP. Each line on stdin is a request, a JSON object. A line "done" on stdout follows each completed request.
 * {"do": "send", "rows": [{"topic", "key", "partition", "records", "size_bytes"}, ...]}: send the records of all rows in shuffled order.
 * `size_bytes` is the size of all keys and values of a row; a null key is no key; with a null partition the partitioner chooses.
 * {"do": "join", "group", "client_id", "topics", "regex", "share", "config": {...}}: start a member that reads all records and commits its offsets.
 * Without topics it subscribes by the regular expression. With "share", it is a member of a share group.
 * {"do": "leave", "group"}: the member that joined last leaves its group.
 * {"do": "pause", "group"}: stop reading in all members of the group, which stay members.
 * {"do": "await"}: wait until all groups are stable, and assignments and committed offsets have not changed for two seconds.
 * At the end of stdin the JVM ends at once, and no member leaves its group.
 */
public class Workload {
    private static final Set<String> PAUSED = ConcurrentHashMap.newKeySet();
    /** For each member of a group, in the order in which they joined, whether it leaves. */
    private static final Map<String, Deque<AtomicBoolean>> MEMBERS = new TreeMap<>();
    private static final Set<String> SHARE_GROUPS = new TreeSet<>();

    public static void main(String[] args) throws Exception {
        String bootstrap = args[0];
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        ObjectMapper json = new ObjectMapper();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode request = json.readTree(line);
            switch (request.get("do").asText()) {
                case "send" -> send(bootstrap, request.get("rows"));
                case "join" -> join(bootstrap, request);
                case "leave" -> MEMBERS.get(request.get("group").asText()).removeLast().set(true);
                case "pause" -> PAUSED.add(request.get("group").asText());
                case "await" -> await(bootstrap);
                default -> throw new IllegalArgumentException(line);
            }
            System.out.println("done");
        }
        Runtime.getRuntime().halt(0);
    }

    private static void send(String bootstrap, JsonNode rows) {
        List<ProducerRecord<byte[], byte[]>> records = new ArrayList<>();
        for (JsonNode row : rows) {
            byte[] key = row.get("key").isNull() ? null : row.get("key").asText().getBytes(StandardCharsets.UTF_8);
            Integer partition = row.get("partition").isNull() ? null : row.get("partition").asInt();
            long count = row.get("records").asLong();
            long left = row.get("size_bytes").asLong() - count * (key == null ? 0 : key.length);
            for (long i = 0; i < count; i++) {
                long size = left / (count - i);
                left -= size;
                records.add(new ProducerRecord<>(row.get("topic").asText(), partition, key, new byte[(int) size]));
            }
        }
        Collections.shuffle(records, new Random(1));
        Map<String, Object> config = Map.of("bootstrap.servers", bootstrap, "linger.ms", 5, "acks", "all");
        List<Exception> failed = Collections.synchronizedList(new ArrayList<>());
        try (var producer = new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer())) {
            records.forEach(record -> producer.send(record, (metadata, exception) -> {
                if (exception != null) failed.add(exception);
            }));
        }
        if (!failed.isEmpty()) throw new IllegalStateException(failed.size() + " records failed", failed.get(0));
    }

    private static void join(String bootstrap, JsonNode request) {
        String group = request.get("group").asText();
        Map<String, Object> config = new HashMap<>(Map.of(
            "bootstrap.servers", bootstrap, "group.id", group, "client.id", request.get("client_id").asText(),
            "auto.offset.reset", "earliest", "auto.commit.interval.ms", 1000));
        request.get("config").properties().forEach(entry -> config.put(entry.getKey(), entry.getValue().asText()));
        List<String> topics = new ArrayList<>();
        request.get("topics").forEach(topic -> topics.add(topic.asText()));
        String regex = request.path("regex").asText("");
        AtomicBoolean leaves = new AtomicBoolean();
        MEMBERS.computeIfAbsent(group, name -> new ArrayDeque<>()).add(leaves);
        boolean share = request.path("share").asBoolean();
        if (share) SHARE_GROUPS.add(group);
        Thread thread = new Thread(share ? () -> readShared(config, topics, leaves) : () -> read(config, topics, regex, leaves));
        thread.setDaemon(true);
        thread.start();
    }

    private static void read(Map<String, Object> config, List<String> topics, String regex, AtomicBoolean leaves) {
        try (var consumer = new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            if (!topics.isEmpty()) consumer.subscribe(topics);
            else if ("consumer".equals(config.get("group.protocol"))) consumer.subscribe(new SubscriptionPattern(regex));
            else consumer.subscribe(Pattern.compile(regex));
            while (!leaves.get()) {
                if (PAUSED.contains(config.get("group.id"))) consumer.pause(consumer.assignment());
                consumer.poll(Duration.ofMillis(200));
            }
        }
    }

    private static void readShared(Map<String, Object> config, List<String> topics, AtomicBoolean leaves) {
        config.keySet().removeAll(Set.of("auto.offset.reset", "auto.commit.interval.ms"));
        try (var consumer = new KafkaShareConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.subscribe(topics);
            while (!leaves.get()) consumer.poll(Duration.ofMillis(200));
        }
    }

    private static void await(String bootstrap) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            String before = "";
            for (int unchanged = 0; unchanged < 5; Thread.sleep(500)) {
                String now;
                try {
                    now = describeGroups(admin);
                } catch (ExecutionException error) {
                    // A group does not exist before its first member has joined, and has no coordinator while that moves.
                    Throwable cause = error.getCause();
                    if (!(cause instanceof GroupIdNotFoundException || cause instanceof RetriableException)) throw error;
                    now = null;
                }
                unchanged = now != null && now.equals(before) ? unchanged + 1 : 0;
                before = now;
            }
        }
    }

    /** Returns the assignments and committed offsets of all groups as text; null if a group is not stable or lacks a member. */
    private static String describeGroups(Admin admin) throws Exception {
        StringBuilder text = new StringBuilder();
        List<String> consumerGroups = MEMBERS.keySet().stream().filter(group -> !SHARE_GROUPS.contains(group)).toList();
        for (ConsumerGroupDescription group : admin.describeConsumerGroups(consumerGroups).all().get().values()) {
            if (group.groupState() != GroupState.STABLE || group.members().size() != MEMBERS.get(group.groupId()).size()) return null;
            Set<String> lines = new TreeSet<>();
            group.members().forEach(member -> lines.add(member.consumerId() + member.assignment()));
            admin.listConsumerGroupOffsets(group.groupId()).partitionsToOffsetAndMetadata().get()
                .forEach((partition, offset) -> lines.add(partition + " " + offset.offset()));
            text.append(group.groupId()).append(lines);
        }
        for (ShareGroupDescription group : admin.describeShareGroups(SHARE_GROUPS).all().get().values()) {
            if (group.groupState() != GroupState.STABLE || group.members().size() != MEMBERS.get(group.groupId()).size()) return null;
            Set<String> lines = new TreeSet<>();
            group.members().forEach(member -> lines.add(member.consumerId() + member.assignment()));
            text.append(group.groupId()).append(lines);
        }
        return text.toString();
    }
}
