package heronpy.host;

/** What cannot be done, in one line for a person. */
final class Refusal extends Exception {
    Refusal(String text) {
        super(text);
    }

    /** The class of an exception and its message, in one line. */
    static String of(Throwable error) {
        String text = error.getMessage();
        String name = error.getClass().getName();
        String whole = text == null ? name : name + ": " + text;
        return whole.replaceAll("\\s*\\R\\s*", " / ");
    }
}
