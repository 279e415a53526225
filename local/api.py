"""`python -m local.api FD LOGS`: every route over HTTP on an inherited socket; in memory mode also the pollers."""

import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

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


def main() -> None:
    """Serve until SIGTERM or SIGINT."""
    descriptor, logs = sys.argv[1:]
    container = Container(Settings.from_environ(os.environ))
    app = create_api(container)
    server = uvicorn.Server(uvicorn.Config(app, timeout_graceful_shutdown=2, timeout_keep_alive=75))
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
