"""Signatures of savepoints and checkpoints, by a key of the user.

Opening a pickled value executes code of its author's choice. So a savepoint is signed by an HMAC.
The key derives from the topology's key (below), because the signing process may be on a machine
without the user's key. A savepoint with pickled values and without a valid signature is refused,
unless the user trusts its author (`--trust-savepoint`). Plain values need no signature: reading
plain values does not execute code.

The processes of a topology sign each state of its checkpoints (heron_io.checkpoint_store.signer).
Their key derives from the user's key and the topology's name, and is in the state store beside
other secrets of the topology; the user's key is not.
"""

import hmac
import json
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from msgspec import Struct, field

from heron_core.errors import HeronError, UsageError
from heron_core.state.description import opens_pickles
from heron_io.checkpoint_store.signer import Signer, digest_of_state
from heron_io.checkpoint_store.state_folder import StateFolder, wrong

SIGNATURE = "signature"
KEY_FILE = "state.key"
KEY_BYTES = 32
"""The size of the hash: a longer key does not make an HMAC stronger."""
OPTION = "--trust-savepoint"


def key_of(home: str) -> bytes:
    """The key of the folder's user, created at its first use."""
    path = os.path.join(home, KEY_FILE)
    try:
        with suppress(FileNotFoundError), open(path, "rb") as file:
            return file.read()
        os.makedirs(home, mode=0o700, exist_ok=True)
        beside = f"{path}.{os.getpid()}"
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(secrets.token_bytes(KEY_BYTES))
        try:
            os.link(beside, path)  # a whole key, and never in place of an existing key
        except FileExistsError:
            pass
        finally:
            os.unlink(beside)
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise HeronError(f"the key of savepoints cannot be read from {path}: {error}") from error


def states_key(key: bytes, topology: str) -> bytes:
    """Key for signatures of the states of a user's topology; `key`: the user's key."""
    return hmac.digest(key, f"states of {topology}".encode(), "sha256")


def savepoint_key(states: bytes) -> bytes:
    """Key for signatures of a topology's savepoints, from the key `states` for its states; empty
    for an empty key."""
    return hmac.digest(states, b"savepoints", "sha256") if states else b""


def _signature(key: bytes, description: Any, digests: Mapping[int, str]) -> str:
    states = {str(task): each for task, each in digests.items()}
    signed = json.dumps([description, states], sort_keys=True).encode()
    return hmac.digest(key, signed, "sha256").hex()


def sign(folder: StateFolder, key: bytes, description: Any, digests: Mapping[int, str]) -> None:
    """Write the signature of a savepoint; `digests`: task -> digest of the state."""
    path = f"{folder.path}/{SIGNATURE}"
    try:
        folder.access.write(path, (_signature(key, description, digests).encode(),))
    except Exception as error:
        raise wrong(f"{path} cannot be written", error) from error


class Trust(Struct):
    """Check of a savepoint before a topology begins with its states."""

    key: bytes = b""
    trusts_all: bool = False
    """Whether the user trusts any author."""
    digests: dict[int, str] = field(default_factory=dict)
    """Task -> digest of the checked state."""
    _pickled: list[int] = field(default_factory=list)
    """Tasks of states with pickles and without a signature of the state."""

    def signer(self, topology: str, checkpoint: int) -> Signer:
        """Signer of the states of the user's checkpoint."""
        return Signer(states_key(self.key, topology), f"{topology}/{checkpoint}")

    def add(self, task: int, state: bytes, is_signed: bool = False) -> None:
        """Add a state of a savepoint or a checkpoint. `is_signed`: by the user's topology."""
        self.digests[task] = digest_of_state(state)
        if not (is_signed and self.key) and opens_pickles(state):
            self._pickled.append(task)

    def check(self, folder: StateFolder, description: Any, names: Mapping[int, str]) -> None:
        """After all states: UsageError if the savepoint may execute a stranger's code. `names`:
        task -> component."""
        if self.trusts_all or not self._pickled or self.is_signed(folder, description):
            return
        components = ", ".join(sorted({names[task] for task in self._pickled}))
        raise UsageError(
            f"{folder.path} is not signed by your key ({KEY_FILE}), and loading the state of "
            f"{components} may execute code of its author: use {OPTION} if you know the author"
        )

    def is_signed(self, folder: StateFolder, description: Any) -> bool:
        """Whether the checked states and the description have the signature of a savepoint of the
        user."""
        path = f"{folder.path}/{SIGNATURE}"
        try:
            signature = folder.access.read(path)
        except FileNotFoundError:
            return False
        except Exception as error:
            raise wrong(f"{path} cannot be read", error) from error
        signatures = (_signature(key, description, self.digests) for key in self._keys(description))
        return any(hmac.compare_digest(signature, each.encode()) for each in signatures)

    def _keys(self, description: Mapping[str, Any]) -> tuple[bytes, ...]:
        """Keys of the user's savepoints: of the topology, or in earlier versions the user's key."""
        if not self.key:
            return ()
        topology = str(description.get("topology", ""))
        return savepoint_key(states_key(self.key, topology)), self.key

    def check_again(self, task: int, state: bytes, path: str) -> bytes:
        """The state, read once more; refused unless equal to the checked state."""
        if task in self.digests and digest_of_state(state) != self.digests[task]:
            raise HeronError(f"{path}/{task} changed while it was read: try again")
        return state
