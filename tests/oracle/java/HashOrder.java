import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import oracle.Lines;
import org.apache.kafka.common.Uuid;

/**
 * {"kind": "string", "int" or "uuid", "initial": capacity or null, "steps": [["put" or "computeIfAbsent" or "remove", key]]} ->
 * {"hashes": of the remaining keys, "order": the keys in the order of iteration}
 */
public class HashOrder {
    public static void main(String[] args) throws Exception {
        Lines.serve(question -> {
            Map<Object, Object> map = question.get("initial").isNull() ? new HashMap<>() : new HashMap<>(question.get("initial").asInt());
            for (JsonNode step : question.get("steps")) {
                Object key = key(question.get("kind").asText(), step.get(1));
                switch (step.get(0).asText()) {
                    case "put": map.put(key, key); break;
                    case "computeIfAbsent": map.computeIfAbsent(key, k -> k); break;
                    default: map.remove(key);
                }
            }
            List<Integer> hashes = new ArrayList<>();
            List<Object> order = new ArrayList<>();
            for (Object key : map.keySet()) {
                hashes.add(key.hashCode());
                order.add(key instanceof Uuid ? key.toString() : key);
            }
            return Map.of("hashes", hashes, "order", order);
        });
    }

    private static Object key(String kind, JsonNode key) {
        return kind.equals("int") ? (Object) key.asInt() : kind.equals("uuid") ? Uuid.fromString(key.asText()) : key.asText();
    }
}
