"""`python -m local.api FD LOGS`: every route over HTTP on an inherited socket; in memory mode also the pollers."""

import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from jimeng_tasks.bootstrap import Container, create_api
from jimeng_tasks.settings import Settings
from local.poller import STOP_SECONDS, Schedule
from local.tasklog import write_task_log


@contextmanager
def _pollers(container: Container) -> Iterator[None]:
    """The pollers of all services as threads, inside the block."""
    schedules = [Schedule(container.poller(server_id)) for server_id in container.settings.known_services]
    threads = [threading.Thread(target=schedule.run, daemon=True) for schedule in schedules]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for schedule in schedules:
            schedule.stop()
        for thread in threads:
            thread.join(STOP_SECONDS)


class BasePath:
    """Takes the base path of a custom domain off, as the Lambda handlers do."""

    def __init__(self, app: ASGIApp, base_path: str) -> None:
        self._app = app
        self._base_path = base_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request below the base path, or one without it."""
        if self._base_path and scope.get("path", "").startswith(f"{self._base_path}/"):
            scope = {**scope, "root_path": self._base_path}
        await self._app(scope, receive, send)


def main() -> None:
    """Serve until SIGTERM or SIGINT."""
    descriptor, logs = sys.argv[1:]
    container = Container(Settings.from_environ(os.environ))
    app = BasePath(create_api(container), container.settings.api_base_path)
    server = uvicorn.Server(uvicorn.Config(app, access_log=False, timeout_graceful_shutdown=2, timeout_keep_alive=75))
    listener = socket.socket(fileno=int(descriptor))
    if container.settings.use_database_mode:
        server.run(sockets=[listener])
        return
    write_task_log(Path(logs))
    with _pollers(container):
        server.run(sockets=[listener])
    sys.stdout.flush()
    # The interpreter would wait for the threads of calls that are still running, for nothing: memory is lost anyway.
    os._exit(0)


if __name__ == "__main__":
    main()
