"""Child processes of the local stack, each a Python module: started, watched, and never left behind."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from local.mongodb import DIE_WITH_PARENT

ROOT = Path(__file__).resolve().parents[1]
PYTHONPATH = os.pathsep.join([str(ROOT / "layers" / "shared"), str(ROOT)])
STOP_SECONDS = 6


class Child:
    """A module run as ``python -m``, in a session of its own, printing to ``output``/NAME.log.

    ``descriptors`` are the open files it inherits. Start it from the main thread: the kernel ends it together with
    the thread that started it.
    """

    def __init__(
        self,
        name: str,
        module: Sequence[str],
        *,
        environ: Mapping[str, str],
        output: Path,
        descriptors: Sequence[int] = (),
    ) -> None:
        self.name = name
        self._command = [sys.executable, "-m", *module]
        self._environ = {**environ, "PYTHONPATH": PYTHONPATH}
        self._descriptors = descriptors
        self._log = output / f"{name}.log"
        self._log.write_bytes(b"")
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process, or start it again."""
        wrapper = [sys.executable, "-I", "-S", str(DIE_WITH_PARENT), str(os.getpid())]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*wrapper, *self._command],
                cwd=ROOT,
                env=self._environ,
                pass_fds=self._descriptors,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    @property
    def is_running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def output(self) -> str:
        """Everything it has printed since it was made."""
        return self._log.read_text(errors="replace")

    def epitaph(self) -> str:
        """How it ended and where its output is, in one line."""
        code = None if self._process is None else self._process.poll()
        return f"{self.name} ended with code {code}; its output is in {self._log}"

    def last_words(self) -> str:
        """How it ended, with the end of its output."""
        return "\n".join([self.epitaph(), *self.output().splitlines()[-15:]])

    def ask_to_stop(self) -> None:
        """Send SIGTERM if it runs."""
        if self._process is not None and self.is_running:
            self._process.send_signal(signal.SIGTERM)

    def wait_or_kill(self) -> None:
        """Return once it has ended, by SIGKILL if it takes longer than 6 s."""
        if self._process is None:
            return
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def stop_all(children: Iterable[Child]) -> None:
    """Stop children side by side."""
    children = list(children)
    for child in children:
        child.ask_to_stop()
    for child in children:
        child.wait_or_kill()
