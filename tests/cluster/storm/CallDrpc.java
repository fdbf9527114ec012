import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.generated.DRPCExecutionException;
import org.apache.storm.utils.DRPCClient;
import org.apache.storm.utils.Utils;

/**
 * Calls functions by Storm's DRPCClient. Arguments: host and port of the server. Each line of the
 * input is a function, a tab and an argument; each line of the output the result, or the kind of the
 * error, a colon and its text. Every other line is called by a client of the configuration's.
 */
public final class CallDrpc {
    private static String called(DRPCClient client, String function, String argument) throws Exception {
        try {
            return client.execute(function, argument);
        } catch (DRPCExecutionException error) {
            return error.get_type() + ": " + error.get_msg();
        }
    }

    /** See the class. */
    public static void main(String[] arguments) throws Exception {
        int port = Integer.parseInt(arguments[1]);
        Map<String, Object> conf = Utils.readDefaultConfig();
        conf.put(Config.DRPC_SERVERS, new java.util.ArrayList<>(List.of(arguments[0])));
        conf.put(Config.DRPC_PORT, port);
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try (DRPCClient named = new DRPCClient(conf, arguments[0], port);
             DRPCClient configured = DRPCClient.getConfiguredClient(conf)) {
            DRPCClient next = named;
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                int tab = line.indexOf('\t');
                out.println(called(next, line.substring(0, tab), line.substring(tab + 1)));
                next = next == named ? configured : named;
            }
        }
    }
}
