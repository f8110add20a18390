import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import kafka.admin.AdminUtils;
import kafka.admin.BrokerMetadata;
import oracle.Lines;
import scala.Option;
import scala.collection.JavaConverters;
import scala.collection.Seq;

/** AdminUtilsAssignment for the Scala class of Kafka 2.0.0 to 2.8.2. */
public class AdminUtilsAssignment200 {
    public static void main(String[] args) throws Exception {
        Lines.serve(question -> {
            List<BrokerMetadata> brokers = new ArrayList<>();
            for (JsonNode broker : question.get("brokers"))
                brokers.add(new BrokerMetadata(broker.get(0).asInt(), Option.apply(broker.get(1).isNull() ? null : broker.get(1).asText())));
            boolean drawn = question.has("seed");
            if (drawn) AdminUtils.rand().setSeed(question.get("seed").asLong());
            scala.collection.Map<Object, Seq<Object>> placed = AdminUtils.assignReplicasToBrokers(
                JavaConverters.asScalaBufferConverter(brokers).asScala(), question.get("partitions").asInt(),
                question.get("replication_factor").asInt(), drawn ? -1 : question.get("start_index").asInt(), question.get("start_partition").asInt());
            Map<Object, List<Object>> sorted = new TreeMap<>();
            JavaConverters.mapAsJavaMapConverter(placed).asJava().forEach(
                (partition, replicas) -> sorted.put(partition, JavaConverters.seqAsJavaListConverter(replicas).asJava()));
            return new ArrayList<>(sorted.values());
        });
    }
}
