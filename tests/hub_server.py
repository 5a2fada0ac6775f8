"""A loopback server that speaks the file interface of the Hugging Face hub."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlparse

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class Repository:
    """The files of one repository; ``gated`` refuses downloads, ``spoiled`` files arrive with other bytes."""

    files: dict[str, bytes]
    gated: bool = False
    commit: str = COMMIT
    branches: tuple[str, ...] = ("main",)
    spoiled: set[str] = field(default_factory=set)

    def has(self, revision: str) -> bool:
        return revision in (*self.branches, self.commit)


@dataclass
class Hub:
    """What the server offers, and which files were asked for."""

    repositories: dict[str, Repository] = field(default_factory=dict)
    downloads: list[str] = field(default_factory=list)
    url: str = ""

    def add(self, name: str, folder: Path, **options: object) -> Repository:
        """Offer all files of a folder as a repository."""
        files = {
            file.relative_to(folder).as_posix(): file.read_bytes()
            for file in folder.rglob("*")
            if file.is_file()
        }
        self.repositories[name] = Repository(files, **options)
        return self.repositories[name]


@contextmanager
def serve_hub() -> Iterator[Hub]:
    """Run the server on a free port as long as the block lasts."""
    hub = Hub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": hub}))
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, body: bool) -> None:
        parts = unquote(urlparse(self.path).path).strip("/").split("/")
        if parts[:2] == ["api", "models"]:
            self._info("/".join(parts[2:4]), parts[5] if len(parts) > 5 else "main")
        elif len(parts) > 4 and parts[2] == "resolve":
            self._file("/".join(parts[:2]), parts[3], "/".join(parts[4:]), body)
        else:
            self._refuse(404, "EntryNotFound", "Entry not found")

    def _info(self, name: str, revision: str) -> None:
        repository = self.hub.repositories.get(name)
        if repository is None:
            return self._refuse(404, "RepoNotFound", "Repository not found")
        if not repository.has(revision):
            return self._refuse(404, "RevisionNotFound", "Invalid rev id")
        siblings = [_sibling(name, content) for name, content in repository.files.items()]
        info = {"id": name, "sha": repository.commit, "siblings": siblings, "private": False, "tags": []}
        return self._send(200, {"Content-Type": "application/json"}, json.dumps(info).encode())

    def _file(self, name: str, revision: str, file: str, body: bool) -> None:
        repository = self.hub.repositories.get(name)
        if repository is None:
            return self._refuse(404, "RepoNotFound", "Repository not found")
        if repository.gated:
            return self._refuse(403, "GatedRepo", f"Access to model {name} is restricted")
        if not repository.has(revision):
            return self._refuse(404, "RevisionNotFound", "Invalid rev id")
        if file not in repository.files:
            return self._refuse(404, "EntryNotFound", "Entry not found")
        content = repository.files[file]
        headers = {"ETag": f'"{_digest(file, content)}"', "X-Repo-Commit": repository.commit}
        if file in repository.spoiled:
            content = bytes([content[0] ^ 1]) + content[1:]
        if body:
            self.hub.downloads.append(file)
        return self._send(200, headers, content, body)

    def _refuse(self, status: int, code: str, message: str) -> None:
        self._send(status, {"X-Error-Code": code, "X-Error-Message": message}, b"")

    def _send(self, status: int, headers: dict[str, str], content: bytes, body: bool = True) -> None:
        self.send_response(status)
        for key, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(key, value)
        self.end_headers()
        if body and self.command == "GET":
            self.wfile.write(content)


def _is_lfs(name: str) -> bool:
    return name.endswith((".onnx", ".onnx_data"))


def _digest(name: str, content: bytes) -> str:
    if _is_lfs(name):
        return hashlib.sha256(content).hexdigest()
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def _sibling(name: str, content: bytes) -> dict[str, object]:
    blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    entry: dict[str, object] = {"rfilename": name, "size": len(content), "blobId": blob}
    if _is_lfs(name):
        sha256 = hashlib.sha256(content).hexdigest()
        entry["lfs"] = {"sha256": sha256, "size": len(content), "pointerSize": 130}
    return entry
