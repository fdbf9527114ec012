package heronpy.host;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.storm.spout.ISpout;
import org.apache.storm.topology.IComponent;
import org.apache.storm.topology.IRichBolt;

/** The process of a Java component, or one that tells what the components of a topology are. */
public final class Main {
    private static volatile boolean isLeaving;

    private Main() {
    }

    /** Arguments: the paths of the pipes from and to Python. */
    public static void main(String[] arguments) throws Exception {
        Runtime.getRuntime().addShutdownHook(new Thread(Main::nameExit, "heronpy-exit"));
        Wire wire = new Wire(arguments[0], arguments[1]);
        List<?> command = null;
        while (command == null) {
            command = wire.next(Integer.MAX_VALUE);
        }
        if (command.get(0).equals("describe")) {
            describe(wire, (List<?>) command.get(1));
        } else {
            open(wire, (Map<?, ?>) command.get(1));
        }
    }

    private static void describe(Wire wire, List<?> recipes) {
        List<Object> found = new ArrayList<>();
        for (Object each : recipes) {
            List<?> pair = (List<?>) each;
            found.add(Components.described((Map<?, ?>) pair.get(0), (Boolean) pair.get(1)));
        }
        wire.send("described", found);
        leave(0);
    }

    private static void open(Wire wire, Map<?, ?> spec) throws Exception {
        Host host;
        try {
            boolean isSpout = (Boolean) spec.get("spout");
            IComponent user = Components.made((Map<?, ?>) spec.get("recipe"), isSpout);
            host = isSpout ? new SpoutHost(wire, spec, (ISpout) user)
                : new BoltHost(wire, spec, (IRichBolt) user);
        } catch (Throwable error) {
            String text = error instanceof Refusal ? error.getMessage() : Refusal.of(error);
            wire.send("problem", text, Host.trace(error));
            leave(0);
            return;
        }
        Thread.setDefaultUncaughtExceptionHandler(
            (thread, error) -> host.report("thread " + thread.getName(), error));
        try {
            host.run();
        } catch (Error error) {
            host.end("its host", error);
        }
    }

    /** Ends the process; any other end but a kill is user code's. */
    static void leave(int status) {
        isLeaving = true;
        System.out.flush();
        System.err.flush();
        Runtime.getRuntime().halt(status);
    }

    /** Behind System.exit of user code: who called it, as the last line of this process. */
    private static void nameExit() {
        if (isLeaving) {
            return;
        }
        for (StackTraceElement[] trace : Thread.getAllStackTraces().values()) {
            for (int index = 0; index < trace.length - 1; index++) {
                boolean isExit = trace[index].getMethodName().equals("exit")
                    && trace[index].getClassName().equals("java.lang.System");
                if (isExit) {
                    StackTraceElement caller = trace[index + 1];
                    System.err.println("System.exit was called at " + caller.getClassName() + "."
                        + caller.getMethodName() + "(" + caller.getFileName() + ":"
                        + caller.getLineNumber() + ")");
                }
            }
        }
    }
}
