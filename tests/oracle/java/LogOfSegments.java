// before 4.3.0: org.apache.kafka.common.record.internal. -> org.apache.kafka.common.record.
// before 4.2.0: entry.offset() -> entry.offset
// before 4.2.0: entry.timestamp() -> entry.timestamp
// before 4.2.0: entry(i).offset() -> entry(i).offset
// before 4.2.0: entry(i).position() -> entry(i).position
// before 4.2.0: lookup(offset).position() -> lookup(offset).position
// before 4.2.0: lookup(time.asLong()).offset() -> lookup(time.asLong()).offset
import com.fasterxml.jackson.databind.JsonNode;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Stream;
import oracle.Lines;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.Timer;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogSegment;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.TimestampOffset;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/**
 * A real UnifiedLog in a folder: {"config": {...}, "batches": [[records, value bytes, timestamp, now]], "offsets", "times", "high_watermark", "now"} -> its
 * segments with their index entries, where lookups by offset and by time begin, and how many segments retention deletes.
 */
public class LogOfSegments {
    private static long now = 0;

    public static void main(String[] args) throws Exception {
        Lines.serve(LogOfSegments::answer);
    }

    private static Object answer(JsonNode question) throws Exception {
        Path folder = Files.createTempDirectory("oracle");
        try {
            return log(question, new File(folder.toFile(), "t-0"));
        } finally {
            try (Stream<Path> files = Files.walk(folder)) {
                files.sorted(Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
            }
        }
    }

    private static Object log(JsonNode question, File folder) throws Exception {
        folder.mkdirs();
        Properties properties = new Properties();
        question.get("config").fields().forEachRemaining(entry -> properties.put(entry.getKey(), entry.getValue().asText()));
        now = question.get("created").asLong();
        UnifiedLog log = UnifiedLog.create(folder, new LogConfig(properties), 0, 0, IDLE, new BrokerTopicStats(false), TIME, 3_600_000,
            new ProducerStateManagerConfig(86_400_000, false), 600_000, new LogDirFailureChannel(1), true, Optional.of(new Uuid(1, 1)));
        for (JsonNode batch : question.get("batches")) {
            now = batch.get(3).asLong();
            SimpleRecord[] records = new SimpleRecord[batch.get(0).asInt()];
            Arrays.fill(records, new SimpleRecord(batch.get(2).asLong(), new byte[batch.get(1).asInt()]));
            log.appendAsLeader(MemoryRecords.withRecords(Compression.NONE, records), 0);
        }
        Map<String, Object> answer = new LinkedHashMap<>();
        List<Object> segments = new ArrayList<>();
        for (LogSegment segment : log.logSegments()) segments.add(describe(segment));
        answer.put("segments", segments);
        List<Object> found = new ArrayList<>();
        for (int offset : Lines.ints(question.get("offsets"))) {
            LogSegment segment = log.logSegments().stream().filter(s -> s.baseOffset() <= offset).reduce((first, second) -> second).get();
            found.add(Arrays.asList(segment.baseOffset(), segment.offsetIndex().lookup(offset).position()));
        }
        answer.put("offsets", found);
        List<Object> timed = new ArrayList<>();
        for (JsonNode time : question.get("times")) {
            LogSegment first = null;
            for (LogSegment segment : log.logSegments())
                if (first == null && segment.size() > 0 && segment.largestTimestamp() >= time.asLong()) first = segment;
            timed.add(first == null ? null : Arrays.asList(first.baseOffset(), first.timeIndex().lookup(time.asLong()).offset()));
        }
        answer.put("times", timed);
        now = question.get("now").asLong();
        log.updateHighWatermark(question.get("high_watermark").asLong());
        answer.put("deleted", log.deleteOldSegments());
        log.close();
        return answer;
    }

    private static Object describe(LogSegment segment) throws Exception {
        List<Object> offsets = new ArrayList<>(), times = new ArrayList<>();
        for (int i = 0; i < segment.offsetIndex().entries(); i++)
            offsets.add(Arrays.asList(segment.offsetIndex().entry(i).offset() - segment.baseOffset(), segment.offsetIndex().entry(i).position()));
        for (int i = 0; i < segment.timeIndex().entries(); i++) {
            TimestampOffset entry = segment.timeIndex().entry(i);
            times.add(Arrays.asList(entry.timestamp(), entry.offset() - segment.baseOffset()));
        }
        return Arrays.asList(segment.baseOffset(), segment.size(), offsets, times);
    }

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

        @Override
        public Timer timer(long timeoutMs) {
            return null;
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
