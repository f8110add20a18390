import java.util.Arrays;
import java.util.HexFormat;
import oracle.Lines;
import org.apache.kafka.common.utils.Utils;

/** {"key": hex} -> [murmur2, toPositive(murmur2)] */
public class Murmur2 {
    public static void main(String[] args) throws Exception {
        Lines.serve(question -> {
            int hash = Utils.murmur2(HexFormat.of().parseHex(question.get("key").asText()));
            return Arrays.asList(hash, Utils.toPositive(hash));
        });
    }
}
