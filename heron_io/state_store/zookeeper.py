"""State store in ZooKeeper: kazoo behind a typed wrapper with bounded waits.

kazoo's own calls wait for ever while no server answers. Here every call waits for at most
OPERATION_TIMEOUT_MS and then raises StateStoreError, so that a process can continue to decide. The
server may still carry out a call after its timeout. A store must not be used in a forked child.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import Any, Self

from kazoo.client import KazooClient
from kazoo.exceptions import (
    AuthFailedError,
    BadVersionError,
    ConnectionLoss,
    KazooException,
    NoAuthError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    OperationTimeoutError,
    SessionExpiredError,
)
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.protocol.states import KazooState, KeeperState, WatchedEvent, ZnodeStat
from kazoo.recipe.watchers import DataWatch
from kazoo.retry import KazooRetry

from heron_core.errors import StateStoreError
from heron_core.state_tree import check_path
from heron_io.state_store.protocol import (
    CONNECTED,
    LOST,
    SUSPENDED,
    SessionListener,
    Watcher,
    decode_value,
    encode_value,
    fenced,
    name_in_use,
)
from heron_io.state_store.zookeeper_access import CREDENTIALS_VARIABLE, SASL_VARIABLE, Access

# A dead holder's ephemeral node lives this long, and a lost host's master has a successor after it:
# Heron's 30 s delay every take-over. A server rounds the end of a session up to its tick (2 s), and
# grants no session below two ticks. A master that is paused for longer (SIGSTOP, a busy machine)
# loses its session: without a standby it creates its node again, which costs a write; a standby
# takes over, and the paused master finds its fence gone and ends. Data flows in both cases.
SESSION_TIMEOUT_MS = 5_000
CONNECT_TIMEOUT_MS = 5_000  # a user waits for the connection; a server answers in 100 ms
OPERATION_TIMEOUT_MS = 10_000  # longer than a session: after it the session is in doubt anyway
RECONNECT_DELAY_MAX_SECS = 1.0  # kazoo's own limit of an hour would outlast every outage
RETRY_DELAY_SECS = 0.05
# Another client's create, put or delete of the same node can undo a step of ours; this many
# conflicts in a row mean that the node is overloaded.
ATTEMPTS_MAX = 50
# ZooKeeper's jute.maxbuffer is 1,048,575 bytes for the whole packet; path and header need a few.
NODE_BYTES_MAX = 1_000_000
CLOSE_WAIT_SECS = 0.5
# A server refuses a client that has seen a newer state. A server that lags behind the others has
# caught up after this time; servers that lost their data would refuse the client for ever.
CATCH_UP_SECS = 2.0
ANY_VERSION = -1

_STATES = {
    KazooState.CONNECTED: CONNECTED,
    KazooState.SUSPENDED: SUSPENDED,
    KazooState.LOST: LOST,
}
_UNANSWERED = (ConnectionLoss, OperationTimeoutError, SessionExpiredError)

ANYBODY = Access()
"""Access without credentials, in clear text."""

_log = logging.getLogger(__name__)


class ZooKeeperStore:
    """StateStore below `root` (made when missing) of the ZooKeeper at `hosts`, "host:port,...".

    StateStoreError if no server answers within `connect_timeout_ms`.
    """

    def __init__(
        self,
        hosts: str,
        root: str,
        *,
        access: Access = ANYBODY,
        session_timeout_ms: int = SESSION_TIMEOUT_MS,
        connect_timeout_ms: int = CONNECT_TIMEOUT_MS,
        operation_timeout_ms: int = OPERATION_TIMEOUT_MS,
    ) -> None:
        _quieten_kazoo()
        self._hosts = hosts
        self._root = check_path(root)
        self._operation_timeout_secs = operation_timeout_ms / 1000
        self._closed = threading.Event()
        self._mutex = threading.Lock()
        self._listeners: list[SessionListener] = []
        self._interruptions = 0
        self._is_refused = False
        """Whether a server has refused our user: kazoo connects no more, and forgets why."""
        self._outage: threading.Timer | None = None
        self._client = KazooClient(
            hosts=hosts,
            timeout=session_timeout_ms / 1000,
            **access.client_options(),
            connection_retry=KazooRetry(
                max_tries=-1, delay=RETRY_DELAY_SECS, max_delay=RECONNECT_DELAY_MAX_SECS
            ),
        )
        self._client.add_listener(self._on_state)
        self._connect(connect_timeout_ms / 1000)

    def get(self, path: str) -> Any | None:
        """See StateStore."""
        found = self._read(path)
        return None if found is None else self._decode(path, found[0])

    def create(self, path: str, value: Any, *, ephemeral: bool = False) -> None:
        """See StateStore."""
        data = self._encode(path, value)
        interruptions = self._interruptions
        for _ in range(ATTEMPTS_MAX):
            try:
                self._create(path, data, ephemeral)
                return
            except NoNodeError:  # another client's delete removed the new folder
                continue
            except NodeExistsError:
                interrupted = self._interruptions != interruptions
                if self._settle_existing(path, data, ephemeral, interrupted):
                    return
        raise self._contended(path)

    def put(self, path: str, value: Any, *, guard: str = "") -> None:
        """See StateStore."""
        data = self._encode(path, value)
        for _ in range(ATTEMPTS_MAX):
            present = self._read(path)
            try:
                if guard:
                    self._put_guarded(path, data, present, guard)
                elif present is None:
                    self._create(path, data, False)
                else:
                    self._overwrite(path, data, *present)
                return
            except (NoNodeError, NodeExistsError):  # deleted or created since the read
                continue
        raise self._contended(path)

    def delete(self, path: str) -> bool:
        """See StateStore."""
        present = self._read(path)
        if present is None:
            return False
        try:
            self._delete(path)
        except NoNodeError:
            return False
        except NotEmptyError:
            if present[0]:
                self._set(path, b"")
            return bool(present[0])
        self._prune(path)
        return bool(present[0])

    def children(self, path: str) -> list[str]:
        """See StateStore."""
        if path != "/":
            check_path(path)
        full = self._root + path.rstrip("/")
        try:
            names = self._wait(path, lambda: self._client.get_children_async(full))
        except NoNodeError:
            return []
        return sorted(names)

    def watch(self, path: str, callback: Watcher) -> Callable[[], None]:
        """See StateStore; kazoo renews the server's watch after each event and reconnection."""
        self._read(path)  # raises where kazoo's recipe would wait for ever
        cancelled = threading.Event()

        def changed(data: bytes | None, stat: ZnodeStat | None, event: WatchedEvent | None) -> bool:
            if cancelled.is_set() or self._closed.is_set():
                return False  # kazoo ends the watch
            try:
                callback(self._decode(path, data or b""))
            except Exception:
                _log.exception("the watch callback of %s failed", path)
            return True

        DataWatch(self._client, self._full(path), changed)
        return cancelled.set

    def on_session(self, callback: SessionListener) -> None:
        """See StateStore; called from the thread of the connection."""
        self._check_open()
        with self._mutex:
            self._listeners.append(callback)
            callback(_STATES[self._client.state])

    def close(self) -> None:
        """See StateStore; ends the session, and with it the session's ephemeral nodes."""
        if self._closed.is_set():
            return
        self._closed.set()
        self._end_outage()
        self._stop_client()

    def __enter__(self) -> Self:
        """See StateStore."""
        return self

    def __exit__(self, *_: object) -> None:
        """See StateStore."""
        self.close()

    # The connection

    def _connect(self, timeout_secs: float) -> None:
        if not self._client.start_async().wait(timeout_secs):
            self._closed.set()
            # kazoo's attempt to reach a host that drops packets outlasts our timeout.
            stopper = threading.Thread(target=self._stop_client, daemon=True)
            stopper.start()
            stopper.join(CLOSE_WAIT_SECS)
            raise self._unanswered(timeout_secs)
        try:
            self._wait("/", lambda: self._client.ensure_path_async(self._root))
        except BaseException:
            self.close()
            raise

    def _stop_client(self) -> None:
        self._client.stop()
        self._client.close()

    def _on_state(self, state: str) -> None:
        if state != KazooState.CONNECTED:
            self._interruptions += 1
        if self._client.client_state == KeeperState.AUTH_FAILED:
            self._is_refused = True
        if self._closed.is_set():
            return
        self._end_outage()
        if state == KazooState.SUSPENDED:
            self._begin_outage()
        elif state == KazooState.LOST:
            self._forget_zxid()
        with self._mutex:
            for listener in self._listeners:
                try:
                    listener(_STATES[state])
                except Exception:
                    _log.exception("a session listener failed at %s", state)

    def _begin_outage(self) -> None:
        self._outage = threading.Timer(CATCH_UP_SECS, self._forget_zxid)
        self._outage.daemon = True
        self._outage.start()

    def _end_outage(self) -> None:
        if self._outage is not None:
            self._outage.cancel()

    def _forget_zxid(self) -> None:
        """Let servers with an older state accept this client; kazoo keeps the newest zxid for ever.
        Servers that know the session continue the session; servers that lost their data report the
        session as lost, as to a new client."""
        self._client.last_zxid = 0

    def _wait(self, path: str, begin: Callable[[], Any]) -> Any:
        """The answer to `begin()`, which is retried after a lost connection until the timeout."""
        deadline = time.monotonic() + self._operation_timeout_secs
        while True:
            self._check_open()
            try:
                return begin().get(timeout=max(0.0, deadline - time.monotonic()))
            except KazooTimeoutError:
                raise self._unanswered(self._operation_timeout_secs) from None
            except _UNANSWERED:
                self._interruptions += 1
                if self._is_refused or time.monotonic() > deadline:
                    raise self._unanswered(self._operation_timeout_secs) from None
                self._closed.wait(RETRY_DELAY_SECS)
            except (NoNodeError, NodeExistsError, NotEmptyError):
                raise
            except AuthFailedError as error:
                raise self._refused() from error
            except NoAuthError as error:
                raise StateStoreError(
                    f"ZooKeeper at {self._hosts}: no permission for {path}: set "
                    f"{CREDENTIALS_VARIABLE} or {SASL_VARIABLE} to a permitted USER:PASSWORD"
                ) from error
            except KazooException as error:
                self._check_open()
                reason = str(error) or type(error).__name__
                raise StateStoreError(f"ZooKeeper at {self._hosts}: {path}: {reason}") from error

    # Nodes

    def _read(self, path: str) -> tuple[bytes, ZnodeStat] | None:
        full = self._full(path)
        try:
            data, stat = self._wait(path, lambda: self._client.get_async(full))
        except NoNodeError:
            return None
        return data or b"", stat

    def _create(self, path: str, data: bytes, ephemeral: bool) -> None:
        full = self._full(path)
        self._wait(
            path,
            lambda: self._client.create_async(full, data, ephemeral=ephemeral, makepath=True),
        )

    def _set(self, path: str, data: bytes) -> None:
        full = self._full(path)
        self._wait(path, lambda: self._client.set_async(full, data))

    def _delete(self, path: str, version: int = -1) -> None:
        full = self._full(path)
        self._wait(path, lambda: self._client.delete_async(full, version))

    def _settle_existing(self, path: str, data: bytes, ephemeral: bool, interrupted: bool) -> bool:
        """Settle a create that found an existing node: True if done, False to retry."""
        present = self._read(path)
        if present is None:
            return False
        stored, stat = present
        if interrupted and stored == data and self._is_mine(stat, ephemeral):
            return True  # our request had arrived before the connection broke
        if stored:
            raise name_in_use(path, self._decode(path, stored))
        if not ephemeral:
            self._set(path, data)  # a folder that gets a value
            return True
        try:
            self._delete(path)
        except NotEmptyError:
            raise StateStoreError(f"{path} has nodes below it, so it cannot be ephemeral") from None
        except NoNodeError:
            pass
        return False

    def _overwrite(self, path: str, data: bytes, stored: bytes, stat: ZnodeStat) -> None:
        if stat.ephemeralOwner and not self._is_mine(stat, True):
            raise name_in_use(path, self._decode(path, stored))
        self._set(path, data)

    def _put_guarded(
        self, path: str, data: bytes, present: tuple[bytes, ZnodeStat] | None, guard: str
    ) -> None:
        """One transaction: the guard exists, and the value is unchanged since the read. However
        late and often the server gets the transaction, another writer's value is kept."""
        if (
            present is not None
            and present[1].ephemeralOwner
            and not self._is_mine(present[1], True)
        ):
            raise name_in_use(path, self._decode(path, present[0]))
        folder = self._full(path).rpartition("/")[0]
        if present is None:
            self._wait(path, lambda: self._client.ensure_path_async(folder))

        def begin() -> Any:
            transaction = self._client.transaction()
            transaction.check(self._full(guard), ANY_VERSION)
            if present is None:
                transaction.create(self._full(path), data)
            else:
                transaction.set_data(self._full(path), data, present[1].version)
            return transaction.commit_async()

        guarded, *others = self._wait(path, begin)
        if isinstance(guarded, NoNodeError):
            raise fenced(path, guard)
        for other in others:
            if isinstance(other, KazooException):
                self._check_changed(path, other)

    def _check_changed(self, path: str, error: KazooException) -> None:
        """Raise the failure of a part of a transaction, as `_wait` would."""
        if isinstance(error, BadVersionError | NoNodeError | NodeExistsError):
            raise NoNodeError from error  # changed since the read: retry
        raise StateStoreError(f"ZooKeeper at {self._hosts}: {path}: {error!r}") from error

    def _is_mine(self, stat: ZnodeStat, ephemeral: bool) -> bool:
        session = self._client.client_id
        owner = session[0] if ephemeral and session is not None else 0
        return bool(stat.ephemeralOwner == owner)

    def _prune(self, path: str) -> None:
        """Remove the empty parent folders of `path`; two calls a level, and one in most cases."""
        folder = path.rpartition("/")[0]
        while folder:
            present = self._read(folder)
            if present is None or present[0] or present[1].children_count:
                return
            try:
                self._delete(folder, present[1].version)
            except (NoNodeError, NotEmptyError, StateStoreError):  # in use again, which is fine
                return
            folder = folder.rpartition("/")[0]

    # Names, values, errors

    def _full(self, path: str) -> str:
        return self._root + check_path(path)

    def _encode(self, path: str, value: Any) -> bytes:
        data = encode_value(check_path(path), value)
        if len(data) > NODE_BYTES_MAX:
            raise StateStoreError(
                f"{path} would take {len(data):,} bytes, but a ZooKeeper node holds at most "
                f"{NODE_BYTES_MAX:,}: make the value smaller"
            )
        return data

    def _decode(self, path: str, data: bytes) -> Any | None:
        return decode_value(f"{path} (in ZooKeeper at {self._hosts})", data) if data else None

    def _check_open(self) -> None:
        if self._closed.is_set():
            raise StateStoreError(
                f"the state store at zk://{self._hosts}{self._root} is closed: open it again"
            )

    def _unreachable(self, waited_secs: float) -> StateStoreError:
        return StateStoreError(
            f"no ZooKeeper answers at {self._hosts} after {waited_secs:g} s: start ZooKeeper or "
            "correct the address"
        )

    def _unanswered(self, timeout_secs: float) -> StateStoreError:
        """A call that kazoo takes at the moment at which the server refuses the user is never
        answered; a later call is told that the connection is closed."""
        return self._refused() if self._is_refused else self._unreachable(timeout_secs)

    def _refused(self) -> StateStoreError:
        return StateStoreError(
            f"ZooKeeper at {self._hosts} refuses the user and password: correct {SASL_VARIABLE}"
        )

    def _contended(self, path: str) -> StateStoreError:
        return StateStoreError(
            f"{path} was changed by other clients {ATTEMPTS_MAX} times: try again later"
        )


def _quieten_kazoo() -> None:
    """Silence kazoo's warning at each failed attempt to connect; an error reports it once."""
    logger = logging.getLogger("kazoo")
    if logger.level == logging.NOTSET:  # a level set by the user is kept
        logger.setLevel(logging.CRITICAL)
