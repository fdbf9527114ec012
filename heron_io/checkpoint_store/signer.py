"""Signature of a state: an HMAC-SHA256 over its bytes, the names of its files and its location.

A state may contain pickled values, and unpickling runs code of the writer's choice. So each
state of a topology is signed with a key known only to its user and its processes, and is
verified before any value is opened. Files are named after their content (file_snapshot.py), so
their names are sufficient: a large state is not read twice.
"""

import hashlib
import hmac
import json

from msgspec import Struct

from heron_core.state.file_snapshot import FileSnapshot

SIGNATURE_BYTES = 32
"""Of SHA-256."""


def digest_of_state(state: bytes) -> str:
    """Signed part of a state; files are represented by their names, digests of their content."""
    files = sorted(state.files.items()) if isinstance(state, FileSnapshot) else []
    listed = json.dumps(files).encode()
    return hashlib.sha256(hashlib.sha256(state).digest() + listed).hexdigest()


class Signer(Struct, frozen=True):
    """Signs the states of one checkpoint."""

    key: bytes
    location: str
    """Location of the checkpoint in its store, TOPOLOGY/NUMBER: an older state, or the state of
    another task, is rejected."""

    def signature(self, task: int, state: bytes) -> bytes:
        """What goes with the state of a task; SIGNATURE_BYTES of them."""
        signed = json.dumps([self.location, task, digest_of_state(state)]).encode()
        return hmac.digest(self.key, signed, "sha256")

    def has_signed(self, task: int, state: bytes, signature: bytes) -> bool:
        """Whether the state belongs to the task and was written with the key."""
        return hmac.compare_digest(self.signature(task, state), signature)
