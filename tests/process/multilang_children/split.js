#!/usr/bin/env node
// Splits lines into words over Storm's multilang protocol; a line that begins with "hold" is kept
// for ever. Written by hand, so that it shares nothing with what it is to test.
"use strict";

const fs = require("fs");
const path = require("path");

let text = "";
let isShaken = false;

function say(message) {
  process.stdout.write(`${JSON.stringify(message)}\nend\n`);
}

function shake(handshake) {
  fs.closeSync(fs.openSync(path.join(handshake.pidDir, String(process.pid)), "w"));
  say({ pid: process.pid });
  isShaken = true;
}

function split(tuple) {
  const line = tuple.tuple[0];
  if (line.startsWith("hold")) return;
  for (const word of line.split(" ")) {
    say({ command: "emit", anchors: [tuple.id], tuple: [word], need_task_ids: false });
  }
  say({ command: "ack", id: tuple.id });
}

function handle(message) {
  if (!isShaken) shake(message);
  else if (message.stream === "__heartbeat") say({ command: "sync" });
  else split(message);
}

process.stdin.setEncoding("utf8");
process.stdin.on("data", (data) => {
  const parts = (text + data).split("\nend\n");
  text = parts.pop();
  parts.map((part) => JSON.parse(part)).forEach(handle);
});
