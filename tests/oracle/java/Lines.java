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

/** One question a line on stdin, one answer a line on stdout; what is thrown is told as the answer. */
public final class Lines {
    public static final ObjectMapper JSON = new ObjectMapper();

    public interface Answer {
        Object to(JsonNode question) throws Throwable;
    }

    private Lines() { }

    public static void serve(Answer answer) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err); // a library that prints does not mix into the answers
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
        Map<String, Object> said = new HashMap<>();
        try {
            said.put("answer", answer.to(question));
        } catch (Throwable thrown) {
            Throwable cause = thrown;
            while (cause instanceof InvocationTargetException && cause.getCause() != null) cause = cause.getCause();
            said.put("error", cause.getClass().getSimpleName());
            said.put("message", String.valueOf(cause.getMessage()));
        }
        return said;
    }

    public static int[] ints(JsonNode array) {
        int[] values = new int[array.size()];
        for (int i = 0; i < values.length; i++) values[i] = array.get(i).asInt();
        return values;
    }
}
