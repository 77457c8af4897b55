"""A web server on this machine that can be told to misbehave."""

import contextlib
import re
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Server(ThreadingHTTPServer):
    """Serves ``content`` at every path, supports ranges, and records the requests."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.content = b""
        self.etag: str | None = '"1"'
        self.ranges = True  # whether range requests work
        self.lengths = True  # whether the size is announced
        self.cut: list[int] = []  # the next answers break after this many bytes
        self.statuses: list[int] = []  # the next answers are these errors
        self.paths: dict[str, int] = {}  # errors of some paths
        self.hold: threading.Event | None = None  # event to wait for after a cut
        self.redirect = ""  # address that every answer redirects to
        self.drip: tuple[int, float] | None = None  # bytes per write, and pause
        self.headers: dict[str, str] = {}  # headers to add or replace
        self.asked: list[dict[str, str]] = []

    @property
    def url(self) -> str:
        """Address of the file."""
        return f"http://127.0.0.1:{self.server_port}/SUSY.csv.gz"


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.0"  # the end of the connection is the end of the file

    def log_message(self, *args):
        pass

    def do_GET(self):
        server, content = self.server, self.server.content
        server.asked.append({"path": self.path, **self.headers})
        status = server.paths.get(self.path, 0)
        if server.statuses:
            status = server.statuses.pop(0)
        if status:
            self.send_error(status)
            return
        if server.redirect:
            self.send_response(302)
            self.send_header("Location", server.redirect)
            self.end_headers()
            return
        start = 0
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        current = self.headers.get("If-Range", server.etag) == server.etag
        if asked and server.ranges and current:
            start = int(asked[1])
            self.send_response(206)
            last = len(content) - 1
            self._send("Content-Range", f"bytes {start}-{last}/{len(content)}")
        else:
            self.send_response(200)
        if server.lengths:
            self._send("Content-Length", str(len(content) - start))
        if server.etag:
            self._send("ETag", server.etag)
        if encoding := server.headers.get("Content-Encoding"):
            self.send_header("Content-Encoding", encoding)
        self.end_headers()
        body = content[start:]
        if server.cut:
            body = body[: server.cut.pop(0)]
        with contextlib.suppress(ConnectionError):
            if server.drip:
                size, pause = server.drip
                for place in range(0, len(body), size):
                    self.wfile.write(body[place : place + size])
                    time.sleep(pause)
            else:
                self.wfile.write(body)
            if server.hold:
                self.wfile.flush()
                server.hold.wait(60)

    def _send(self, name: str, value: str) -> None:
        self.send_header(name, self.server.headers.get(name, value))


@contextlib.contextmanager
def running() -> Iterator[Server]:
    """Run a server during a ``with`` block."""
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield server
        finally:
            if server.hold:
                server.hold.set()
            server.shutdown()
            thread.join()
