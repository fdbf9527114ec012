package heronpy.host;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.generated.StreamInfo;
import org.apache.storm.spout.ISpout;
import org.apache.storm.topology.BasicBoltExecutor;
import org.apache.storm.topology.IBasicBolt;
import org.apache.storm.topology.IComponent;
import org.apache.storm.topology.IRichBolt;
import org.apache.storm.topology.IStatefulBolt;
import org.apache.storm.topology.IStatefulWindowedBolt;
import org.apache.storm.topology.IWindowedBolt;
import org.apache.storm.topology.OutputFieldsGetter;
import org.apache.storm.topology.WindowedBoltExecutor;

/** A user's component in the shape that Storm runs it in, and what it says of itself. */
final class Components {
    private Components() {
    }

    /** As TopologyBuilder.setBolt and setSpout do; a Refusal for what is neither. */
    static IComponent made(Map<?, ?> recipe, boolean isSpout) throws Refusal {
        Object made = Recipes.make(recipe);
        String name = made == null ? "null" : made.getClass().getName();
        if (made instanceof ISpout && made instanceof IComponent) {
            return checked((IComponent) made, true, isSpout, name);
        }
        IComponent bolt;
        if (made instanceof IStatefulWindowedBolt) {
            throw new Refusal("class " + name + " is a windowed bolt with state, which does not run"
                + " here: an IWindowedBolt or an IStatefulBolt does");
        } else if (made instanceof IWindowedBolt) {
            bolt = new WindowedBoltExecutor((IWindowedBolt) made);
        } else if (made instanceof IStatefulBolt) {
            bolt = new StatefulBolt<>((IStatefulBolt<?>) made);
        } else if (made instanceof IBasicBolt) {
            bolt = new BasicBoltExecutor((IBasicBolt) made);
        } else if (made instanceof IRichBolt) {
            bolt = (IRichBolt) made;
        } else {
            throw new Refusal("class " + name + " is neither a spout (IRichSpout) nor a bolt"
                + " (IRichBolt, IBasicBolt, IWindowedBolt, IStatefulBolt) of this Storm");
        }
        return checked(bolt, false, isSpout, name);
    }

    private static IComponent checked(
            IComponent made, boolean isSpout, boolean isSpoutWanted, String name) throws Refusal {
        if (isSpout != isSpoutWanted) {
            throw new Refusal("class " + name + " is a " + (isSpout ? "spout, not a bolt"
                : "bolt, not a spout"));
        }
        return made;
    }

    /** {"streams": [[name, fields, is direct], …], "config": {…}}, or {"problem": one line}. */
    static Map<String, Object> described(Map<?, ?> recipe, boolean isSpout) {
        Map<String, Object> found = new HashMap<>();
        try {
            IComponent component = made(recipe, isSpout);
            found.put("streams", streams(component));
            found.put("config", config(component));
            found.put("state", component instanceof StatefulBolt);
        } catch (Refusal error) {
            found.put("problem", error.getMessage());
        } catch (Throwable error) {
            found.put("problem", Refusal.of(error));
        }
        return found;
    }

    static List<Object> streams(IComponent component) {
        OutputFieldsGetter declared = new OutputFieldsGetter();
        component.declareOutputFields(declared);
        List<Object> found = new ArrayList<>();
        for (Map.Entry<String, StreamInfo> each : declared.getFieldsDeclaration().entrySet()) {
            StreamInfo info = each.getValue();
            found.add(List.of(each.getKey(), info.get_output_fields(), info.is_direct()));
        }
        return found;
    }

    /** Its component configuration; a value that does not cross is a Refusal. */
    private static Map<String, Object> config(IComponent component) throws Refusal {
        Map<String, Object> given = component.getComponentConfiguration();
        Map<String, Object> found = new HashMap<>();
        if (given == null) {
            return found;
        }
        for (Map.Entry<String, Object> each : given.entrySet()) {
            try {
                new Packer().value(each.getValue());
            } catch (Unsayable error) {
                throw new Refusal("its component configuration has " + error.getMessage()
                    + " under " + each.getKey() + ", which cannot cross to Python");
            }
            if (each.getValue() != null) {
                found.put(each.getKey(), each.getValue());
            }
        }
        return found;
    }
}
