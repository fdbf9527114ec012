"""The stream manager of each container, and candidates for its place.

A container has one stream manager, identified by its process, not its connection: a repeated
registration is answered fully, without any change. A second process that registers for the
container is a candidate: the registered stream manager is probed, with a short timeout. After an
answer the candidate is rejected; without an answer the candidate takes over.
"""

from collections.abc import Set

from msgspec import Struct

from heron_core.records import replace
from heron_core.wire import messages
from heron_engine.topology_master import events

Out = list[events.Instruction]


class RegisteredStreamManager(Struct, frozen=True):
    """A stream manager with its address."""

    sender: bytes
    """Identity of the process, independent of its connection (manager_links.py)."""
    registration: messages.RegisterStreamManager
    since: float
    """Time of the registration, in seconds of the master's clock."""

    @property
    def rejection(self) -> messages.RegistrationRejected:
        """Answer to a rejected candidate."""
        who = self.registration
        return messages.RegistrationRejected(
            f"container {who.container} is served by pid {who.pid} on {who.host}"
        )


class Membership:
    """The registered stream managers and the candidates, by container."""

    def __init__(self, takeover_secs: float) -> None:
        self._takeover_secs = takeover_secs
        self.registered: dict[int, RegisteredStreamManager] = {}
        self._heard_at: dict[int, float] = {}
        """container -> last heartbeat of its registered stream manager"""
        self._candidates: dict[int, RegisteredStreamManager] = {}

    def offer(self, newcomer: RegisteredStreamManager, out: Out) -> bool:
        """Register a stream manager; returns whether the container is served by it now."""
        container = newcomer.registration.container
        holder = self.registered.get(container)
        if holder is None:
            self._accept(newcomer, out)
            return True
        if holder.sender == newcomer.sender:
            self._accept(replace(newcomer, since=holder.since), out)
            self._heard_at[container] = newcomer.since
            return True
        # Dead, or a duplicate? Probe the registered stream manager.
        self._candidates[container] = newcomer
        self.send(container, messages.Ping(), out)
        return False

    def _accept(self, newcomer: RegisteredStreamManager, out: Out) -> None:
        who = newcomer.registration
        self.registered[who.container] = newcomer
        self._heard_at[who.container] = newcomer.since
        out.append(
            events.MasterLog(f"stream manager {who.container} registered from {who.address}")
        )

    @property
    def has_candidates(self) -> bool:
        """Whether a stream manager has so long to answer, and no longer."""
        return bool(self._candidates)

    def take_over(self, now: float, out: Out) -> RegisteredStreamManager | None:
        """A candidate that takes over from a stream manager without an answer; None without a
        candidate."""
        for container, candidate in self._candidates.items():
            if now - candidate.since >= self._takeover_secs:
                del self._candidates[container]
                self._accept(
                    RegisteredStreamManager(candidate.sender, candidate.registration, now), out
                )
                return candidate
        return None

    def pong(self, sender: bytes, container: int, out: Out) -> None:
        """The registered stream manager answers: its rival candidate is rejected."""
        holder = self.registered.get(container)
        candidate = self._candidates.get(container)
        if holder is not None and candidate is not None and holder.sender == sender:
            del self._candidates[container]
            out.append(events.Send(candidate.sender, holder.rejection))

    def silent(self, silent_secs: float, now: float) -> set[int]:
        """The containers whose registered stream managers were not heard of for so long."""
        return {each for each in self.registered if now - self._heard_at[each] > silent_secs}

    def heartbeat(self, sender: bytes, container: int, now: float, out: Out) -> bool:
        """Acknowledge a heartbeat of a container's registered stream manager; False for any
        other process, which is rejected unless a candidate."""
        holder = self.registered[container]
        if holder.sender == sender:
            self._heard_at[container] = now
            out.append(events.Send(sender, messages.HeartbeatAck()))
            return True
        candidate = self._candidates.get(container)
        if candidate is None or candidate.sender != sender:
            # The process was suspended, and has been replaced since.
            out.append(events.Send(sender, holder.rejection))
        return False

    def dismiss(self, containers: Set[int]) -> None:
        """Forget the stream managers of containers that are removed."""
        for container in containers:
            self.registered.pop(container, None)
            self._heard_at.pop(container, None)
            self._candidates.pop(container, None)

    def addresses(self, containers: Set[int]) -> dict[int, str]:
        """container -> address of its stream manager for peers; all are registered."""
        return {each: self.registered[each].registration.address for each in sorted(containers)}

    @property
    def hosts(self) -> dict[int, str]:
        """container -> host of its registered stream manager"""
        return {container: each.registration.host for container, each in self.registered.items()}

    def send(self, container: int, message: messages.ToStreamManager, out: Out) -> None:
        """Send a message to a registered stream manager."""
        out.append(events.Send(self.registered[container].sender, message))

    def send_all(self, containers: Set[int], message: messages.ToStreamManager, out: Out) -> None:
        """Send a message to those of the containers whose stream managers are registered."""
        for container in sorted(self.registered.keys() & containers):
            self.send(container, message, out)

    def validate(self, expected: Set[int]) -> None:
        """AssertionError if something holds that never may; `expected`: containers of all plans."""
        assert self.registered.keys() <= expected, "a stream manager of no container"
        assert self._heard_at.keys() == self.registered.keys(), (
            "notified of an unregistered process"
        )
        assert self._candidates.keys() <= self.registered.keys(), "a candidate for a free container"
        for container, holder in self.registered.items():
            assert holder.registration.container == container, "registered for another container"
