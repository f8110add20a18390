// before 4.2.0: entry.epoch(), entry.startOffset() -> entry.epoch, entry.startOffset
// before 3.8.0: file, new KafkaScheduler(1)) -> file)
import com.fasterxml.jackson.databind.JsonNode;
import java.io.File;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import oracle.Lines;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.checkpoint.LeaderEpochCheckpointFile;
import org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache;
import org.apache.kafka.storage.internals.log.EpochEntry;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;

/**
 * {"epochs": [[epoch, start offset]], "log_end_offset", "asked": [epoch]} -> the answers to OffsetsForLeaderEpoch (null: unknown), the epochs,
 * and the text of the checkpoint file.
 */
public class LeaderEpochs {
    public static void main(String[] args) throws Exception {
        Lines.serve(question -> {
            File folder = Files.createTempDirectory("oracle").toFile();
            LeaderEpochCheckpointFile file = new LeaderEpochCheckpointFile(new File(folder, "leader-epoch-checkpoint"), new LogDirFailureChannel(1));
            LeaderEpochFileCache cache = new LeaderEpochFileCache(new TopicPartition("t", 0), file, new KafkaScheduler(1));
            for (JsonNode entry : question.get("epochs")) cache.assign(entry.get(0).asInt(), entry.get(1).asLong());
            List<Object> answers = new ArrayList<>();
            for (int epoch : Lines.ints(question.get("asked"))) {
                Map.Entry<Integer, Long> end = cache.endOffsetFor(epoch, question.get("log_end_offset").asLong());
                answers.add(end.getValue() == -1 ? null : Arrays.asList(end.getKey(), end.getValue()));
            }
            String text = Files.readString(new File(folder, "leader-epoch-checkpoint").toPath());
            List<Object> epochs = new ArrayList<>();
            for (EpochEntry entry : cache.epochEntries())
                epochs.add(Arrays.asList(entry.epoch(), entry.startOffset()));
            new File(folder, "leader-epoch-checkpoint").delete();
            folder.delete();
            return Arrays.asList(answers, epochs, text);
        });
    }
}
