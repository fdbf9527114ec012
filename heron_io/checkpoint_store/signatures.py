"""Who made a savepoint or a checkpoint: it is signed by a key of the user's own.

A value that only pickle can carry runs code of its maker's choice when it is opened. So a savepoint
is signed when it is taken, by an HMAC with a key that is made of its topology's (below): the
process that takes it may be on another machine, which has not the user's own. One without a valid
signature begins nothing if it has such values, unless the user says that its maker is trusted.
Plain values need no signature: nothing of them is ever executed.

The processes of a topology sign each state of its checkpoints (heron_io.checkpoint_store.signer),
with a key that is made of the user's and of the topology's name: it is in the state store beside
the topology's other secrets, and the user's own key is not.
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
"""As many as the hash has: a longer key makes an HMAC no stronger."""
OPTION = "--trust-savepoint"


def key_of(home: str) -> bytes:
    """The key of the user whose folder this is, which is made when it is needed first."""
    path = os.path.join(home, KEY_FILE)
    try:
        with suppress(FileNotFoundError), open(path, "rb") as file:
            return file.read()
        os.makedirs(home, mode=0o700, exist_ok=True)
        beside = f"{path}.{os.getpid()}"
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(secrets.token_bytes(KEY_BYTES))
        try:
            os.link(beside, path)  # whole, and never in the place of one that is there
        except FileExistsError:
            pass
        finally:
            os.unlink(beside)
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise HeronError(f"the key of savepoints cannot be had from {path}: {error}") from error


def states_key(key: bytes, topology: str) -> bytes:
    """What signs the states of a user's topology; `key`: the user's own."""
    return hmac.digest(key, f"states of {topology}".encode(), "sha256")


def savepoint_key(states: bytes) -> bytes:
    """What signs the savepoints of a topology; `states`: what signs its states. Empty for none."""
    return hmac.digest(states, b"savepoints", "sha256") if states else b""


def _signature(key: bytes, description: Any, digests: Mapping[int, str]) -> str:
    states = {str(task): each for task, each in digests.items()}
    signed = json.dumps([description, states], sort_keys=True).encode()
    return hmac.digest(key, signed, "sha256").hex()


def sign(folder: StateFolder, key: bytes, description: Any, digests: Mapping[int, str]) -> None:
    """Write the signature of a savepoint whose states have these digests."""
    path = f"{folder.path}/{SIGNATURE}"
    try:
        folder.access.write(path, (_signature(key, description, digests).encode(),))
    except Exception as error:
        raise wrong(f"{path} cannot be written", error) from error


class Trust(Struct):
    """Whose savepoints a user begins with."""

    key: bytes = b""
    trusts_all: bool = False
    """The user says that the maker is trusted."""
    digests: dict[int, str] = field(default_factory=dict)
    """task -> digest of the state that was looked at."""
    _pickled: list[int] = field(default_factory=list)
    """Tasks of states that may run code and have no signature of their own."""

    def signer(self, topology: str, checkpoint: int) -> Signer:
        """Of the states of a checkpoint of the user's own."""
        return Signer(states_key(self.key, topology), f"{topology}/{checkpoint}")

    def add(self, task: int, state: bytes, is_signed: bool = False) -> None:
        """One state of a savepoint or a checkpoint. `is_signed`: by the user's own topology."""
        self.digests[task] = digest_of_state(state)
        if not (is_signed and self.key) and opens_pickles(state):
            self._pickled.append(task)

    def check(self, folder: StateFolder, description: Any, names: Mapping[int, str]) -> None:
        """After all states: UsageError if the savepoint may run a stranger's code. `names`: task ->
        component."""
        if self.trusts_all or not self._pickled or self.is_signed(folder, description):
            return
        components = ", ".join(sorted({names[task] for task in self._pickled}))
        raise UsageError(
            f"{folder.path} is not signed by your key ({KEY_FILE}), and loading the state of "
            f"{components} may execute code of its author: use {OPTION} if you know the author"
        )

    def is_signed(self, folder: StateFolder, description: Any) -> bool:
        """Whether the states that were looked at, and the description, have the signature of a
        savepoint of the user's own."""
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
        """With one of which a savepoint of the user's is signed: that of its topology, or as
        earlier versions did it the user's own."""
        if not self.key:
            return ()
        topology = str(description.get("topology", ""))
        return savepoint_key(states_key(self.key, topology)), self.key

    def check_again(self, task: int, state: bytes, path: str) -> bytes:
        """A state that is read once more is the one that was looked at."""
        if task in self.digests and digest_of_state(state) != self.digests[task]:
            raise HeronError(f"{path}/{task} changed while it was read: try again")
        return state
