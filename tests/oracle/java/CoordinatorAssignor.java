package org.apache.kafka.coordinator.group.assignor;

// before 4.2.0: import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataImage -> import org.apache.kafka.image.TopicsImage
// before 4.2.0: CoordinatorMetadataImage -> TopicsImage
// before 4.1.0: , assignable(question, ids)) -> )
import com.fasterxml.jackson.databind.JsonNode;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import oracle.Lines;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataImage;
import org.apache.kafka.coordinator.group.api.assignor.PartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.generated.ConsumerGroupTargetAssignmentMemberValue;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;
import org.apache.kafka.coordinator.group.modern.TopicIds;

/**
 * {"assignor", "topics": {name: partitions}, "ids": {name: topic id, deleted topics too}, "members": [{"id", "topics", "instance", "owned": [[topic, partition]]}],
 * "assignable": {name: [partition]} or absent} -> {member: [[topic, partition]] sorted}. The containers are those of the broker: members in a HashMap, topics in a
 * HashSet of names, the target assignment as read from its record. With "repeat": n, the nanoseconds of processor time that each of n runs took (tests/benchmarks/assignors.py).
 */
public class CoordinatorAssignor {
    private static final ThreadMXBean CPU = ManagementFactory.getThreadMXBean();
    public static void main(String[] args) throws Exception {
        Lines.serve(CoordinatorAssignor::answer);
    }

    static Object answer(JsonNode question) {
        Map<String, Uuid> ids = new HashMap<>();
        Map<Uuid, String> names = new HashMap<>();
        question.get("ids").fields().forEachRemaining(id -> {
            ids.put(id.getKey(), Uuid.fromString(id.getValue().asText()));
            names.put(ids.get(id.getKey()), id.getKey());
        });
        Map<Uuid, Integer> partitions = new HashMap<>();
        question.get("topics").fields().forEachRemaining(topic -> partitions.put(ids.get(topic.getKey()), topic.getValue().asInt()));
        Topics resolver = new Topics(ids, names, partitions);
        Map<String, MemberSubscriptionAndAssignmentImpl> members = new HashMap<>();
        Map<Uuid, Map<Integer, String>> inverted = new HashMap<>();
        Map<String, Integer> subscribers = new HashMap<>();
        for (JsonNode member : question.get("members")) {
            String memberId = member.get("id").asText();
            List<String> topics = new ArrayList<>();
            member.get("topics").forEach(topic -> topics.add(topic.asText()));
            Assignment target = target(member, ids);
            target.partitions().forEach((id, numbers) -> numbers.forEach(p -> inverted.computeIfAbsent(id, i -> new HashMap<>()).put(p, memberId)));
            Optional<String> instance = member.path("instance").isTextual() ? Optional.of(member.get("instance").asText()) : Optional.empty();
            members.put(memberId, new MemberSubscriptionAndAssignmentImpl(Optional.empty(), instance, new TopicIds(new HashSet<>(topics), resolver), target));
            for (String topic : new HashSet<>(topics)) subscribers.merge(topic, 1, Integer::sum);
        }
        boolean alike = subscribers.values().stream().allMatch(n -> n == members.size());
        GroupSpecImpl group = new GroupSpecImpl(Collections.unmodifiableMap(members), alike ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS,
            inverted, assignable(question, ids));
        if (question.has("repeat")) return times(question, group, resolver);
        Map<String, Set<List<Object>>> answer = new TreeMap<>();
        members.keySet().forEach(memberId -> answer.put(memberId, new TreeSet<>(CoordinatorAssignor::compare)));
        assignor(question.get("assignor").asText()).assign(group, resolver).members().forEach((memberId, assignment) ->
            assignment.partitions().forEach((id, numbers) -> numbers.forEach(p -> answer.get(memberId).add(List.of(names.get(id), p)))));
        return answer;
    }

    /** The processor time that the assignor takes, in nanoseconds; no new run after five seconds. */
    private static List<Long> times(JsonNode question, GroupSpecImpl group, SubscribedTopicDescriber topics) {
        List<Long> times = new ArrayList<>();
        long end = CPU.getCurrentThreadCpuTime() + 5_000_000_000L;
        for (int i = 0; i < question.get("repeat").asInt() && CPU.getCurrentThreadCpuTime() < end; i++) {
            long began = CPU.getCurrentThreadCpuTime();
            assignor(question.get("assignor").asText()).assign(group, topics);
            times.add(CPU.getCurrentThreadCpuTime() - began);
        }
        return times;
    }

    private static int compare(List<Object> one, List<Object> other) {
        int order = ((String) one.get(0)).compareTo((String) other.get(0));
        return order != 0 ? order : Integer.compare((Integer) one.get(1), (Integer) other.get(1));
    }

    static PartitionAssignor assignor(String name) {
        switch (name) {
            case "range": return new RangeAssignor();
            case "uniform": return new UniformAssignor();
            case "simple": return new SimpleAssignor();
            default: throw new AssertionError(name);
        }
    }

    private static Assignment target(JsonNode member, Map<String, Uuid> ids) {
        Map<Uuid, List<Integer>> owned = new LinkedHashMap<>();
        member.path("owned").forEach(pair -> owned.computeIfAbsent(ids.get(pair.get(0).asText()), id -> new ArrayList<>()).add(pair.get(1).asInt()));
        List<ConsumerGroupTargetAssignmentMemberValue.TopicPartition> topics = new ArrayList<>();
        owned.forEach((id, numbers) -> topics.add(new ConsumerGroupTargetAssignmentMemberValue.TopicPartition().setTopicId(id).setPartitions(numbers)));
        return Assignment.fromRecord(new ConsumerGroupTargetAssignmentMemberValue().setTopicPartitions(topics));
    }

    private static Optional<Map<Uuid, Set<Integer>>> assignable(JsonNode question, Map<String, Uuid> ids) {
        if (!question.has("assignable")) return Optional.empty();
        Map<Uuid, Set<Integer>> assignable = new HashMap<>();
        question.get("assignable").fields().forEachRemaining(topic -> {
            Set<Integer> numbers = new HashSet<>();
            topic.getValue().forEach(p -> numbers.add(p.asInt()));
            assignable.put(ids.get(topic.getKey()), numbers);
        });
        return Optional.of(assignable);
    }

    /** The topics of the metadata image: those that are not in `partitions` are deleted or never existed. */
    private record Topics(Map<String, Uuid> ids, Map<Uuid, String> names, Map<Uuid, Integer> partitions)
        implements TopicIds.TopicResolver, SubscribedTopicDescriber {
        @Override
        public CoordinatorMetadataImage image() {
            return CoordinatorMetadataImage.EMPTY;
        }

        @Override
        public String name(Uuid id) {
            return partitions.containsKey(id) ? names.get(id) : null;
        }

        @Override
        public Uuid id(String name) {
            Uuid id = ids.get(name);
            return partitions.containsKey(id) ? id : null;
        }

        @Override
        public void clear() { }

        @Override
        public int numPartitions(Uuid id) {
            return partitions.getOrDefault(id, -1);
        }

        @Override
        public Set<String> racksForPartition(Uuid id, int partition) {
            return Set.of();
        }
    }
}
