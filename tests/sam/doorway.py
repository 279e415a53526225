"""Ways into this machine for containers: a container cannot reach what listens on 127.0.0.1 here."""

import json
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

CHUNK = 65536  # bytes


def gateway() -> str:
    """The address of this machine on Docker's bridge network."""
    command = ["docker", "network", "inspect", "bridge", "--format", "{{json (index .IPAM.Config 0)}}"]
    config = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=30).stdout)
    given = config.get("Gateway")
    return str(given) if given else config["Subnet"].rsplit(".", 1)[0] + ".1"


@contextmanager
def doorway(host: str, port: int) -> Iterator[None]:
    """Inside the block, ``host``:``port`` leads to 127.0.0.1:``port``."""
    with socket.create_server((host, port), backlog=128) as listener:
        threading.Thread(target=_serve, args=(listener, port), daemon=True).start()
        yield


def _serve(listener: socket.socket, port: int) -> None:
    with suppress(OSError):  # the listener is closed at the end of the block
        while True:
            outside, _ = listener.accept()
            threading.Thread(target=_connect, args=(outside, port), daemon=True).start()


def _connect(outside: socket.socket, port: int) -> None:
    with outside, suppress(OSError), socket.create_connection(("127.0.0.1", port)) as inside:
        back = threading.Thread(target=_pump, args=(inside, outside), daemon=True)
        back.start()
        _pump(outside, inside)
        back.join()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(CHUNK):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
