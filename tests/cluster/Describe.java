import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartitionInfo;

/** Prints the partitions of topics like kafka-topics --describe. That tool also sends requests to the controller; this program needs only a broker. */
public class Describe {
    public static void main(String[] args) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", args[0]))) {
            for (TopicDescription topic : admin.describeTopics(List.of(args).subList(1, args.length)).allTopicNames().get().values()) {
                for (TopicPartitionInfo partition : topic.partitions()) {
                    System.out.printf("\tTopic: %s\tPartition: %d\tLeader: %s\tReplicas: %s\tIsr: %s\tElr: %s\t%n", topic.name(), partition.partition(),
                        partition.leader() == null ? "none" : partition.leader().idString(), ids(partition.replicas()), ids(partition.isr()), ids(partition.elr()));
                }
            }
        }
    }

    private static String ids(List<Node> nodes) {
        return nodes.stream().map(Node::idString).collect(Collectors.joining(","));
    }
}
