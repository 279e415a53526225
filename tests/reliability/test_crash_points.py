"""A process that dies anywhere loses nothing and pays nothing twice.

An image with a reference picture and a video are posted and worked on in a process of their own, which is killed with
SIGKILL before or after its n-th call; fresh pollers finish the work. In `make test` a sample of the points is taken, in
`make soak` all of them.
"""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

import pytest

from .crash_site import FILES, Kind, Point, Run, Site, paid_jobs, play
from .soak import is_soak

AT_ONCE = 6
BEYOND = 3  # points after the last call of the rehearsal, since threads take turns differently each time
STEP: dict[Kind, int] = {"mongodb": 14, "provider": 5, "storage": 3}
CRITICAL = ("processing/sent", "commitTransaction", "aigc_draft/generate")


@pytest.fixture(scope="module")
def rehearsal(site: Site) -> Run:
    """The scenario without a death, which tells how many points there are."""
    run = play(site, Point(kind="mongodb", number=0, before=True))
    assert run.faults == []
    assert run.died_at is None
    return run


def _numbers(kind: Kind, labels: list[str]) -> list[int]:
    """The points to die at: all of them, or a sample with those around the paid call and the end of a task."""
    if is_soak():
        return list(range(1, len(labels) + 1 + BEYOND))
    critical = [n for n, label in enumerate(labels, 1) if any(word in label for word in CRITICAL)]
    around = chain.from_iterable((n, n + 1) for n in critical)
    return sorted({*range(1, len(labels) + 1, STEP[kind]), *around, len(labels)})


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("kind", ["mongodb", "provider", "storage"])
def test_a_death_at_any_call_loses_nothing_and_pays_nothing_twice(
    site: Site, rehearsal: Run, kind: Kind, before: bool
) -> None:
    numbers = _numbers(kind, rehearsal.labels[kind])
    points = [Point(kind=kind, number=number, before=before) for number in numbers]

    with ThreadPoolExecutor(AT_ONCE) as pool:
        runs = list(pool.map(lambda point: play(site, point), points))

    assert [f"{run.point} ({run.died_at}): {run.faults}" for run in runs if run.faults] == []
    paid = Counter(paid_jobs(site))
    assert {prompt: paid[prompt] for run in runs for prompt in map(run.prompt, FILES) if paid[prompt] != 1} == {}
    deaths = sum(run.died_at is not None for run in runs)
    assert deaths >= len(points) - 2 * BEYOND, "the points were reached"
