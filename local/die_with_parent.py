"""Run a command that the kernel kills when its parent dies, even by SIGKILL, when no ``finally`` of the parent runs.

As a script: ``python die_with_parent.py PARENT_PID COMMAND...`` becomes COMMAND. Making the wish here, in the child, is
safer than a ``preexec_fn``, which would run Python between fork and exec of a parent that has threads.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Ask for SIGKILL at the parent's death (Linux only; elsewhere just run the command), then become the command."""
    parent, *command = sys.argv[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != int(parent):
            sys.exit("the parent died before the wish was made")
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
