import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartitionInfo;

/** The partitions of topics as kafka-topics --describe tells them, asked of a broker alone: that tool asks the controller too, and may find none. */
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
