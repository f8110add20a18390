import com.fasterxml.jackson.databind.JsonNode;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import oracle.Lines;
import org.apache.kafka.common.utils.Utils;

/**
 * {"key": hex} -> [murmur2, toPositive(murmur2)]. {"keys": [hex], "repeat": n} -> the nanoseconds of processor time that each of n runs over all keys took
 * (tests/benchmarks/batches.py).
 */
public class Murmur2 {
    private static int sink;

    public static void main(String[] args) throws Exception {
        Lines.serve(question -> {
            if (question.has("repeat")) return times(question);
            int hash = Utils.murmur2(HexFormat.of().parseHex(question.get("key").asText()));
            return Arrays.asList(hash, Utils.toPositive(hash));
        });
    }

    private static List<Long> times(JsonNode question) {
        byte[][] keys = new byte[question.get("keys").size()][];
        for (int i = 0; i < keys.length; i++) keys[i] = HexFormat.of().parseHex(question.get("keys").get(i).asText());
        int[] hashes = new int[keys.length];
        List<Long> times = new ArrayList<>();
        for (int run = 0; run < question.get("repeat").asInt(); run++) {
            long began = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
            for (int i = 0; i < keys.length; i++) hashes[i] = Utils.murmur2(keys[i]);
            times.add(ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - began);
            sink += hashes[run % hashes.length];
        }
        return times;
    }
}
