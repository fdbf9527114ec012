package heronpy.host;

import java.lang.reflect.Executable;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Makes the objects of a recipe, as heron_frontends.flux.objects describes it: constructor
 * arguments or a factory's, then properties, then methods (Flux's order).
 */
final class Recipes {
    private Recipes() {
    }

    /** The component of a recipe and, before it, what it refers to. */
    static Object make(Map<?, ?> recipe) throws Refusal {
        Map<String, Object> objects = new HashMap<>();
        for (Object each : (List<?>) recipe.get("objects")) {
            Map<?, ?> one = (Map<?, ?>) each;
            objects.put((String) one.get("id"), one(one, objects));
        }
        return one((Map<?, ?>) recipe.get("object"), objects);
    }

    private static Object one(Map<?, ?> recipe, Map<String, Object> objects) throws Refusal {
        Class<?> kind = load((String) recipe.get("class"));
        String factory = (String) recipe.get("factory");
        Object[] arguments = arguments((List<?>) recipe.get("args"), objects);
        Object made = factory == null ? construct(kind, arguments)
            : call(kind, null, factory, arguments);
        if (made == null) {
            throw new Refusal("factory " + factory + " of class " + kind.getName()
                + " returned null");
        }
        for (Object each : (List<?>) recipe.get("properties")) {
            List<?> pair = (List<?>) each;
            set(made, (String) pair.get(0), argument((Map<?, ?>) pair.get(1), objects));
        }
        for (Object each : (List<?>) recipe.get("methods")) {
            List<?> pair = (List<?>) each;
            Object[] values = arguments((List<?>) pair.get(1), objects);
            call(made.getClass(), made, (String) pair.get(0), values);
        }
        return made;
    }

    static Class<?> load(String name) throws Refusal {
        try {
            return Class.forName(name);
        } catch (ClassNotFoundException error) {
            throw new Refusal("class " + name + " is not on the class path");
        } catch (UnsupportedClassVersionError error) {
            throw new Refusal(newer(name, error));
        } catch (NoClassDefFoundError error) {
            throw new Refusal(lacking(name, error));
        } catch (LinkageError error) {
            throw new Refusal("class " + name + " cannot be loaded: " + Refusal.of(cause(error)));
        }
    }

    private static String newer(String name, UnsupportedClassVersionError error) {
        java.util.regex.Matcher found = java.util.regex.Pattern
            .compile("class file version (\\d+)").matcher(String.valueOf(error.getMessage()));
        String needed = found.find() ? String.valueOf(Integer.parseInt(found.group(1)) - 44) : "?";
        return "class " + name + " was compiled for Java " + needed + ", and this is Java "
            + Runtime.version().feature() + ": " + System.getProperty("java.home");
    }

    private static String lacking(String name, NoClassDefFoundError error) {
        String missing = String.valueOf(error.getMessage()).replace('/', '.');
        return "class " + name + " needs " + missing + ", which is not on the class path";
    }

    private static Throwable cause(Throwable error) {
        return error.getCause() == null ? error : error.getCause();
    }

    private static Object construct(Class<?> kind, Object[] arguments) throws Refusal {
        Executable[] candidates = kind.getConstructors();
        if (Modifier.isAbstract(kind.getModifiers())) {
            throw new Refusal("class " + kind.getName() + " is abstract");
        }
        return invoke(null, candidates, arguments, "constructor", kind, kind.getSimpleName());
    }

    private static Object call(Class<?> kind, Object target, String name, Object[] arguments)
            throws Refusal {
        Executable[] candidates = Arrays.stream(kind.getMethods())
            .filter(each -> each.getName().equals(name) && !each.isBridge())
            .filter(each -> target != null || Modifier.isStatic(each.getModifiers()))
            .toArray(Executable[]::new);
        return invoke(target, candidates, arguments, target == null ? "factory" : "method", kind,
            name);
    }

    private static void set(Object target, String name, Object value) throws Refusal {
        String setter = "set" + Character.toUpperCase(name.charAt(0)) + name.substring(1);
        Class<?> kind = target.getClass();
        if (Arrays.stream(kind.getMethods()).anyMatch(each -> each.getName().equals(setter))) {
            call(kind, target, setter, new Object[] {value});
            return;
        }
        try {
            java.lang.reflect.Field field = kind.getField(name);
            Object[] fitted = Arguments.fitted(new Class<?>[] {field.getType()}, false,
                new Object[] {value});
            if (fitted == null) {
                throw new Refusal("property '" + name + "' of class " + kind.getName()
                    + " does not take " + Arguments.described(new Object[] {value}));
            }
            field.set(target, fitted[0]);
        } catch (NoSuchFieldException | IllegalAccessException error) {
            throw new Refusal("class " + kind.getName() + " has no property '" + name + "'");
        }
    }

    private static Object invoke(
            Object target, Executable[] candidates, Object[] arguments, String what, Class<?> kind,
            String name) throws Refusal {
        Executable chosen = null;
        Object[] fitted = null;
        int least = Integer.MAX_VALUE;
        for (Executable each : candidates) {
            int cost = Arguments.cost(each.getParameterTypes(), each.isVarArgs(), arguments);
            if (cost < least) {
                least = cost;
                chosen = each;
                fitted = Arguments.fitted(each.getParameterTypes(), each.isVarArgs(), arguments);
            }
        }
        if (chosen == null) {
            throw new Refusal("class " + kind.getName() + " has no " + what
                + (what.equals("constructor") ? "" : " " + name) + " that takes "
                + Arguments.described(arguments) + has(candidates, name));
        }
        try {
            chosen.setAccessible(true);
            return chosen instanceof Method ? ((Method) chosen).invoke(target, fitted)
                : ((java.lang.reflect.Constructor<?>) chosen).newInstance(fitted);
        } catch (InvocationTargetException error) {
            throw new Refusal(what + " " + name + " of class " + kind.getName() + " raised "
                + Refusal.of(error.getCause()));
        } catch (ReflectiveOperationException | RuntimeException error) {
            throw new Refusal(what + " " + name + " of class " + kind.getName() + ": "
                + Refusal.of(error));
        } catch (NoClassDefFoundError error) {
            throw new Refusal(lacking(kind.getName(), error));
        }
    }

    private static String has(Executable[] candidates, String name) {
        if (candidates.length == 0) {
            return "; it has none of this name that is public";
        }
        return "; it has " + Arrays.stream(candidates).map(each -> name + Arrays
            .stream(each.getParameterTypes()).map(Class::getSimpleName)
            .collect(Collectors.joining(", ", "(", ")"))).sorted().distinct()
            .collect(Collectors.joining(", "));
    }

    private static Object[] arguments(List<?> recipes, Map<String, Object> objects) {
        List<Object> values = new ArrayList<>();
        for (Object each : recipes) {
            values.add(argument((Map<?, ?>) each, objects));
        }
        return values.toArray();
    }

    private static Object argument(Map<?, ?> recipe, Map<String, Object> objects) {
        if (recipe.containsKey("ref")) {
            return objects.get(recipe.get("ref"));
        }
        if (recipe.containsKey("reflist")) {
            List<Object> found = new ArrayList<>();
            for (Object each : (List<?>) recipe.get("reflist")) {
                found.add(objects.get(each));
            }
            return found;
        }
        return recipe.get("value");
    }
}
