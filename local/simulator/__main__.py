"""`python -m local.simulator`: serve a simulated Jimeng until SIGINT or SIGTERM."""

import argparse
import json
import socket

import uvicorn

from local.simulator.app import create_app


class Announcing(uvicorn.Server):
    """Prints its address as one JSON line once it accepts connections."""

    def __init__(self, config: uvicorn.Config, address: str) -> None:
        super().__init__(config)
        self._address = address

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start serving, then say where."""
        await super().startup(sockets=sockets)
        if not self.should_exit:
            print(json.dumps({"simulator": self._address}), flush=True)


def main() -> None:
    """Parse the command line and serve; port 0 takes a free one."""
    parser = argparse.ArgumentParser(prog="python -m local.simulator", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--base-url", help="what links begin with; default: the address served")
    options = parser.parse_args()
    listener = socket.create_server((options.host, options.port), backlog=512)
    address = f"http://{options.host}:{listener.getsockname()[1]}"
    everywhere = options.host in ("0.0.0.0", "::")
    app = create_app(options.base_url or (None if everywhere else address))
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1, timeout_keep_alive=75)
    Announcing(config, address).run(sockets=[listener])


if __name__ == "__main__":
    main()
