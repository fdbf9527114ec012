"""Where a flow's topology finds its client, and the files of the flow below HERONPY_HOME/flows."""

import json
import os
import secrets
import shutil
from pathlib import Path
from typing import Any

from heron_api import interactive_run
from heron_connectors.bridge.link import ADDRESS, CERTIFICATE, TOKEN
from heron_core.errors import UsageError
from heron_core.topology import TopologySpec
from heron_io.private_files import make_private_folders, private
from heron_io.user_home import home_path

TOKEN_BYTES = 32
FILE, RECORD = "flow_topology.py", "client.json"


class FlowAddress:
    """Address and token of a flow's bridge."""

    def __init__(
        self, name: str, host: str, port: int, token: bytes, certificate: str | None
    ) -> None:
        """`certificate`: in PEM."""
        self.name, self.host, self.port, self.token = name, host, port, token
        self._certificate = certificate
        self._folder = Path(home_path(), "flows", name)

    @staticmethod
    def new(name: str, host: str, port: int, certificate: str | None) -> "FlowAddress":
        """Of a flow that begins; `certificate` is a file. UsageError if it cannot be read."""
        text = None
        if certificate is not None:
            try:
                text = Path(certificate).read_text("ascii")
            except (OSError, UnicodeDecodeError) as error:
                reason = getattr(error, "strerror", None) or "it is not PEM"
                raise UsageError(f"certificate={certificate!r} cannot be read: {reason}") from None
        return FlowAddress(name, host, port, secrets.token_bytes(TOKEN_BYTES), text)

    @staticmethod
    def stored(name: str) -> "FlowAddress":
        """Of a detached flow; UsageError if this machine has none of the name."""
        file = Path(home_path(), "flows", name, RECORD)
        try:
            record = json.loads(file.read_text("utf-8"))
        except FileNotFoundError:
            raise UsageError(
                f"this machine has not begun a detached flow {name!r}: leave out attach=True"
            ) from None
        token = bytes.fromhex(record["token"])
        return FlowAddress(name, record["host"], record["port"], token, record["certificate"])

    @property
    def settings(self) -> dict[str, Any]:
        """Config of each end."""
        settings: dict[str, Any] = {
            ADDRESS: f"{self.host}:{self.port}", TOKEN: self.token.hex(),
        }  # fmt: skip
        if self._certificate is not None:
            settings[CERTIFICATE] = self._certificate
        return settings

    def write(self, topology: TopologySpec) -> str:
        """Write the topology's file and the record for `attach`; returns the file."""
        make_private_folders(str(self._folder))
        record = {
            "host": self.host, "port": self.port, "token": self.token.hex(),
            "certificate": self._certificate,
        }  # fmt: skip
        file = os.path.join(self._folder, FILE)
        for path, text in (
            (file, interactive_run.file_text(topology)),
            (os.path.join(self._folder, RECORD), json.dumps(record)),
        ):
            with open(path, "w", encoding="utf-8", opener=private) as opened:
                opened.write(text)
        return file

    def remove(self) -> None:
        """The flow has ended."""
        shutil.rmtree(self._folder, ignore_errors=True)
