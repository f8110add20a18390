// before 3.8.0: import org.apache.kafka.common.compress.Compression -> import org.apache.kafka.common.record.CompressionType
// before 3.8.0: Compression.NONE -> CompressionType.NONE
// before 3.8.0: new BrokerTopicStats(false) -> new BrokerTopicStats(java.util.Optional.empty())
// before 3.7.0: MetadataVersion.latestProduction() -> MetadataVersion.latest()
// before 3.7.0: import org.apache.kafka.storage.internals.log.VerificationGuard; ->
// before 3.7.0: VerificationGuard.SENTINEL -> null
// before 3.7.0: null, Option.empty(), Option.empty()) -> null, Option.empty())
// before 3.7.1: new Confirming(), Option.empty()) -> new Confirming())
// before 3.6.0: RequestLocal.NoCaching(), null -> RequestLocal.NoCaching()
// before 3.6.0: new BrokerTopicStats(java.util.Optional.empty()) -> new BrokerTopicStats()
// before 3.6.0: new ConcurrentHashMap<>(), false, -> new ConcurrentHashMap<>(), false, Option.empty(),
// before 3.6.0: ProducerStateManagerConfig(86_400_000, false) -> ProducerStateManagerConfig(86_400_000)
import com.fasterxml.jackson.databind.JsonNode;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Properties;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Stream;
import kafka.api.LeaderAndIsr;
import kafka.cluster.AlterPartitionListener;
import kafka.cluster.DelayedOperations;
import kafka.cluster.Partition;
import kafka.log.UnifiedLog;
import kafka.server.AlterPartitionManager;
import kafka.server.BrokerTopicStats;
import kafka.server.RequestLocal;
import oracle.Lines;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.message.LeaderAndIsrRequestData.LeaderAndIsrPartitionState;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.SimpleRecord;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogOffsetMetadata;
import org.apache.kafka.storage.internals.log.LogOffsetsListener;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.VerificationGuard;
import scala.Option;
import scala.collection.JavaConverters;

/**
 * The real kafka.cluster.Partition led by broker 0, on a real log: {"log_end_offset", "high_watermark", "replicas", "isr", "min_isr", "lag", "now", "events"}
 * -> [LEO, high watermark, ISR sorted] after its election and after each event: ["append", records, now], ["fetch", follower, offset, now], ["shrink", now]. The
 * controller confirms every ISR at once.
 */
public class PartitionLeader {
    private static final TopicPartition NAME = new TopicPartition("t", 0);
    private static long now = 0;

    public static void main(String[] args) throws Exception {
        Lines.serve(PartitionLeader::answer);
    }

    private static Object answer(JsonNode question) throws Exception {
        Path folder = Files.createTempDirectory("oracle");
        try {
            return led(question, new File(folder.toFile(), "t-0"));
        } finally {
            try (Stream<Path> files = Files.walk(folder)) {
                files.sorted(Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
            }
        }
    }

    private static Object led(JsonNode question, File folder) throws Exception {
        folder.mkdirs();
        now = question.get("now").asLong();
        Properties properties = new Properties();
        properties.put("min.insync.replicas", question.get("min_isr").asText());
        properties.put("segment.index.bytes", "1000");
        UnifiedLog log = UnifiedLog.apply(folder, new LogConfig(properties), 0, 0, IDLE, new BrokerTopicStats(false), TIME, 3_600_000,
            new ProducerStateManagerConfig(86_400_000, false), 600_000, new LogDirFailureChannel(1), true, Option.empty(), false, new ConcurrentHashMap<>(), false,
            LogOffsetsListener.NO_OP_OFFSETS_LISTENER);
        if (question.get("log_end_offset").asInt() > 0)
            log.appendAsLeader(records(question.get("log_end_offset").asInt()), 0, AppendOrigin.CLIENT, MetadataVersion.latestProduction(),
                RequestLocal.NoCaching(), VerificationGuard.SENTINEL);
        log.updateHighWatermark(question.get("high_watermark").asLong());
        Partition partition = new Partition(NAME, question.get("lag").asLong(), MetadataVersion.latestProduction(), 0, () -> -1L, TIME, DEAF, new NoOperations(), null,
            null, new Confirming(), Option.empty());
        partition.setLog(log, false);
        partition.makeLeader(new LeaderAndIsrPartitionState().setControllerEpoch(1).setLeader(0).setLeaderEpoch(1).setPartitionEpoch(1).setIsNew(false)
            .setReplicas(boxed(question.get("replicas"))).setIsr(boxed(question.get("isr"))), null, Option.empty(), Option.empty());
        List<Object> answer = new ArrayList<>(Collections.singletonList(state(partition, log)));
        for (JsonNode event : question.get("events")) {
            now = event.get(event.size() - 1).asLong();
            switch (event.get(0).asText()) {
                case "append":
                    partition.appendRecordsToLeader(records(event.get(1).asInt()), AppendOrigin.CLIENT, 1, RequestLocal.NoCaching(), VerificationGuard.SENTINEL);
                    break;
                case "fetch":
                    int offset = event.get(2).asInt();
                    partition.updateFollowerFetchState(partition.getReplica(event.get(1).asInt()).get(), new LogOffsetMetadata(offset, 0, offset), 0, now,
                        log.logEndOffset(), -1);
                    break;
                default:
                    partition.maybeShrinkIsr();
            }
            answer.add(state(partition, log));
        }
        log.close();
        return answer;
    }

    private static Object state(Partition partition, UnifiedLog log) {
        return Arrays.asList(log.logEndOffset(), log.highWatermark(), new TreeSet<>(JavaConverters.setAsJavaSetConverter(partition.inSyncReplicaIds()).asJava()));
    }

    private static MemoryRecords records(int count) {
        SimpleRecord[] records = new SimpleRecord[count];
        Arrays.fill(records, new SimpleRecord(now, new byte[0]));
        return MemoryRecords.withRecords(Compression.NONE, records);
    }

    private static List<Integer> boxed(JsonNode array) {
        List<Integer> values = new ArrayList<>();
        for (int value : Lines.ints(array)) values.add(value);
        return values;
    }

    /** The controller: it accepts every ISR that the leader proposes and raises the partition epoch. */
    private static final class Confirming implements AlterPartitionManager {
        @Override
        public CompletableFuture<LeaderAndIsr> submit(TopicIdPartition partition, LeaderAndIsr proposed, int controllerEpoch) {
            return CompletableFuture.completedFuture(proposed.withPartitionEpoch(proposed.partitionEpoch() + 1));
        }
    }

    /** No request waits. */
    private static final class NoOperations extends DelayedOperations {
        NoOperations() {
            super(NAME, null, null, null);
        }

        @Override
        public void checkAndCompleteAll() {
        }

        @Override
        public int numDelayedDelete() {
            return 0;
        }
    }

    private static final AlterPartitionListener DEAF = new AlterPartitionListener() {
        @Override
        public void markIsrExpand() {
        }

        @Override
        public void markIsrShrink() {
        }

        @Override
        public void markFailed() {
        }
    };

    private static final Time TIME = new Time() {
        @Override
        public long milliseconds() {
            return now;
        }

        @Override
        public long nanoseconds() {
            return now * 1_000_000;
        }

        @Override
        public void sleep(long ms) {
        }

        @Override
        public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs) {
        }
    };

    private static final ScheduledExecutorService THREAD = Executors.newSingleThreadScheduledExecutor();
    private static final Scheduler IDLE = new Scheduler() {
        @Override
        public void startup() {
        }

        @Override
        public void shutdown() {
        }

        @Override
        public ScheduledFuture<?> schedule(String name, Runnable task, long delayMs, long periodMs) {
            return THREAD.schedule(() -> { }, 0, TimeUnit.MILLISECONDS);
        }

        @Override
        public void resizeThreadPool(int size) {
        }
    };
}
