"""A file server on localhost that can misbehave on request."""

from __future__ import annotations

import contextlib
import http.server
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass
class FileServer:
    """Serves ``files``. ``stop_after`` cuts the next answers off after so many bytes each; ``answers`` are
    status codes given before anything is served; ``requests`` records the headers seen."""

    address: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    etag: str = '"v1"'
    ranges: bool = True
    stop_after: list[int] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    requests: list[dict[str, str]] = field(default_factory=list)

    def url(self, name: str) -> str:
        return f"{self.address}/{name}"


@contextlib.contextmanager
def serve() -> Iterator[FileServer]:
    state = FileServer()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.requests.append(dict(self.headers.items()))
            body = state.files.get(self.path.lstrip("/"))
            if state.answers:
                self.send_error(state.answers.pop(0))
            elif body is None:
                self.send_error(404)
            else:
                self.send_body(body)

        def send_body(self, body: bytes) -> None:
            start = 0
            wanted = self.headers.get("Range")
            if state.ranges and wanted and self.headers.get("If-Range") == state.etag:
                start = int(wanted.removeprefix("bytes=").rstrip("-"))
                if start >= len(body):
                    self.send_error(416)
                    return
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
            else:
                self.send_response(200)
            if state.etag:
                self.send_header("ETag", state.etag)
            self.send_header("Content-Length", str(len(body) - start))
            self.end_headers()
            stop = state.stop_after.pop(0) if state.stop_after else len(body)
            self.wfile.write(body[start : start + stop])

        def log_message(self, *_: Any) -> None:
            pass

    httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.address = f"http://127.0.0.1:{httpd.server_port}"
    threading.Thread(target=httpd.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield state
    finally:
        httpd.shutdown()
        httpd.server_close()
