"""`make run`: the whole product on this machine, until Ctrl-C."""

import os
import time
from collections.abc import Iterator
from contextlib import suppress

from local.parts import JIMENG, validated
from local.processes import ROOT
from local.signals import Stopped
from local.stack import Stack, listen, running_stack

NAP = 0.2

BANNER = """
Jimeng tasks is serving.

{addresses}

Try:
  curl {url}/v1/images/generations {headers} -d '{{"prompt": "a cat in the rain"}}'
and ask for the result with the task_id that it answers, in about 15 s:
  curl '{url}/v1/images/query?task_id=TASK_ID' {query_headers}

Ctrl-C stops everything.
"""


def main() -> int:
    """Serve until a signal to stop; returns 0.

    Raises:
        LocalError: the stack does not start, or a part of it has ended.
    """
    listener = listen(validated(os.environ).port)
    logs = ROOT / "logs"
    print("Starting ...", flush=True)
    output = logs / str(listener.getsockname()[1])
    with suppress(Stopped), running_stack(os.environ, listener, logs=logs, output=output) as stack:
        print(_banner(stack), flush=True)
        while True:
            stack.watch()
            time.sleep(NAP)
    return 0


def _banner(stack: Stack) -> str:
    settings = stack.settings
    is_simulated = any(part.is_ours and part.name == JIMENG for part in stack.parts)
    key = "-H 'X-API-Key: YOUR_KEY' " if settings.api_keys else ""
    token = f"-H 'Authorization: Bearer {'any-token' if is_simulated else 'YOUR_TOKEN'}'"
    return BANNER.format(
        addresses="\n".join(f"  {name:8}  {text}" for name, text in _addresses(stack)),
        url=stack.url,
        headers=f"{key}{token} -H 'Content-Type: application/json'",
        query_headers=(f"{key}{token}" if settings.require_query_auth else key).strip(),
    )


def _addresses(stack: Stack) -> Iterator[tuple[str, str]]:
    origins = {True: "(started here)", False: "(named by the environment)"}
    yield "API", f"{stack.url}  (documentation: {stack.url}/docs)"
    yield "pollers", ", ".join(stack.settings.known_services)
    if not stack.settings.use_database_mode:
        yield "MongoDB", "none: tasks live in the API's memory (USE_DATABASE_MODE=false)"
    yield from ((part.name, f"{part.address}  {origins[part.is_ours]}") for part in stack.parts)
    yield "logs", f"logs/task_polling.log, logs/{stack.settings.port}/"
