"""A Lambda container in miniature: a process that imports a function once and invokes it event after event.

As a script, ``python -m tests.integration.lambda_runtime MODULE DESCRIPTOR`` takes events from standard input, one JSON
line each, and writes the answers to the descriptor; logs and metrics go to standard output as on Lambda.
"""

import importlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from local.processes import PYTHONPATH, ROOT

INVOCATION_SECONDS = 60


class Context:
    """What a function reads of its Lambda context."""

    aws_request_id = "lambda-request-1"

    def __init__(self) -> None:
        self._ends = time.monotonic() + INVOCATION_SECONDS

    def get_remaining_time_in_millis(self) -> int:
        return max(0, int((self._ends - time.monotonic()) * 1000))


class LambdaContainer:
    """A running container of the function in ``functions/NAME``."""

    def __init__(self, name: str, environ: Mapping[str, str], log: Path) -> None:
        answers, descriptor = os.pipe()
        self._log = log
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, f"functions.{name}.app", str(descriptor)],
                cwd=ROOT,
                env={"PATH": os.defpath, "PYTHONPATH": PYTHONPATH, **environ},
                pass_fds=[descriptor],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                text=True,
            )
        os.close(descriptor)
        self._answers = os.fdopen(answers)

    def invoke(self, event: Any) -> Any:
        """The function's answer; an invocation that raises ends the container.

        Raises:
            AssertionError: it has ended; the message holds its log.
        """
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(event) + "\n")
        self._process.stdin.flush()
        answer = self._answers.readline()
        assert answer, self.log()
        return json.loads(answer)

    def log(self) -> str:
        """What it has written so far."""
        return self._log.read_text(encoding="utf-8")

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Inside the block the process stands still, as Lambda keeps it between two invocations."""
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.communicate()
        self._answers.close()


@contextmanager
def running_function(name: str, environ: Mapping[str, str], log: Path) -> Iterator[LambdaContainer]:
    """A container of ``functions/NAME`` inside the block; ``log`` is where its output goes."""
    container = LambdaContainer(name, environ, log)
    try:
        yield container
    finally:
        container.close()


def main() -> None:
    """Serve events until standard input ends."""
    module, descriptor = sys.argv[1:]
    handler = importlib.import_module(module).handler
    with os.fdopen(int(descriptor), "w") as answers:
        for line in sys.stdin:
            answers.write(json.dumps(handler(json.loads(line), Context())) + "\n")
            answers.flush()


if __name__ == "__main__":
    main()
