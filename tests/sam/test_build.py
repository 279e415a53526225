"""What `sam build` makes, and what a function finds of it in Lambda."""

import ast
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sam.commands import sam

logger = logging.getLogger(__name__)

LAYER_LIMIT = 60_000_000  # bytes; 250 MB is Lambda's own limit, for function and layers together
SHOWN = 15
FUNCTIONS = (
    *("ImagesFunction", "VideoFunction", "UploadFunction", "OpsFunction"),
    *("Pollerjimengapi3302", "Pollerjimengapi3303"),
)
IMPORT = """
import sys
sys.path[:0] = sys.argv[1:]
import app
assert callable(app.handler)
foreign = {name for name, module in sys.modules.items()
           if (place := getattr(module, "__file__", None)) and "site-packages" in place}
print(sorted(foreign))
"""


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_needs_only_its_own_folder_and_the_layer(function: str, built: Path) -> None:
    places = [str(built / function), str(built / "SharedLayer" / "python")]
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-B", "-c", IMPORT, *places],
        env={"SERVICE_ID": "jimeng-api-3302", "PATH": os.defpath, "HOME": "/nonexistent"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


def test_everything_that_is_imported_only_when_it_is_needed_is_in_the_layer(built: Path) -> None:
    place = built / "SharedLayer" / "python"
    names = sorted({name for path in (place / "jimeng_tasks").rglob("*.py") for name in _imported(path)})
    assert {"s3transfer.manager", "filetype", "imagesize"} <= set(names)
    statements = [f"sys.path[:0] = [{str(place)!r}]", *(f"import {name}" for name in names)]
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-B", "-c", "\n".join(["import sys", *statements])],
        env={"PATH": os.defpath, "HOME": "/nonexistent"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def _imported(path: Path) -> Iterator[str]:
    """Modules that a file imports, early or late, but not those for types alone."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    guards = [node for node in ast.walk(tree) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    for_types = {id(inner) for guard in guards for inner in ast.walk(guard)}
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def test_a_function_ships_nothing_but_its_handler(built: Path) -> None:
    for function in FUNCTIONS:
        assert [path.name for path in (built / function).rglob("*") if path.is_file()] == ["app.py"]


def test_the_layer_is_small(built: Path) -> None:
    layer = built / "SharedLayer"
    sizes = {part.name: _size(part) for part in (layer / "python").iterdir()}
    total = sum(sizes.values())
    largest = sorted(sizes.items(), key=lambda item: -item[1])[:SHOWN]
    rows = [f"{name:28} {size / 1e6:6.1f} MB" for name, size in [*largest, ("total", total)]]
    logger.info("the layer, unzipped:\n%s", "\n".join(rows))
    assert [part.name for part in layer.iterdir()] == ["python"]
    assert total < LAYER_LIMIT


def test_the_layer_holds_the_product_and_no_leftovers(built: Path) -> None:
    files = list((built / "SharedLayer" / "python" / "jimeng_tasks").rglob("*"))
    assert any(path.name == "bootstrap.py" for path in files)
    assert not [path for path in files if path.suffix == ".pyc"]


def test_five_services_whose_names_have_dashes_are_built(tmp_path: Path) -> None:
    names = ["jimeng-api-3302", "jimeng-api-3303", "eu-west-1-a", "us", "x-1-2-3"]
    sam("build", "--build-dir", str(tmp_path), "--parameter-overrides", f"ServiceIds={','.join(names)}", timeout=600)
    pollers = {path.name for path in tmp_path.iterdir() if path.name.startswith("Poller")}
    assert pollers == {f"Poller{name.replace('-', '')}" for name in names}


def _size(path: Path) -> int:
    """Bytes of a file or of everything in a folder."""
    return sum(part.stat().st_size for part in [path, *path.rglob("*")] if part.is_file())
