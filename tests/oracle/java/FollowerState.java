// before 3.7.0: new TopicPartition("t", 0), null) -> new TopicPartition("t", 0))
// before 3.7.0: updateFetchStateOrThrow -> updateFetchState
// before 3.5.0: fetch.get(1).asLong(), -1) -> fetch.get(1).asLong())
// before 3.5.0: new LogOffsetMetadata(fetch.get(0).asLong()) -> new LogOffsetMetadata(fetch.get(0).asLong(), 0, 0)
// before 3.5.0: org.apache.kafka.storage.internals.log.LogOffsetMetadata -> kafka.server.LogOffsetMetadata
import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import kafka.cluster.Replica;
import kafka.cluster.ReplicaState;
import oracle.Lines;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.storage.internals.log.LogOffsetMetadata;

/** {"fetches": [[offset, leader's LEO, now]], "asked": [[leader's LEO, now, lag]]} -> after each fetch [LEO, caught up, leader's LEO seen, fetched]; isCaughtUp. */
public class FollowerState {
    public static void main(String[] args) throws Exception {
        Lines.serve(question -> {
            Replica replica = new Replica(1, new TopicPartition("t", 0), null);
            List<Object> states = new ArrayList<>(), caughtUp = new ArrayList<>();
            for (JsonNode fetch : question.get("fetches")) {
                replica.updateFetchStateOrThrow(new LogOffsetMetadata(fetch.get(0).asLong()), 0, fetch.get(2).asLong(), fetch.get(1).asLong(), -1);
                ReplicaState state = replica.stateSnapshot();
                states.add(Arrays.asList(state.logEndOffset(), state.lastCaughtUpTimeMs(), state.lastFetchLeaderLogEndOffset(), state.lastFetchTimeMs()));
            }
            for (JsonNode asked : question.get("asked"))
                caughtUp.add(replica.stateSnapshot().isCaughtUp(asked.get(0).asLong(), asked.get(1).asLong(), asked.get(2).asLong()));
            return Arrays.asList(states, caughtUp);
        });
    }
}
