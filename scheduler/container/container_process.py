"""The process `python -m scheduler.container` as a child: its lifeline, its voice, its end."""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence

from heron_core.supervision import HEARTBEAT, REASON_BYTES_MAX, RELOAD, STATUS_PIPE_BYTES
from heron_io.waker import Waker

GRACE_SECS = 8.0
"""A container gives its instances 3 s and its stream manager 2 s."""
REAP_SECS = 2.0


class ContainerProcess:
    """A container of the packing plan. It ends when this process does, whatever ends that."""

    def __init__(self, words: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "scheduler.container", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.heard = time.monotonic()
        """When it last beat."""
        self._said = b""
        self._end_by = float("inf")

    @property
    def words(self) -> str:
        """What it said about its end."""
        return " ".join(self._said.decode("utf-8", "replace").split())

    def end(self) -> None:
        """In order; one that takes too long is killed."""
        if self._end_by == float("inf"):
            self._end_by = time.monotonic() + GRACE_SECS
            self._process.send_signal(signal.SIGTERM)

    def wait(self, secs: float, waker: Waker, silent_secs: float) -> int | None:
        """Until it ends, the waker wakes or the time is over; its exit code once it has ended.

        One that is silent for too long, or does not end, is killed.
        """
        voice = self._voice
        poll = select.poll()
        poll.register(voice, select.POLLIN)
        poll.register(waker.readable, select.POLLIN)
        ready = {number for number, _ in poll.poll(int(secs * 1000))}
        waker.clear()
        if voice in ready and not self._hear():
            return self._reap()
        now = time.monotonic()
        if now - self.heard > silent_secs:
            self._said = f"it was silent for {silent_secs:g} s and was killed".encode()
            self._process.kill()
            self.heard = now
        elif now > self._end_by:
            self._process.kill()
        return None

    @property
    def _voice(self) -> int:
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def _hear(self) -> bool:
        """Take in heartbeats and last words; False once it has closed its voice."""
        data = os.read(self._voice, STATUS_PIPE_BYTES)
        self.heard = time.monotonic()
        self._said = (self._said + data.replace(HEARTBEAT, b"").replace(RELOAD, b""))[
            -REASON_BYTES_MAX:
        ]
        return bool(data)

    def _reap(self) -> int:
        """Its voice is closed, so it has ended or is about to."""
        try:
            code = self._process.wait(REAP_SECS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self.close()
        return code

    def close(self) -> None:
        """Kill it if it still runs, and let its pipes go."""
        self._process.kill()
        self._process.wait()
        for each in (self._process.stdin, self._process.stdout):
            if each is not None:
                each.close()
