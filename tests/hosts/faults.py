"""Faults of hosts for a while: one function for each.

A function draws host and duration from its seed, undoes the fault, and returns when the network is
whole. Its caller measures the continuation.
"""

import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import psutil

from heron_io.state_store.zookeeper import SESSION_TIMEOUT_MS
from tests.hosts.delay import Delay
from tests.hosts.ensemble import Ensemble
from tests.hosts.laboratory import HostsPlace, Laboratory
from tests.hosts.network import Host
from tests.process.process_support import until

MASTER = 0
QUIET = "none"
RESETS = 5
RESET_SECS = 0.3
SHORT_DROP_SECS = 5.0
PARTITION_SECS = (20.0, 60.0)
"""Longer than TCP tries again without a pause of seconds."""
LOSS_SHARE = "0.3"
TROUBLE_SECS = 10.0
DELAYED_SECS = 15.0
FROZEN_SECS = (2.0, 8.0)
REPLACED_SECS = 10.0
"""From a host's fall to the start of a spare host, and from the start to its return."""
SESSION_SECS = SESSION_TIMEOUT_MS / 1000
"""A lost master's node lives on for this time; then a new master takes its place."""
SUPERSEDED_SECS = 20.0
"""Until a replaced container has ended: a heartbeat, its refusal, and a graceful end."""
QUORUM_SECS = 8.0
MASTER_RESET_SECS = 2.0
FLOW_SECS_MAX = 3.0
"""Until data flows again in a whole network."""
REPLACED_FLOW_SECS_MAX = 10.0
"""With a replaced host: a container has to start on a spare host."""
_never = threading.Event()


@dataclass(slots=True)
class Trouble:
    """A running topology, and the random generator of its faults."""

    lab: Laboratory
    place: HostsPlace
    chance: random.Random
    patience: float = 1.0
    """Limits of time are so many times longer where other work shares the cores."""
    done: list[str] = field(default_factory=list)
    """Faults and their hosts."""

    @property
    def ensemble(self) -> Ensemble:
        """Of its state store."""
        return self.lab.ensemble

    @property
    def master(self) -> Host:
        """The host of the topology master."""
        return self.place.host_of[MASTER]

    def container(self) -> int:
        """Any container but the topology master's."""
        return self.chance.choice([each for each in self.place.host_of if each != MASTER])

    def host(self) -> Host:
        """The host of a container."""
        return self.place.host_of[self.container()]

    def pair(self) -> tuple[Host, Host]:
        """The hosts of two containers, whose stream managers are peers."""
        numbers = [each for each in self.place.host_of if each != MASTER]
        one, other = self.chance.sample(numbers, 2)
        return self.place.host_of[one], self.place.host_of[other]

    def others(self, host: Host) -> list[Host]:
        """All hosts of the topology and of its state store, except one."""
        stores = [each.host for each in self.ensemble.servers]
        return [each for each in (*self.place.running_hosts, *stores) if each != host]

    def rest(self, secs: float) -> None:
        """Wait for the fault's duration."""
        _never.wait(secs)

    def note(self, text: str) -> None:
        """For the report, with the time as logs have it."""
        self.done.append(f"{time.strftime('%H:%M:%S')} {text}")


@contextmanager
def rules(*changed: Host) -> Iterator[None]:
    """Temporary rules on these hosts."""
    try:
        yield
    finally:
        for each in changed:
            each.heal()


def cut(one: Host, *others: Host, target: str = "DROP") -> None:
    """Nothing comes through in either direction."""
    for other in others:
        one.rule("-s", other.address, "-j", target)
        other.rule("-s", one.address, "-j", target)


def refuse(one: Host, other: Host) -> None:
    """Whatever TCP sends is answered by a reset."""
    for receiver, sender in ((one, other), (other, one)):
        words = ("-p", "tcp", "-s", sender.address, "-j", "REJECT", "--reject-with", "tcp-reset")
        receiver.rule(*words)


def isolated(trouble: Trouble, host: Host, secs: float) -> None:
    """A host without network."""
    others = trouble.others(host)
    trouble.note(f"{host.name} is cut off for {secs:.1f} s")
    with rules(host, *others):
        cut(host, *others)
        trouble.rest(secs)


# --- one function for each ------------------------------------------------------------------------


def nothing(trouble: Trouble) -> None:
    """A quiet day."""
    trouble.rest(RESET_SECS)


def reset(trouble: Trouble) -> None:
    """A firewall resets the connection of two stream managers, five times."""
    one, other = trouble.pair()
    trouble.note(f"{one.name} and {other.name} are refused to each other {RESETS} times")
    for _ in range(RESETS):
        with rules(one, other):
            refuse(one, other)
            trouble.rest(RESET_SECS)
        trouble.rest(trouble.chance.uniform(0.2, 1.0))


def reset_sockets(trouble: Trouble) -> None:
    """By the kernel, in the middle of messages."""
    one, other = trouble.pair()
    trouble.note(f"connections of {one.name} and {other.name} are reset {RESETS} times")
    for _ in range(RESETS):
        one.reset_connections([other])
        trouble.rest(trouble.chance.uniform(0.2, 1.0))


def reset_host(trouble: Trouble) -> None:
    """All connections of one host, those with ZooKeeper too."""
    host = trouble.host()
    trouble.note(f"all connections of {host.name} are reset {RESETS} times")
    for _ in range(RESETS):
        host.reset_connections(trouble.others(host))
        trouble.rest(trouble.chance.uniform(0.2, 1.0))


def drop(trouble: Trouble) -> None:
    """Packets between two hosts are dropped for some seconds."""
    one, other = trouble.pair()
    trouble.note(f"{one.name} and {other.name} do not reach each other")
    with rules(one, other):
        cut(one, other)
        trouble.rest(SHORT_DROP_SECS)


def partition(trouble: Trouble) -> None:
    """A host is cut off from all further hosts for longer than the liveness timeout."""
    isolated(trouble, trouble.host(), trouble.chance.uniform(*PARTITION_SECS))


def peers_partition(trouble: Trouble) -> None:
    """Two stream managers are, and the master sees both."""
    one, other = trouble.pair()
    secs = trouble.chance.uniform(*PARTITION_SECS)
    trouble.note(f"{one.name} and {other.name} do not reach each other for {secs:.1f} s")
    with rules(one, other):
        cut(one, other)
        trouble.rest(secs)


def one_way(trouble: Trouble) -> None:
    """Packets arrive in one direction only."""
    one, other = trouble.pair()
    trouble.note(f"nothing comes from {other.name} to {one.name}")
    with rules(one):
        one.rule("-s", other.address, "-j", "DROP")
        trouble.rest(SHORT_DROP_SECS)


def asymmetric(trouble: Trouble) -> None:
    """First one direction fails, then the other, and each loses packets while it works."""
    one, other = trouble.pair()
    trouble.note(f"{one.name} and {other.name} by turns do not hear each other")
    lossy = ("-m", "statistic", "--mode", "random", "--probability", LOSS_SHARE, "-j", "DROP")
    for deaf, sender in ((one, other), (other, one)):
        with rules(one, other):
            deaf.rule("-s", sender.address, "-j", "DROP")
            sender.rule("-s", deaf.address, *lossy)
            trouble.rest(SHORT_DROP_SECS)


def loss(trouble: Trouble) -> None:
    """A host's cable loses packets, in both directions."""
    host = trouble.host()
    trouble.note(f"{host.name} loses packets")
    lossy = ("-m", "statistic", "--mode", "random", "--probability", LOSS_SHARE, "-j", "DROP")
    others = trouble.others(host)
    with rules(host, *others):
        host.rule(*lossy)
        for each in others:
            each.rule("-s", host.address, *lossy)
        trouble.rest(TROUBLE_SECS)


def delayed(trouble: Trouble, secs: float) -> None:
    """A host at the other end of a long cable."""
    host = trouble.host()
    trouble.note(f"packets from and to {host.name} take {secs:g} s")
    with Delay(host, trouble.lab.network.switch, secs, trouble.chance):
        trouble.rest(DELAYED_SECS)


def delay(trouble: Trouble) -> None:
    """As far away as another continent."""
    delayed(trouble, 0.2)


def delay_long(trouble: Trouble) -> None:
    """As late as a queue in front of a line that is too narrow."""
    delayed(trouble, 1.0)


def flap(trouble: Trouble) -> None:
    """A cable that works in every second second."""
    host = trouble.host()
    trouble.note(f"{host.name} is cut off every other second")
    for _ in range(int(TROUBLE_SECS / 2)):
        isolated(trouble, host, 1.0)
        trouble.rest(1.0)


def frozen(trouble: Trouble) -> None:
    """A virtual machine is moved, or its disk hangs."""
    freeze(trouble, trouble.host())


def freeze(trouble: Trouble, host: Host) -> None:
    """For some seconds."""
    secs = trouble.chance.uniform(*FROZEN_SECS)
    trouble.note(f"{host.name} is frozen for {secs:.1f} s")
    host.freeze()
    try:
        trouble.rest(secs)
    finally:
        host.thaw()


def frozen_killed(trouble: Trouble) -> None:
    """A frozen host, and the stream manager dies as its host wakes up."""
    host = trouble.host()
    freeze(trouble, host)
    trouble.note(f"{kill_one(host, 'heron: stream manager')} is killed there")


def killed(trouble: Trouble) -> None:
    """All processes of a host die, and are started again there."""
    host = trouble.host()
    trouble.note(f"all processes of {host.name} are killed")
    host.kill()


def host_lost(trouble: Trouble) -> None:
    """A host loses power: without a notice, and a spare host takes over."""
    lose(trouble, trouble.container())


def lose(trouble: Trouble, number: int) -> None:
    """The host of a container."""
    host = trouble.place.host_of[number]
    others = trouble.others(host)
    with rules(host, *others):
        cut(host, *others)
        old = trouble.place.replace(number)
        old.kill()
    trouble.note(f"{old.name} is gone, {trouble.place.host_of[number].name} replaces it")


def host_replaced(trouble: Trouble) -> None:
    """A host hangs, is replaced, wakes up beside its successor, and is put to order."""
    number = trouble.container()
    old = trouble.place.host_of[number]
    old.freeze()
    try:
        trouble.place.replace(number)
        trouble.note(f"{old.name} hangs, {trouble.place.host_of[number].name} replaces it")
        trouble.rest(REPLACED_SECS)
    finally:
        old.thaw()
    # A returning Mesos agent ends superseded tasks; here the test does.
    awake = time.monotonic()
    secs = SUPERSEDED_SECS * trouble.patience
    until(lambda: not old.pids(), f"the container on {old.name} ends by itself", secs)
    trouble.note(f"{old.name} woke up, and had ended {time.monotonic() - awake:.1f} s later")


def master_cut(trouble: Trouble) -> None:
    """The topology master does not reach ZooKeeper, and the stream managers do."""
    stores = [each.host for each in trouble.ensemble.servers]
    trouble.note(f"{trouble.master.name} does not reach ZooKeeper")
    with rules(trouble.master, *stores):
        cut(trouble.master, *stores)
        trouble.rest(TROUBLE_SECS)


def master_frozen(trouble: Trouble) -> None:
    freeze(trouble, trouble.master)


def master_lost(trouble: Trouble) -> None:
    """The topology master's host loses power."""
    lose(trouble, MASTER)


def master_replaced(trouble: Trouble) -> None:
    """The topology master's host hangs until a new master exists, and wakes up: one of the two is
    the master, and the other is a standby."""
    old = trouble.master
    old.freeze()
    try:
        trouble.place.replace(MASTER)
        trouble.note(f"{old.name} hangs, {trouble.master.name} replaces it")
        trouble.rest(SESSION_SECS + REPLACED_SECS)
    finally:
        old.thaw()
    trouble.rest(SHORT_DROP_SECS)
    trouble.note(f"{old.name} woke up, and is killed")
    old.kill()


def master_reset(trouble: Trouble) -> None:
    """The connections of stream managers with the master are reset every two seconds."""
    trouble.note(f"connections with {trouble.master.name} are reset")
    end = time.monotonic() + 2 * TROUBLE_SECS
    peers = [each for each in trouble.place.running_hosts if each != trouble.master]
    while time.monotonic() < end:
        trouble.master.reset_connections(peers)
        trouble.rest(MASTER_RESET_SECS)


def zookeeper_leader(trouble: Trouble) -> None:
    """The leader of the ensemble is cut off."""
    leader = trouble.ensemble.leader()
    isolated(trouble, leader.host, TROUBLE_SECS)
    trouble.ensemble.wait()


def zookeeper_quorum(trouble: Trouble) -> None:
    """Two of three servers die, and come back later."""
    dying = trouble.chance.sample(trouble.ensemble.servers, 2)
    trouble.note(f"{' and '.join(each.host.name for each in dying)} are killed")
    for each in dying:
        each.signal(signal.SIGKILL)
    try:
        trouble.rest(QUORUM_SECS)
    finally:
        for each in dying:
            each.start()
        trouble.ensemble.wait()


def zookeeper_frozen(trouble: Trouble) -> None:
    """All servers hang, and keep their connections."""
    trouble.note("ZooKeeper hangs")
    for each in trouble.ensemble.servers:
        each.signal(signal.SIGSTOP)
    try:
        trouble.rest(TROUBLE_SECS)
    finally:
        for each in trouble.ensemble.servers:
            each.signal(signal.SIGCONT)
        trouble.ensemble.wait()


def zookeeper_emptied(trouble: Trouble) -> None:
    """All servers lose their disks."""
    trouble.note("ZooKeeper loses all that it had")
    for each in trouble.ensemble.servers:
        each.signal(signal.SIGKILL)
        each.forget()
    trouble.ensemble.start()


def store_away(trouble: Trouble) -> None:
    """The folder of checkpoints is missing while a host has to restore its state."""
    folder, host = trouble.place.checkpoints, trouble.host()
    away = folder.with_name("away")
    trouble.note(f"checkpoints are away, and {host.name} is killed")
    folder.rename(away)
    folder.touch()  # else whoever writes would make another one
    try:
        host.kill()
        trouble.rest(SHORT_DROP_SECS)
    finally:
        folder.unlink()
        away.rename(folder)


def killed_in_partition(trouble: Trouble) -> None:
    """A process dies on a host that is cut off."""
    host = trouble.host()
    others = trouble.others(host)
    title = trouble.chance.choice(("heron: stream manager", "heron: container", "heron: counts",
                                   "heron: count"))  # fmt: skip
    with rules(host, *others):
        cut(host, *others)
        trouble.rest(SHORT_DROP_SECS / 2)
        trouble.note(f"{host.name} is cut off, and {kill_one(host, title)} is killed there")
        trouble.rest(SHORT_DROP_SECS)


def kill_one(host: Host, title: str) -> str:
    """Kill -9 of a process whose title begins so; its title."""
    for pid in host.pids():
        with suppress(psutil.Error):
            process = psutil.Process(pid)
            words = " ".join(process.cmdline()).strip()
            if words.startswith(title):
                process.kill()
                return words
    return "nobody"


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault by name."""

    happen: Callable[[Trouble], None]
    secs: float
    flow_secs_max: float = FLOW_SECS_MAX

    @property
    def longest_secs(self) -> float:
        """Until data flows again."""
        return self.secs + self.flow_secs_max


FAULTS: dict[str, Fault] = {
    QUIET: Fault(nothing, RESET_SECS),
    "reset": Fault(reset, 2 * RESETS),
    "reset-sockets": Fault(reset_sockets, 2 * RESETS),
    "reset-host": Fault(reset_host, 2 * RESETS),
    "drop": Fault(drop, SHORT_DROP_SECS),
    "partition": Fault(partition, PARTITION_SECS[1]),
    "peers-partition": Fault(peers_partition, PARTITION_SECS[1]),
    "one-way": Fault(one_way, SHORT_DROP_SECS),
    "asymmetric": Fault(asymmetric, 2 * SHORT_DROP_SECS),
    "loss": Fault(loss, TROUBLE_SECS),
    "flap": Fault(flap, TROUBLE_SECS),
    "delay": Fault(delay, DELAYED_SECS),
    "delay-long": Fault(delay_long, DELAYED_SECS),
    "frozen": Fault(frozen, FROZEN_SECS[1]),
    "frozen-killed": Fault(frozen_killed, FROZEN_SECS[1], REPLACED_FLOW_SECS_MAX),
    "killed": Fault(killed, 0.0, REPLACED_FLOW_SECS_MAX),
    "host-lost": Fault(host_lost, 1.0, REPLACED_FLOW_SECS_MAX),
    "host-replaced": Fault(host_replaced, REPLACED_SECS + SUPERSEDED_SECS, REPLACED_FLOW_SECS_MAX),
    "master-cut": Fault(master_cut, TROUBLE_SECS),
    "master-reset": Fault(master_reset, 2 * TROUBLE_SECS),
    "master-frozen": Fault(master_frozen, FROZEN_SECS[1]),
    "master-lost": Fault(master_lost, 1.0, REPLACED_FLOW_SECS_MAX),
    "master-replaced": Fault(
        master_replaced, SESSION_SECS + REPLACED_SECS + SHORT_DROP_SECS, REPLACED_FLOW_SECS_MAX
    ),
    "zookeeper-leader": Fault(zookeeper_leader, TROUBLE_SECS + 5.0),
    "zookeeper-quorum": Fault(zookeeper_quorum, QUORUM_SECS + 5.0),
    "zookeeper-frozen": Fault(zookeeper_frozen, TROUBLE_SECS + 5.0),
    "zookeeper-emptied": Fault(zookeeper_emptied, 10.0),
    "store-away": Fault(store_away, SHORT_DROP_SECS, REPLACED_FLOW_SECS_MAX),
    "killed-in-partition": Fault(killed_in_partition, 2 * SHORT_DROP_SECS, REPLACED_FLOW_SECS_MAX),
}
