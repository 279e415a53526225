"""`python -m local run | demo | replay [STATE]`: the commands behind `make`."""

import argparse
import sys
from collections.abc import Callable

from local import demo, replay, run
from local.errors import LocalError
from local.signals import Stopped, obey, stop_with

COMMANDS: dict[str, Callable[..., int]] = {"run": run.main, "demo": demo.main, "replay": replay.main}


def main() -> int:
    """Run a command; one that lacks something says so in one line."""
    parser = argparse.ArgumentParser(prog="python -m local", description=__doc__)
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("state", nargs="*", help="for replay: the name of a fixture")
    parser.add_argument("--with-parent", type=int, metavar="PID", help="stop when this process dies")
    options = parser.parse_args()
    try:
        obey()
        if options.with_parent:
            stop_with(options.with_parent)
        return COMMANDS[options.command](*options.state)
    except Stopped:
        return 130
    except LocalError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
