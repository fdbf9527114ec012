"""Online learning: a model is learned and used in one graph, while what it learns changes.

    heronpy run examples/use_cases/online_learning.py

    events ─┬─ shuffled ──────────────► predict ── predictions
            └─ learn ─┬─ model, to all ───┘
                      └─ accuracy of each block, by predict-then-learn

One instance learns with river, and sends its model to all instances that predict (the all
grouping). Half of the way through, the truth changes (drift): the accuracy falls and recovers. The
models are part of the state, so that after a crash each event is learned and predicted once.
Needs `pip install river`. Config: `use_case.events`.
"""

import pickle
from random import Random

from numbered import Numbered

from heronpy_compat import Bolt, Grouping, Stream, Topology
from heronpy_compat.api.state.stateful_component import StatefulComponent

EVENTS = 4_000
BLOCK = 250
"""Events of a value of the accuracy."""
SEND_EACH = 50
"""Events between two models that are sent."""


def event(number, total=EVENTS):
    """[number, features, truth]: the truth turns round in the middle."""
    rng = Random(number)
    features = {name: rng.uniform(-1, 1) for name in ("speed", "load", "heat")}
    is_over = features["speed"] + 2 * features["load"] - features["heat"] > 0.2
    return [number, features, is_over if number < total // 2 else not is_over]


def new_model():
    """Logistic regression with a constant rate, which follows a drift."""
    from river import linear_model, optim

    return linear_model.LogisticRegression(optimizer=optim.SGD(0.5))


class Events(Numbered):
    outputs = ["number", "features", "truth"]
    number_of_events = EVENTS

    def event(self, number):
        return event(number, self.total)


class Model(Bolt, StatefulComponent):
    """A bolt whose state is a model."""

    def init_state(self, state):
        self.state = state
        packed = state.get("model")
        self.model = new_model() if packed is None else pickle.loads(packed)

    def pre_save(self, checkpoint_id):
        self.state.put("model", pickle.dumps(self.model))


class Learn(Model):
    outputs = [Stream(["block", "accuracy"]), Stream(["version", "model"], "models")]
    auto_ack = auto_anchor = True

    def process(self, tup):
        number, right = self.state.get("number", 0) + 1, self.state.get("right", 0)
        right += self.model.predict_one(tup.features) == tup.truth
        self.model.learn_one(tup.features, tup.truth)
        if number % SEND_EACH == 0:
            self.emit([number, pickle.dumps(self.model)], stream="models")
        if number % BLOCK == 0:
            self.emit([number // BLOCK, right / BLOCK])
            right = 0
        self.state.put("number", number)
        self.state.put("right", right)


class Predict(Model):
    outputs = ["number", "version", "is_right"]
    auto_ack = auto_anchor = True

    def process(self, tup):
        if tup.stream == "models":
            self.model = pickle.loads(tup.model)
            self.state.put("version", tup.version)
            return
        is_right = self.model.predict_one(tup.features) == tup.truth
        self.emit([tup.number, self.state.get("version", 0), is_right])


class Printed(Bolt):
    auto_ack = True

    def process(self, tup):
        print(f"block {tup.block}: {tup.accuracy:.1%}")


class OnlineLearning(Topology):
    config = {"topology.reliability.mode": "EFFECTIVELY_ONCE"}
    events = Events.spec()
    learn = Learn.spec(inputs=[events])
    predict = Predict.spec(inputs={events: Grouping.SHUFFLE, learn["models"]: Grouping.ALL}, par=2)
    printed = Printed.spec(inputs=[learn])
