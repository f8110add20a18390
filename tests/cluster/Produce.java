import java.util.List;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Sends one record with acks=all and without retries to partition 0 of each topic, and prints the topic and the error, or "accepted". */
public class Produce {
    public static void main(String[] args) throws Exception {
        Properties config = new Properties();
        config.put("bootstrap.servers", args[0]);
        config.put("acks", "all");
        config.put("retries", 0);
        config.put("enable.idempotence", false);
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (String topic : List.of(args).subList(1, args.length)) {
                System.out.println(topic + " " + outcome(producer, topic));
            }
        }
    }

    private static String outcome(KafkaProducer<byte[], byte[]> producer, String topic) throws InterruptedException {
        try {
            producer.send(new ProducerRecord<>(topic, 0, null, new byte[1])).get();
            return "accepted";
        } catch (ExecutionException error) {
            return error.getCause().getClass().getSimpleName();
        }
    }
}
