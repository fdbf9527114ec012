"""A child that does what it is told by the values of tuples, or as a spout by the test's script.

Each tuple is a list of steps; a step is [name, argument, ...]. It speaks the protocol by hand, so
that the tests do not share a line of code with what they test.
"""

import json
import os
import subprocess
import sys
import time

inbox = []
OUT = sys.stdout.buffer


def read():
    lines = []
    while True:
        line = sys.stdin.readline()
        if not line:
            sys.exit(0)
        if line == "end\n":
            return json.loads("".join(lines))
        lines.append(line)


def raw(text):
    OUT.write(text.encode("utf-8", "surrogateescape"))
    OUT.flush()


def say(message):
    raw(json.dumps(message) + "\nend\n")


def log(value):
    say({"command": "log", "msg": "puppet: " + json.dumps(value)})


def next_list():
    """The next list of task ids; what else comes waits in `inbox`."""
    while not isinstance(message := read(), list):
        inbox.append(message)
    return message


def hang():
    while True:
        time.sleep(3600)


def flood(message):
    while True:
        say({"command": "emit", "tuple": ["x" * 1000], "need_task_ids": False})


def bytewise(message):
    for byte in (json.dumps(message, ensure_ascii=False) + "\nend\n").encode():
        OUT.write(bytes([byte]))
        OUT.flush()


def grandchild():
    process = subprocess.Popen(["sleep", "600"])
    log(process.pid)


STEPS = {
    "say": lambda message, value: say(value),
    "raw": lambda message, text: raw(text),
    "bytewise": lambda message, value: bytewise(value),
    "seen": log,
    "ack": lambda message: say({"command": "ack", "id": message["id"]}),
    "fail": lambda message: say({"command": "fail", "id": message["id"]}),
    "emit": lambda message, **more: say(
        {"command": "emit", "anchors": [message["id"]], "need_task_ids": False, **more}
    ),
    "big": lambda message, times: say(
        {"command": "emit", "tuple": ["x\nend\n\u4f60" * times], "need_task_ids": False}
    ),
    "next_list": lambda message: log(next_list()),
    "stderr": lambda message, text: sys.stderr.write(text) and sys.stderr.flush(),
    "exit": lambda message, code: os._exit(code),
    "flood": flood,
    "hang": lambda message: hang(),
    "close_stdout": lambda message: os.close(1),
    "grandchild": lambda message: grandchild(),
}


def perform(message, steps):
    for name, *arguments in steps:
        more = arguments.pop() if name == "emit" else {}
        STEPS[name](message, *arguments, **more)


def main():
    handshake = read()
    with open(os.path.join(handshake["pidDir"], str(os.getpid())), "w"):
        pass
    perform(handshake, json.loads(os.environ.get("PUPPET_FIRST", "[]")))
    say({"pid": os.getpid()})
    perform(handshake, json.loads(os.environ.get("PUPPET_THEN", "[]")))
    turns = json.loads(os.environ.get("PUPPET_TURNS", "null"))
    while True:
        message = inbox.pop(0) if inbox else read()
        if isinstance(message, list):
            log(message)
        elif "command" in message:
            turn = turns.get(message["command"], [])
            if message["command"] == "next":
                turn = turn.pop(0) if turn else []
            perform(message, turn)
            say({"command": "sync"})
        elif message["stream"] == "__heartbeat":
            say({"command": "sync"})
        elif message["stream"] == "__tick":
            log(message)
            say({"command": "ack", "id": message["id"]})
        else:
            perform(message, message["tuple"])


main()
