// Spouts and bolts in JavaScript as children that speak Storm's multi-lang protocol over JSON.
//
//   const storm = require("./storm");
//   class Split extends storm.BasicBolt {
//     process(tup, done) {
//       for (const word of tup.values[0].split(" ")) this.emit({ tuple: [word], anchorTupleId: tup.id });
//       done();
//     }
//   }
//   new Split().run();
//
// Written with functions and prototypes, so that `Storm.BasicBolt.call(this)` works as well.
// console.log would be taken for a message, so `log` it.
"use strict";

const fs = require("fs");
const path = require("path");

const LEVELS = { trace: 0, debug: 1, info: 2, warn: 3, error: 4 };

function Storm() {
  this._begin();
}

// A class that does not call our constructor is made ready when it runs.
Storm.prototype._begin = function () {
  if (this._text !== undefined) return;
  this._text = "";
  this._waiting = [];
  this._isBusy = this._isReady = this._isLooping = false;
  this.taskIdCallbacks = [];
};

// --- messages ------------------------------------------------------------------------------------

Storm.prototype.sendMsgToParent = function (message) {
  process.stdout.write(`${JSON.stringify(message)}\nend\n`);
};

Storm.prototype.sync = function () {
  this.sendMsgToParent({ command: "sync" });
};

Storm.prototype.sendPid = function (folder) {
  this.sendMsgToParent({ pid: process.pid });
  fs.closeSync(fs.openSync(path.join(folder, String(process.pid)), "w"));
};

Storm.prototype.log = function (message, level) {
  const number = typeof level === "string" ? LEVELS[level] : level;
  this.sendMsgToParent({ command: "log", msg: String(message), level: number ?? LEVELS.info });
};

Storm.prototype.logError = function (message) {
  this.log(message, LEVELS.error);
};

Storm.prototype.reportError = function (error) {
  const text = error instanceof Error ? error.stack : String(error);
  this.sendMsgToParent({ command: "error", msg: text });
};

Storm.prototype.metrics = function (name, params) {
  this.sendMsgToParent({ command: "metrics", name, params });
};

// Runs until the parent closes our stdin.
Storm.prototype.run = function () {
  this._begin();
  process.stdin.setEncoding("utf8");
  process.stdin.on("data", (data) => this._take(data));
  process.stdin.on("end", () => process.exit(0));
};

Storm.prototype._take = function (data) {
  const parts = (this._text + data).split(/\r?\nend\r?\n/);
  this._text = parts.pop();
  for (const part of parts) this._handle(JSON.parse(part));
};

Storm.prototype._handle = function (message) {
  if (Array.isArray(message)) this._answer(message);
  else {
    this._waiting.push(message);
    this._next();
  }
};

Storm.prototype._answer = function (taskIds) {
  const callback = this.taskIdCallbacks.shift();
  if (callback) callback(taskIds);
};

// A spout's commands come one after the other: the next one waits until the one before is done. A
// bolt may work on several tuples at a time, as soon as it is initialized.
Storm.prototype._next = function () {
  if (this._isLooping) return;
  this._isLooping = true;
  while (!this._isBusy && this._waiting.length > 0) {
    const message = this._waiting.shift();
    this._isBusy = this.isInTurn || !this._isReady;
    const done = () => {
      this._isBusy = false;
      this._next();
    };
    if (this._isReady) this.handleNewCommand(message, done);
    else this._shake(message, done);
  }
  this._isLooping = false;
};

Storm.prototype._shake = function (message, done) {
  this.sendPid(message.pidDir);
  this.initialize(message.conf, message.context, (error) => {
    if (error) this.reportError(error);
    this._isReady = true;
    done();
  });
};

// --- what components say and define ---------------------------------------------------------------

Storm.prototype.initialize = function (conf, context, done) {
  done();
};

// emit({tuple, stream, ...}, callback): the callback, if there is one, gets the task ids.
Storm.prototype.emit = function (details, onTaskIds) {
  if (details.task) throw new Error("emit takes no task: use emitDirect");
  if (onTaskIds) this.taskIdCallbacks.push(onTaskIds);
  this._emit(details, Boolean(onTaskIds));
};

Storm.prototype.emitDirect = function (details) {
  if (!details.task) throw new Error("emitDirect needs a task");
  this._emit(details, false);
};

Storm.prototype._emit = function (details, needsTaskIds) {
  this.sendMsgToParent({
    command: "emit",
    tuple: details.tuple,
    stream: details.stream,
    task: details.task,
    need_task_ids: needsTaskIds,
    ...this._tracking(details),
  });
};

function Tuple(id, component, stream, task, values) {
  this.id = id;
  this.component = component;
  this.stream = stream;
  this.task = task;
  this.values = values;
}

Tuple.prototype.isTick = function () {
  return this.task === -1 && this.stream === "__tick";
};

// A bolt acks a tuple when `done()` is called, and fails it by `done(error)`.
function BasicBolt() {
  Storm.call(this);
}

inherit(BasicBolt, Storm);

BasicBolt.prototype._tracking = function (details) {
  const anchors = details.anchors ?? [details.anchorTupleId];
  return { anchors: anchors.filter((each) => each !== undefined && each !== null) };
};

BasicBolt.prototype.process = function (tuple, done) {
  done();
};

BasicBolt.prototype.handleNewCommand = function (message, done) {
  if (message.task === -1 && message.stream === "__heartbeat") {
    this.sync();
    done();
    return;
  }
  const { id, comp, stream, task, tuple } = message;
  const settle = (error) => {
    if (error) {
      this.reportError(error);
      this.fail(id);
    } else this.ack(id);
    done();
  };
  try {
    this.process(new Tuple(id, comp, stream, task, tuple), settle);
  } catch (error) {
    settle(error);
  }
};

BasicBolt.prototype.ack = function (id) {
  this.sendMsgToParent({ command: "ack", id });
};

BasicBolt.prototype.fail = function (id) {
  this.sendMsgToParent({ command: "fail", id });
};

// A spout ends each command by `done()`.
function Spout() {
  Storm.call(this);
}

inherit(Spout, Storm);

Spout.prototype.isInTurn = true;

Spout.prototype._tracking = function (details) {
  return { id: details.id };
};

for (const name of ["activate", "deactivate"]) {
  Spout.prototype[name] = function (done) {
    done();
  };
}

for (const name of ["ack", "fail"]) {
  Spout.prototype[name] = function (id, done) {
    done();
  };
}

Spout.prototype.nextTuple = function (done) {
  done();
};

// Nothing more is to come (an extension that Storm does not know).
Spout.prototype.finish = function () {
  this.sendMsgToParent({ command: "finish" });
};

Spout.prototype.handleNewCommand = function (message, done) {
  const end = (error) => {
    if (error) this.reportError(error);
    this.sync();
    done();
  };
  const calls = {
    next: () => this.nextTuple(end),
    ack: () => this.ack(message.id, end),
    fail: () => this.fail(message.id, end),
    activate: () => this.activate(end),
    deactivate: () => this.deactivate(end),
  };
  try {
    (calls[message.command] ?? end)();
  } catch (error) {
    end(error);
  }
};

function inherit(kind, base) {
  kind.prototype = Object.create(base.prototype);
  kind.prototype.constructor = kind;
}

module.exports = { Storm, Tuple, BasicBolt, Spout };
