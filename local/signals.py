"""How a local command ends: by Ctrl-C, SIGTERM or a closed terminal, once, and never in the middle of its clean-up."""

import ctypes
import os
import signal
import sys
from typing import NoReturn

from local.die_with_parent import PR_SET_PDEATHSIG

ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(BaseException):
    """Somebody asked the command to stop."""


def obey() -> None:
    """From now on the first signal to stop raises `Stopped`; a hang-up that is ignored (nohup) stays so."""
    for number in ENDINGS:
        if number is not signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)


def deafen() -> None:
    """Ignore all further signals to stop: the command is cleaning up."""
    for number in ENDINGS:
        signal.signal(number, signal.SIG_IGN)


def stop_with(parent: int) -> None:
    """Get SIGTERM when process ``parent`` dies, however it dies; on Linux only."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        raise Stopped


def _stop(*_: object) -> NoReturn:
    deafen()
    raise Stopped
