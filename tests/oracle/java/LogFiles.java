// before 4.3.0: org.apache.kafka.common.record.internal. -> org.apache.kafka.common.record.
// before 4.2.0: entry(i).offset() -> entry(i).offset
// before 4.2.0: entry(i).position() -> entry(i).position
// before 4.2.0: entry(i).timestamp() -> entry(i).timestamp
// before 3.9.0: import org.apache.kafka.storage.internals.checkpoint.OffsetCheckpointFile -> import kafka.server.checkpoints.OffsetCheckpointFile
import com.fasterxml.jackson.databind.JsonNode;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.TreeMap;
import oracle.Lines;
import org.apache.kafka.common.record.internal.FileLogInputStream.FileChannelRecordBatch;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.storage.internals.checkpoint.OffsetCheckpointFile;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.OffsetIndex;
import org.apache.kafka.storage.internals.log.TimeIndex;

/** {"log", "index", "timeindex": hex, "base_offset", "checkpoint": text} -> what Kafka reads from files with this content. */
public class LogFiles {
    public static void main(String[] args) throws Exception {
        Lines.serve(LogFiles::answer);
    }

    private static Object answer(JsonNode question) throws Exception {
        Path folder = Files.createTempDirectory("oracle");
        List<Object> batches = new ArrayList<>(), offsets = new ArrayList<>(), times = new ArrayList<>();
        try (FileRecords records = FileRecords.open(file(folder, question, "log"))) {
            for (FileChannelRecordBatch batch : records.batches())
                batches.add(Arrays.asList(batch.position(), batch.sizeInBytes(), batch.baseOffset(), batch.lastOffset(), batch.partitionLeaderEpoch(),
                    batch.compressionType().name, batch.timestampType().name.equals("LogAppendTime"), batch.isTransactional(), batch.isControlBatch(),
                    batch.maxTimestamp(), batch.producerId(), batch.producerEpoch(), batch.baseSequence(), batch.countOrNull()));
        }
        long base = question.get("base_offset").asLong();
        try (OffsetIndex index = new OffsetIndex(file(folder, question, "index"), base, -1, false)) {
            for (int i = 0; i < index.entries(); i++) offsets.add(Arrays.asList(index.entry(i).offset() - base, index.entry(i).position()));
        }
        try (TimeIndex index = new TimeIndex(file(folder, question, "timeindex"), base, -1, false)) {
            for (int i = 0; i < index.entries(); i++) times.add(Arrays.asList(index.entry(i).timestamp(), index.entry(i).offset() - base));
        }
        File checkpoint = new File(folder.toFile(), "replication-offset-checkpoint");
        Files.writeString(checkpoint.toPath(), question.get("checkpoint").asText());
        TreeMap<String, Long> marks = new TreeMap<>();
        new OffsetCheckpointFile(checkpoint, new LogDirFailureChannel(1)).read().forEach((partition, offset) -> marks.put(partition.toString(), offset));
        for (File file : folder.toFile().listFiles()) file.delete();
        Files.delete(folder);
        return Arrays.asList(batches, offsets, times, marks);
    }

    private static File file(Path folder, JsonNode question, String suffix) throws Exception {
        Path path = folder.resolve(String.format("%020d.%s", question.get("base_offset").asLong(), suffix));
        return Files.write(path, HexFormat.of().parseHex(question.get(suffix).asText())).toFile();
    }
}
