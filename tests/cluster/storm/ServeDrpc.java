import java.util.Map;
import org.apache.storm.drpc.DRPCInvocationsClient;
import org.apache.storm.generated.DRPCExceptionType;
import org.apache.storm.generated.DRPCExecutionException;
import org.apache.storm.generated.DRPCRequest;
import org.apache.storm.utils.Utils;

/**
 * Serves a function as Storm's DRPCSpout and ReturnResults do. Arguments: host and port of the
 * server, the function, and how many requests it answers: each with an exclamation mark behind it,
 * but for "fail", which fails, and "refuse", which fails with a text.
 */
public final class ServeDrpc {
    private static final int PAUSE_MILLIS = 1; // between two requests, as Storm's spout

    private static void answer(DRPCInvocationsClient client, DRPCRequest request) throws Exception {
        String argument = request.get_func_args();
        String id = request.get_request_id();
        if (argument.equals("fail")) {
            client.failRequest(id);
        } else if (argument.equals("refuse")) {
            DRPCExecutionException error = new DRPCExecutionException("not this one");
            error.set_type(DRPCExceptionType.FAILED_REQUEST);
            client.failRequestV2(id, error);
        } else {
            client.result(id, argument + "!");
        }
    }

    /** See the class. */
    public static void main(String[] arguments) throws Exception {
        Map<String, Object> conf = Utils.readDefaultConfig();
        int left = Integer.parseInt(arguments[3]);
        try (DRPCInvocationsClient client =
                new DRPCInvocationsClient(conf, arguments[0], Integer.parseInt(arguments[1]))) {
            while (left > 0) {
                DRPCRequest request = client.fetchRequest(arguments[2]);
                if (request.get_request_id().isEmpty()) {
                    Thread.sleep(PAUSE_MILLIS);
                } else {
                    answer(client, request);
                    left--;
                }
            }
        }
    }
}
