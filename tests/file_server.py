"""A loopback server of one file, with ranges, that can break off and change what it serves."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class FileServer:
    """What is served, where, and what was asked for."""

    content: bytes
    url: str = ""
    breaks: list[int] = field(default_factory=list)  # bytes after which the next answers break off
    ranges: list[str | None] = field(default_factory=list)  # the Range header of every request
    sent: int = 0
    has_tag: bool = True


@contextmanager
def serve_file(content: bytes) -> Iterator[FileServer]:
    """Serve ``content`` under any path as long as the block lasts."""
    state = FileServer(content)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"state": state}))
    state.url = f"http://127.0.0.1:{server.server_address[1]}/archive.zip"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    state: FileServer

    def log_message(self, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        state, content = self.state, self.state.content
        state.ranges.append(self.headers.get("Range"))
        tag = f'"{hashlib.md5(content).hexdigest()}"'
        start = 0
        if self.headers.get("Range") and self.headers.get("If-Range") == tag:
            start = int(self.headers["Range"].removeprefix("bytes=").removesuffix("-"))
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        else:
            self.send_response(200)
        if state.has_tag:
            self.send_header("ETag", tag)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        end = start + state.breaks.pop(0) if state.breaks else len(content)
        self.wfile.write(content[start:end])
        state.sent += min(end, len(content)) - start
