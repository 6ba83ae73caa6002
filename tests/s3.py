"""A store like S3 on this machine, and a connection to it that can be cut."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

BLOCK = 1 << 14
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "us-east-1",
}


@dataclass
class Wire:
    """Carries bytes to a port; cuts connections that have carried so many, as often as told."""

    target: int
    cuts: int = 0
    after: int = 1 << 62
    door: socket.socket = field(default_factory=lambda: socket.create_server(("127.0.0.1", 0)))

    @property
    def port(self) -> int:
        return int(self.door.getsockname()[1])

    def serve(self) -> None:
        """Take connections until the socket is closed."""
        with suppress(OSError):
            while True:
                near, _ = self.door.accept()
                far = socket.create_connection(("127.0.0.1", self.target))
                for one, other in ((near, far), (far, near)):
                    carried = one is near
                    args = (one, other, carried)
                    threading.Thread(target=self._carry, args=args, daemon=True).start()

    def _carry(self, one: socket.socket, other: socket.socket, counted: bool) -> None:
        sent = 0
        with suppress(OSError):
            while content := one.recv(BLOCK):
                sent += len(content)
                if counted and self.cuts and sent > self.after:
                    self.cuts -= 1
                    break
                other.sendall(content)
            for end in (one, other):
                end.shutdown(socket.SHUT_RDWR)


@contextmanager
def s3() -> Iterator[Wire]:
    """A server of moto in a process of its own, behind a wire."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    command = [sys.executable, "-m", "moto.server", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while True:
            assert server.poll() is None
            with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.1)
        wire = Wire(port)
        threading.Thread(target=wire.serve, daemon=True).start()
        os.environ.update(ENVIRONMENT, AWS_ENDPOINT_URL=f"http://127.0.0.1:{wire.port}")
        yield wire
        wire.door.close()
    finally:
        for name in (*ENVIRONMENT, "AWS_ENDPOINT_URL"):
            os.environ.pop(name, None)
        server.kill()
        server.wait()
