package heronpy.host;

/** A value of a class that does not cross to Python. */
final class Unsayable extends IllegalArgumentException {
    Unsayable(String text) {
        super(text);
    }
}
