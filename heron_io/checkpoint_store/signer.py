"""Who wrote a state: an HMAC-SHA256 over its bytes, the names of its files and its location.

A state may have values that only pickle can carry, and whoever opens those runs code of their
maker's choice. So each state of a topology is signed with a key that only its user and its
processes have, and is checked before anything of it is opened. Files are called after their
content (file_snapshot.py), so their names are enough: a large state is not read twice.
"""

import hashlib
import hmac
import json

from msgspec import Struct

from heron_core.state.file_snapshot import FileSnapshot

SIGNATURE_BYTES = 32
"""Of SHA-256."""


def digest_of_state(state: bytes) -> str:
    """Of a state; its files go by their names, which are digests of what they hold."""
    files = sorted(state.files.items()) if isinstance(state, FileSnapshot) else []
    listed = json.dumps(files).encode()
    return hashlib.sha256(hashlib.sha256(state).digest() + listed).hexdigest()


class Signer(Struct, frozen=True):
    """Signs the states of one checkpoint."""

    key: bytes
    location: str
    """Of the checkpoint in its store, TOPOLOGY/NUMBER: an older state, or that of another task,
    does not pass for this one."""

    def signature(self, task: int, state: bytes) -> bytes:
        """What goes with the state of a task; SIGNATURE_BYTES of them."""
        signed = json.dumps([self.location, task, digest_of_state(state)]).encode()
        return hmac.digest(self.key, signed, "sha256")

    def has_signed(self, task: int, state: bytes, signature: bytes) -> bool:
        """Whether the state is that of the task, as somebody with the key wrote it."""
        return hmac.compare_digest(self.signature(task, state), signature)
