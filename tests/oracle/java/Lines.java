package oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/** Reads one question per line from stdin and writes one answer per line to stdout; an exception is written as the answer. */
public final class Lines {
    public static final ObjectMapper JSON = new ObjectMapper();

    public interface Answer {
        Object to(JsonNode question) throws Throwable;
    }

    private Lines() { }

    public static void serve(Answer answer) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err); // keeps what libraries print out of the answers
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try (BufferedWriter answers = new BufferedWriter(new OutputStreamWriter(out, StandardCharsets.UTF_8))) {
            for (String line = questions.readLine(); line != null; line = questions.readLine()) {
                answers.write(JSON.writeValueAsString(answered(answer, JSON.readTree(line))));
                answers.write('\n');
            }
        }
        System.exit(0); // some of Kafka's classes leave threads behind
    }

    private static Map<String, Object> answered(Answer answer, JsonNode question) {
        Map<String, Object> result = new HashMap<>();
        try {
            result.put("answer", answer.to(question));
        } catch (Throwable thrown) {
            Throwable cause = thrown;
            while (cause instanceof InvocationTargetException && cause.getCause() != null) cause = cause.getCause();
            result.put("error", cause.getClass().getSimpleName());
            result.put("message", String.valueOf(cause.getMessage()));
        }
        return result;
    }

    public static int[] ints(JsonNode array) {
        int[] values = new int[array.size()];
        for (int i = 0; i < values.length; i++) values[i] = array.get(i).asInt();
        return values;
    }
}
