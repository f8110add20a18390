import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Applications of a test cluster, many in one JVM: producers and the members of consumer groups.
 *
 * <p>Usage: Workload.java BOOTSTRAP, then a JSON object a line on stdin, each answered by a line "done" on stdout:
 * {"do": "send", "rows": [{"topic", "key", "partition", "records", "size_bytes"}, ...]}: send so many records of so many bytes in all,
 * keys and values, in a shuffled order; key null: none; partition null: left to the partitioner.
 * {"do": "join", "group", "client_id", "topics", "config": {...}}: one member more, which reads all and commits.
 * {"do": "pause", "group"}: its members stay but read no further.
 * {"do": "await"}: until all groups are stable and neither assignments nor committed offsets have changed for two seconds.
 * The end of stdin ends all, without a good-bye to the groups.
 */
public class Workload {
    private static final Set<String> PAUSED = ConcurrentHashMap.newKeySet();
    private static final Map<String, Integer> MEMBERS = new TreeMap<>();

    public static void main(String[] args) throws Exception {
        String bootstrap = args[0];
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        ObjectMapper json = new ObjectMapper();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode asked = json.readTree(line);
            switch (asked.get("do").asText()) {
                case "send" -> send(bootstrap, asked.get("rows"));
                case "join" -> join(bootstrap, asked);
                case "pause" -> PAUSED.add(asked.get("group").asText());
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
        if (!failed.isEmpty()) throw new IllegalStateException(failed.size() + " records were not taken", failed.get(0));
    }

    private static void join(String bootstrap, JsonNode asked) {
        String group = asked.get("group").asText();
        Map<String, Object> config = new HashMap<>(Map.of(
            "bootstrap.servers", bootstrap, "group.id", group, "client.id", asked.get("client_id").asText(),
            "auto.offset.reset", "earliest", "auto.commit.interval.ms", 1000));
        asked.get("config").properties().forEach(entry -> config.put(entry.getKey(), entry.getValue().asText()));
        List<String> topics = new ArrayList<>();
        asked.get("topics").forEach(topic -> topics.add(topic.asText()));
        MEMBERS.merge(group, 1, Integer::sum);
        Thread thread = new Thread(() -> {
            try (var consumer = new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
                consumer.subscribe(topics);
                while (true) {
                    if (PAUSED.contains(group)) consumer.pause(consumer.assignment());
                    consumer.poll(Duration.ofMillis(200));
                }
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    private static void await(String bootstrap) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            String before = "";
            for (int same = 0; same < 5; Thread.sleep(500)) {
                String now;
                try {
                    now = picture(admin);
                } catch (ExecutionException notYet) {
                    // A group is not found before its first member has joined, nor while its coordinator moves.
                    Throwable cause = notYet.getCause();
                    if (!(cause instanceof GroupIdNotFoundException || cause instanceof RetriableException)) throw notYet;
                    now = null;
                }
                same = now != null && now.equals(before) ? same + 1 : 0;
                before = now;
            }
        }
    }

    /** What the groups hold and have committed; null while any of them is not stable or lacks a member. */
    private static String picture(Admin admin) throws Exception {
        StringBuilder seen = new StringBuilder();
        for (ConsumerGroupDescription group : admin.describeConsumerGroups(MEMBERS.keySet()).all().get().values()) {
            if (group.groupState() != GroupState.STABLE || group.members().size() != MEMBERS.get(group.groupId())) return null;
            Set<String> lines = new TreeSet<>();
            group.members().forEach(member -> lines.add(member.consumerId() + member.assignment()));
            admin.listConsumerGroupOffsets(group.groupId()).partitionsToOffsetAndMetadata().get()
                .forEach((partition, offset) -> lines.add(partition + " " + offset.offset()));
            seen.append(group.groupId()).append(lines);
        }
        return seen.toString();
    }
}
