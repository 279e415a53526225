"""`python -m tests.reliability.simulated_jimeng`: the simulator, whose links begin with the address that was called.

So the media that it offers come through the same proxy as everything else.
"""

import socket

import uvicorn

from local.simulator.__main__ import Announcing
from local.simulator.app import create_app


def main() -> None:
    """Serve on a free port until SIGTERM."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    config = uvicorn.Config(create_app(), log_level="warning", timeout_graceful_shutdown=1, timeout_keep_alive=75)
    Announcing(config, address).run(sockets=[listener])


if __name__ == "__main__":
    main()
