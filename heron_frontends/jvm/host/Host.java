package heronpy.host;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.storm.task.IErrorReporter;
import org.apache.storm.topology.IComponent;

/** What the hosts of spouts and of bolts have in common: start, commands, metrics, errors, end. */
abstract class Host {
    private static final long METRICS_MILLIS = 1000;
    private static final int EXIT_ERROR = 70;

    final Wire wire;
    final Map<?, ?> spec;
    final String component;
    final Map<String, Object> config;
    final HostContext context;
    final Output output;
    private final AtomicBoolean isOpen = new AtomicBoolean();
    private long metricsAt;

    Host(Wire wire, Map<?, ?> spec, IComponent user) {
        this.wire = wire;
        this.spec = spec;
        this.component = (String) spec.get("component");
        this.config = new HashMap<>();
        ((Map<?, ?>) spec.get("config")).forEach((key, value) -> config.put((String) key, value));
        this.context = HostContext.of(spec, config, isOpen);
        Map<String, List<String>> streams = new HashMap<>();
        for (Object each : (List<?>) spec.get("streams")) {
            List<?> stream = (List<?>) each;
            List<String> fields = new ArrayList<>();
            ((List<?>) stream.get(1)).forEach(field -> fields.add((String) field));
            streams.put((String) stream.get(0), fields);
        }
        this.output = new Output(wire, component, streams);
    }

    /** Calls the user's `open` or `prepare`. */
    abstract void open() throws Exception;

    /** A command of Python's that is not of all hosts. */
    abstract void handle(List<?> command) throws Exception;

    /** Calls the user's `close` or `cleanup`. */
    abstract void close();

    final void run() throws Exception {
        try {
            open();
        } catch (Throwable error) {
            wire.send("problem", Refusal.of(error), trace(error));
            Main.leave(0);
        }
        isOpen.set(true);
        output.settle();
        wire.send("ready");
        while (true) {
            List<?> command = wire.next(metricsAt - System.currentTimeMillis());
            sendMetrics();
            if (command == null) {
                continue;
            }
            if (command.get(0).equals("close")) {
                end();
            }
            try {
                handle(command);
            } catch (Exception error) {
                report("its host", error);
            }
        }
    }

    private void end() {
        try {
            close();
        } catch (Exception error) {
            report("the end", error);
        }
        output.settle();
        context.hurry();
        metricsAt = 0;
        sendMetrics();
        wire.send("closed");
        Main.leave(0);
    }

    private void sendMetrics() {
        long now = System.currentTimeMillis();
        if (now < metricsAt) {
            return;
        }
        metricsAt = now + METRICS_MILLIS;
        try {
            Map<String, Object> counts = new HashMap<>();
            Map<String, Object> values = new HashMap<>();
            context.metrics(now, counts, values);
            if (!counts.isEmpty() || !values.isEmpty()) {
                wire.send("metrics", counts, values);
            }
        } catch (Exception error) {
            report("a metric", error);
        }
    }

    /** An error of user code, with where it was called and its stack trace. */
    final void report(String where, Throwable error) {
        wire.send("error", where, trace(error));
    }

    /** What ends the process: an Error is of the JVM or of the class path, and not of a tuple. */
    final void end(String where, Error error) {
        report(where, error);
        Main.leave(EXIT_ERROR);
    }

    final IErrorReporter errors() {
        return error -> report("reportError", error);
    }

    static String trace(Throwable error) {
        StringWriter text = new StringWriter();
        error.printStackTrace(new PrintWriter(text));
        return text.toString().stripTrailing();
    }
}
