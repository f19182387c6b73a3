"""For all tests: hypothesis without deadlines (machines differ), the same examples every time under CI, and a guard by
which no test makes or changes a file but in temporary folders, its user's caches, and those of the tools."""

import gc
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings


def pytest_configure(config):
    """`make test` tries thirty examples of a property, `make test-all` a hundred."""
    count = 30 if "not slow" in config.option.markexpr else 100
    settings.register_profile("phistar", deadline=None, derandomize=bool(os.environ.get("CI")), max_examples=count)
    settings.load_profile("phistar")


# Kernels stay alive for a whole run, and tracing makes millions of small objects: by Python's own thresholds (700, 10,
# 10) a sixth of the processor's time goes into looking for cycles that are not there.
gc.set_threshold(100_000, 50, 100)

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = 0.6180339887498949  # its multiples spread evenly, along every axis of a grid of cases
FREE = {Path(place).resolve() for place in (tempfile.gettempdir(), Path.home(), "/dev")}
MADE = {"os.mkdir": 0, "os.rename": 1, "os.link": 1, "os.symlink": 1}  # and which argument says where


def may_be_written(path):
    place = Path(os.fsdecode(path)).resolve()
    if ROOT in place.parents:  # of the project itself only what tools keep: .hypothesis, __pycache__, …
        return any(part.startswith((".", "__pycache__", "pytest-cache")) for part in place.relative_to(ROOT).parts)
    if place == ROOT:  # which is there already
        return True
    return any(place.is_relative_to(folder) for folder in FREE)


def guard(event, arguments):
    """An audit hook: what raises here does not happen. It sees Python's own calls, in this process."""
    if event == "open":
        path, _, flags = arguments
        if isinstance(path, int) or not (flags or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            return
    elif event in MADE:
        path = arguments[MADE[event]]
    else:
        return
    test = os.environ.get("PYTEST_CURRENT_TEST")
    assert test is None or may_be_written(path), f"{test} would write {path}; tests write in tmp_path"


sys.addaudithook(guard)


@pytest.fixture(scope="session", autouse=True)
def _folders_of_this_run(tmp_path_factory):
    """Those that pytest's --basetemp and PHISTAR_CACHE name may be anywhere."""
    given = (tmp_path_factory.getbasetemp(), os.environ.get("PHISTAR_CACHE"))
    FREE.update(Path(place).resolve() for place in given if place)


@pytest.hookimpl(tryfirst=True)  # before `-m` is applied
def pytest_collection_modifyitems(items):
    seen = Counter()
    for item in items:
        sampled = item.get_closest_marker("sampled")
        if sampled is not None and item.get_closest_marker("slow") is None:
            case = item.nodeid.split("[")[0]
            if seen[case] * GOLDEN % 1.0 >= 1.0 / sampled.args[0]:
                item.add_marker(pytest.mark.slow)
            seen[case] += 1


@pytest.fixture(autouse=True)
def _users_laws_end_with_their_test():
    """Laws that a test, a page or a docstring declares: other tests count the laws, and derive by them."""
    yield
    registry = sys.modules.get("phistar.identities.law")  # imported by few tests
    if registry is not None and any(law.own for law in registry.LAWS):
        from phistar.expression.own_laws import forget_derivations

        registry.LAWS[:] = [law for law in registry.LAWS if not law.own]
        forget_derivations()
