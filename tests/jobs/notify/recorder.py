"""A webhook on 127.0.0.1 that records the messages it gets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


@dataclass(slots=True)
class Webhook:
    """The messages that arrived at each path, and the status that the server answers with."""

    port: int = 0
    status: int = 200
    messages: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def url(self, path: str = "night") -> str:
        """Return Apprise's URL of a path, with a user and a password."""
        return f"json://audit:open-sesame@127.0.0.1:{self.port}/{path}"

    def titles(self, path: str = "night") -> list[str]:
        return [message["title"] for at, message in self.messages if at == f"/{path}"]

    def bodies(self, path: str = "night") -> list[str]:
        return [message["message"] for at, message in self.messages if at == f"/{path}"]


@contextmanager
def recording_webhook() -> Iterator[Webhook]:
    """Run a webhook until the end of the block."""
    webhook = Webhook()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if webhook.status == 200:
                webhook.messages.append((self.path.rstrip("/"), body))
            self.send_response(webhook.status)
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            """Write no access log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    webhook.port = server.server_port
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield webhook
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
