"""A bolt and a spout in each language, as users of Storm's own client modules write them."""

BOLTS = {
    "python3": ("split.py", """
import storm

class Split(storm.BasicBolt):
    def initialize(self, conf, context):
        storm.logInfo("task %d" % context["taskid"])

    def process(self, tup):
        if tup.values[0] == "boom":
            raise ValueError("no words")
        tasks = [storm.emit([word], need_task_ids=True) for word in tup.values[0].split()]
        storm.rpcMetrics("tasks", sum(map(len, tasks)))

Split().run()
"""),
    "node": ("split.js", """
const storm = require("./storm");

function Split() { storm.BasicBolt.call(this); }
Split.prototype = Object.create(storm.BasicBolt.prototype);
Split.prototype.initialize = function (conf, context, done) {
  this.log(`task ${context.taskid}`);
  done();
};
Split.prototype.process = function (tup, done) {
  if (tup.values[0] === "boom") return done(new Error("no words"));
  const words = tup.values[0].split(" ");
  let tasks = 0, left = words.length;
  for (const word of words) {
    this.emit({ tuple: [word], anchorTupleId: tup.id }, (ids) => {
      tasks += ids.length;
      left -= 1;
      if (left === 0) {
        this.metrics("tasks", tasks);
        done();
      }
    });
  }
};
new Split().run();
"""),
    "ruby": ("split.rb", """
require "./storm"

class Split < Storm::Bolt
  def prepare(conf, context)
    log "task #{context['taskid']}"
  end

  def process(tup)
    if tup.values[0] == "boom"
      reportError "no words"
      return fail(tup)
    end
    tasks = tup.values[0].split.map { |word| emit([word], anchor: tup, need_task_ids: true) }
    metrics "tasks", tasks.sum(&:length)
    ack tup
  end
end

Split.new.run
"""),
}  # fmt: skip
"""interpreter -> (file, program): a bolt that splits lines, and does not like the line "boom"."""

SPOUTS = {
    "python3": ("lines.py", """
from storm import Spout, emit, finish, log

class Lines(Spout):
    def initialize(self, conf, context):
        self.left = ["a b", "c"]

    def nextTuple(self):
        if self.left:
            emit([self.left.pop(0)], id=len(self.left))
        else:
            finish()

    def ack(self, id):
        log("ack %r" % id)

    def fail(self, id):
        log("fail %r" % id)

Lines().run()
"""),
    "node": ("lines.js", """
const { Spout } = require("./storm");

class Lines extends Spout {
  initialize(conf, context, done) {
    this.left = ["a b", "c"];
    setImmediate(done);
  }
  nextTuple(done) {
    const line = this.left.shift();
    if (line) this.emit({ tuple: [line], id: this.left.length });
    else this.finish();
    setImmediate(done);
  }
  ack(id, done) { this.log(`ack ${id}`); done(); }
  fail(id, done) { this.log(`fail ${id}`); done(); }
}
new Lines().run();
"""),
    "ruby": ("lines.rb", """
require "storm"

class Lines < Storm::Spout
  def open(conf, context)
    @left = ["a b", "c"]
  end

  def nextTuple
    line = @left.shift
    line ? emit([line], id: @left.length) : finish
  end

  def ack(id) = log("ack #{id}")
  def fail(id) = log("fail #{id}")
end

Lines.new.run
"""),
}  # fmt: skip
