"""Completions of the language server basedpyright, as an editor asks for them."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

EXECUTABLE = Path(sys.executable).with_name("basedpyright-langserver")
CURSOR = "|"


class LanguageServer:
    """One session over pipes: requests are answered in order."""

    def __init__(self, process: "subprocess.Popen[bytes]", folder: Path) -> None:
        self._process = process
        self._folder = folder
        self._last_id = 0
        workspace = {"uri": folder.as_uri(), "name": folder.name}
        self._ask("initialize", {"workspaceFolders": [workspace], "capabilities": {}})
        self._send("initialized", {})

    def completions(self, text: str) -> set[str]:
        """Labels offered at the cursor, a `|` in the text of a module of the folder."""
        before = text[: text.index(CURSOR)]
        uri = (self._folder / f"asked_{self._last_id}.py").as_uri()
        document = {"uri": uri, "languageId": "python", "version": 1}
        self._send(
            "textDocument/didOpen", {"textDocument": document | {"text": text.replace(CURSOR, "")}}
        )
        position = {
            "line": before.count("\n"),
            "character": len(before) - before.rfind("\n") - 1,
        }
        question = {"textDocument": {"uri": uri}, "position": position}
        found = self._ask("textDocument/completion", question)
        return {item["label"] for item in (found or {"items": []})["items"]}

    def _ask(self, method: str, params: Any) -> Any:
        self._last_id += 1
        self._send(method, params, id=self._last_id)
        for message in self._messages():
            if "method" in message and "id" in message:  # a question of the server's: no settings
                items = message["params"].get("items", []) if message.get("params") else []
                self._write({"id": message["id"], "result": [None for _ in items] or None})
            elif message.get("id") == self._last_id:
                assert "error" not in message, message["error"]
                return message["result"]
        raise AssertionError("the language server ended")

    def _send(self, method: str, params: Any, **more: Any) -> None:
        self._write({"method": method, "params": params, **more})

    def _write(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._process.stdin.flush()

    def _messages(self) -> Iterator[dict[str, Any]]:
        output = self._process.stdout
        assert output is not None
        while line := output.readline():
            length = int(line.removeprefix(b"Content-Length:"))
            while output.readline().strip():
                pass
            yield json.loads(output.read(length))


@contextmanager
def language_server(folder: Path) -> Iterator[LanguageServer]:
    """A server for the modules of a folder."""
    command = [str(EXECUTABLE), "--stdio"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, cwd=folder, **pipes) as process:  # type: ignore[call-overload]
        try:
            yield LanguageServer(process, folder)
        finally:
            process.kill()
