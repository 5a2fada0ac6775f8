"""A loopback server that speaks the interface of the Hugging Face hub: files to fetch, commits to make."""

from __future__ import annotations

import base64
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
    """What the server offers, and which files were asked for.

    Only who shows ``token`` may write. ``breaks`` names the part of an address at which connections break.
    """

    repositories: dict[str, Repository] = field(default_factory=dict)
    downloads: list[str] = field(default_factory=list)
    url: str = ""
    token: str = "hf_may_write"
    breaks: str = ""
    private: dict[str, bool] = field(default_factory=dict)
    storage: dict[str, bytes] = field(default_factory=dict)  # large files by SHA-256, before their commit

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

    def do_PUT(self) -> None:
        content = self._body()
        self.hub.storage[hashlib.sha256(content).hexdigest()] = content
        self._send(200, {}, b"")

    def do_POST(self) -> None:
        content, path = self._body(), unquote(urlparse(self.path).path)
        if self._breaks():
            return None
        if path == "/api/validate-yaml":
            return self._json({"errors": [], "warnings": []})
        if self.headers.get("Authorization") != f"Bearer {self.hub.token}":
            return self._refuse(401, "", "Invalid username or password.")
        parts = path.strip("/").split("/")
        if path == "/api/repos/create":
            return self._create(json.loads(content))
        if path.endswith(".git/info/lfs/objects/batch"):
            return self._batch(json.loads(content))
        repository, revision = self.hub.repositories["/".join(parts[2:4])], parts[5]
        if not repository.has(revision):
            return self._refuse(404, "RevisionNotFound", "Invalid rev id")
        if parts[4] == "preupload":
            return self._modes(json.loads(content))
        return self._commit(repository, "/".join(parts[2:4]), content)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _breaks(self) -> bool:
        """Close the connection without an answer where ``breaks`` says so; return whether it was."""
        broken = bool(self.hub.breaks) and self.hub.breaks in self.path
        if broken:
            self.close_connection = True
            self.connection.close()
        return broken

    def _create(self, wanted: dict[str, object]) -> None:
        name = f"{wanted['organization']}/{wanted['name']}"
        if name in self.hub.repositories:
            return self._json(
                {"error": "You already created this repo", "url": f"{self.hub.url}/{name}"}, 409
            )
        self.hub.repositories[name] = Repository({})
        self.hub.private[name] = "private" in (wanted.get("visibility"), wanted.get("private") and "private")
        return self._json({"url": f"{self.hub.url}/{name}"})

    def _modes(self, wanted: dict[str, list[dict[str, str]]]) -> None:
        paths = [file["path"] for file in wanted["files"]]
        modes = {path: "lfs" if _is_lfs(path) else "regular" for path in paths}
        files = [{"path": path, "uploadMode": mode, "shouldIgnore": False} for path, mode in modes.items()]
        self._json({"files": files})

    def _batch(self, wanted: dict[str, list[dict[str, object]]]) -> None:
        upload = {"upload": {"href": f"{self.hub.url}/storage", "header": {}}}
        self._json(
            {"transfer": "basic", "objects": [{**file, "actions": upload} for file in wanted["objects"]]}
        )

    def _commit(self, repository: Repository, name: str, content: bytes) -> None:
        for line in map(json.loads, content.splitlines()):
            value = line["value"]
            if line["key"] == "file":
                repository.files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                repository.files[value["path"]] = self.hub.storage[value["oid"]]
        oid = repository.commit
        self._json({"commitUrl": f"{self.hub.url}/{name}/commit/{oid}", "commitOid": oid, "success": True})

    def _answer(self, body: bool) -> None:
        if self._breaks():
            return
        parts = unquote(urlparse(self.path).path).strip("/").split("/")
        if parts[:2] == ["api", "models"]:
            revision, tree = parts[5] if len(parts) > 5 else "main", parts[4:5] == ["tree"]
            self._info("/".join(parts[2:4]), revision, tree)
        elif len(parts) > 4 and parts[2] == "resolve":
            self._file("/".join(parts[:2]), parts[3], "/".join(parts[4:]), body)
        else:
            self._refuse(404, "EntryNotFound", "Entry not found")

    def _info(self, name: str, revision: str, tree: bool) -> None:
        repository = self.hub.repositories.get(name)
        if repository is None:
            return self._refuse(404, "RepoNotFound", "Repository not found")
        if not repository.has(revision):
            return self._refuse(404, "RevisionNotFound", "Invalid rev id")
        siblings = [_sibling(name, content) for name, content in repository.files.items()]
        if tree:
            entries = [_tree_entry(sibling) for sibling in siblings]
            return self._json(entries)
        info = {"id": name, "sha": repository.commit, "siblings": siblings, "private": False, "tags": []}
        return self._json(info)

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

    def _json(self, document: object, status: int = 200) -> None:
        self._send(status, {"Content-Type": "application/json"}, json.dumps(document).encode())

    def _send(self, status: int, headers: dict[str, str], content: bytes, body: bool = True) -> None:
        self.send_response(status)
        for key, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(key, value)
        self.end_headers()
        if body and self.command != "HEAD":
            self.wfile.write(content)


def _is_lfs(name: str) -> bool:
    return name.endswith((".onnx", ".onnx_data", ".safetensors"))


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


def _tree_entry(sibling: dict[str, object]) -> dict[str, object]:
    entry = {"type": "file", "path": sibling["rfilename"], "size": sibling["size"], "oid": sibling["blobId"]}
    if isinstance(lfs := sibling.get("lfs"), dict):
        entry["lfs"] = {**lfs, "oid": lfs["sha256"]}
    return entry
