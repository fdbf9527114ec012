package heronpy.host;

import java.io.DataInputStream;
import java.io.EOFException;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * Frames of four bytes of length and a list in msgpack, over a pipe for each direction.
 *
 * A thread reads, so that the end of the pipe ends this process whatever user code does meanwhile:
 * the Python half is gone. The number of tuples that wait here is bounded by that half.
 */
final class Wire {
    static final int TUPLES = 1;
    static final int NEXT = 2;
    static final int TASKS = 3;
    static final int BATCH = 1;
    static final int TURN = 2;
    private static final int EXIT_ALONE = 75;

    private final BlockingQueue<List<?>> commands = new LinkedBlockingQueue<>();
    private final BlockingQueue<List<?>> answers = new LinkedBlockingQueue<>();
    private final DataInputStream input;
    private final OutputStream output;

    Wire(String inputPath, String outputPath) throws IOException {
        input = new DataInputStream(
            new java.io.BufferedInputStream(new FileInputStream(inputPath), 1 << 16));
        output = new FileOutputStream(outputPath);
        Thread reader = new Thread(this::readAll, "heronpy-reader");
        reader.setDaemon(true);
        reader.start();
    }

    private void readAll() {
        try {
            while (true) {
                byte[] data = new byte[input.readInt()];
                input.readFully(data);
                List<?> frame = (List<?>) new Unpacker(data).value();
                boolean isAnswer = frame.get(0).equals((long) TASKS);
                (isAnswer ? answers : commands).add(frame);
            }
        } catch (EOFException error) {
            Runtime.getRuntime().halt(EXIT_ALONE);
        } catch (Throwable error) {
            System.err.println("heronpy: what Python sent cannot be read: " + error);
            Runtime.getRuntime().halt(EXIT_ALONE);
        }
    }

    /** The next command; null if none comes within so many milliseconds. */
    List<?> next(long milliseconds) throws InterruptedException {
        return commands.poll(Math.max(0, milliseconds), TimeUnit.MILLISECONDS);
    }

    /** Whether a command waits. */
    boolean hasMore() {
        return !commands.isEmpty();
    }

    /** What a question comes to. */
    List<?> answer() throws InterruptedException {
        return answers.take();
    }

    void send(Object... frame) {
        Packer packer = new Packer();
        packer.value(frame);
        send(packer);
    }

    synchronized void send(Packer packer) {
        int size = packer.length();
        byte[] head = {
            (byte) (size >>> 24), (byte) (size >>> 16), (byte) (size >>> 8), (byte) size};
        try {
            output.write(head);
            output.write(packer.bytes(), 0, size);
        } catch (IOException error) {
            Runtime.getRuntime().halt(EXIT_ALONE);
        }
    }
}
