package heronpy.host;

import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** Which parameters arguments of a file fit, and what they become there. */
final class Arguments {
    static final int NEVER = Integer.MAX_VALUE;
    private static final Object MISFIT = new Object();
    private static final Map<Class<?>, Class<?>> BOXES = Map.of(
        int.class, Integer.class, long.class, Long.class, short.class, Short.class,
        byte.class, Byte.class, double.class, Double.class, float.class, Float.class,
        boolean.class, Boolean.class, char.class, Character.class);

    private Arguments() {
    }

    /** How far the arguments are from these parameters; NEVER if they do not fit. */
    static int cost(Class<?>[] parameters, boolean isVariable, Object[] given) {
        Object[] arguments = gathered(parameters, isVariable, given);
        if (arguments == null) {
            return NEVER;
        }
        int cost = arguments.length == given.length && arguments == given ? 0 : 5;
        for (int index = 0; index < parameters.length; index++) {
            int one = cost(parameters[index], arguments[index]);
            if (one == NEVER) {
                return NEVER;
            }
            cost += one;
        }
        return cost;
    }

    /** The arguments as these parameters take them; null if they do not fit. */
    static Object[] fitted(Class<?>[] parameters, boolean isVariable, Object[] given) {
        Object[] arguments = gathered(parameters, isVariable, given);
        if (arguments == null) {
            return null;
        }
        Object[] found = new Object[arguments.length];
        for (int index = 0; index < found.length; index++) {
            found[index] = converted(parameters[index], arguments[index]);
            if (found[index] == MISFIT) {
                return null;
            }
        }
        return found;
    }

    /** With those of a variable number gathered into a list, unless one stands for them. */
    private static Object[] gathered(Class<?>[] parameters, boolean isVariable, Object[] given) {
        int count = parameters.length;
        if (given.length == count && !(isVariable && !isMany(given[count - 1]))) {
            return given;
        }
        if (!isVariable || given.length < count - 1) {
            return null;
        }
        Object[] found = Arrays.copyOf(given, count);
        found[count - 1] = Arrays.asList(given).subList(count - 1, given.length);
        return found;
    }

    private static boolean isMany(Object value) {
        return value == null || value instanceof List || value.getClass().isArray();
    }

    private static int cost(Class<?> parameter, Object value) {
        if (converted(parameter, value) == MISFIT) {
            return NEVER;
        }
        if (value == null) {
            return 1;
        }
        Class<?> boxed = BOXES.getOrDefault(parameter, parameter);
        if (boxed == value.getClass()) {
            return 0;
        }
        if (parameter == Object.class) {
            return 20;
        }
        if (value instanceof Number) {
            return numberCost(boxed, value);
        }
        return boxed.isInstance(value) ? 1 : parameter.isArray() ? 3 : 4;
    }

    private static int numberCost(Class<?> boxed, Object value) {
        List<Class<?>> order = value instanceof Long
            ? List.of(Integer.class, Long.class, Double.class, Float.class, Short.class, Byte.class)
            : List.of(Double.class, Float.class);
        int place = order.indexOf(boxed);
        return place < 0 ? 10 : place;
    }

    private static Object converted(Class<?> parameter, Object value) {
        if (value == null) {
            return parameter.isPrimitive() ? MISFIT : null;
        }
        Class<?> boxed = BOXES.getOrDefault(parameter, parameter);
        if (boxed.isInstance(value)) {
            return value;
        }
        if (value instanceof Number) {
            return number(boxed, (Number) value);
        }
        if (value instanceof String) {
            return text(boxed, (String) value);
        }
        return value instanceof List ? many(parameter, (List<?>) value) : MISFIT;
    }

    private static Object number(Class<?> kind, Number value) {
        boolean isWhole = value instanceof Long;
        long whole = value.longValue();
        if (kind == Double.class) {
            return value.doubleValue();
        } else if (kind == Float.class) {
            return value.floatValue();
        } else if (kind == Integer.class && isWhole && whole == (int) whole) {
            return (int) whole;
        } else if (kind == Short.class && isWhole && whole == (short) whole) {
            return (short) whole;
        } else if (kind == Byte.class && isWhole && whole == (byte) whole) {
            return (byte) whole;
        }
        return MISFIT;
    }

    private static Object text(Class<?> kind, String value) {
        if (kind == Character.class && value.length() == 1) {
            return value.charAt(0);
        }
        if (kind.isEnum()) {
            for (Object each : kind.getEnumConstants()) {
                if (((Enum<?>) each).name().equals(value)) {
                    return each;
                }
            }
        }
        if (kind == Class.class) {
            try {
                return Class.forName(value);
            } catch (ClassNotFoundException | LinkageError error) {
                return MISFIT;
            }
        }
        return MISFIT;
    }

    private static Object many(Class<?> parameter, List<?> values) {
        if (parameter.isAssignableFrom(Set.class)) {
            return new LinkedHashSet<>(values);
        }
        if (parameter.isAssignableFrom(ArrayList.class)) {
            return new ArrayList<>(values);
        }
        if (!parameter.isArray()) {
            return MISFIT;
        }
        Object found = Array.newInstance(parameter.getComponentType(), values.size());
        for (int index = 0; index < values.size(); index++) {
            Object one = converted(parameter.getComponentType(), values.get(index));
            if (one == MISFIT) {
                return MISFIT;
            }
            Array.set(found, index, one);
        }
        return found;
    }

    /** What a person reads of arguments that do not fit. */
    static String described(Object[] arguments) {
        return Arrays.stream(arguments).map(each -> each == null ? "null"
            : each instanceof String ? "\"" + each + "\""
            : each instanceof Number || each instanceof Boolean ? each.toString()
            : each.getClass().getSimpleName()).collect(Collectors.joining(", ", "(", ")"));
    }
}
