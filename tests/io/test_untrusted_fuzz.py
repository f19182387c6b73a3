"""Mutated robot files: only a PhistarError may come out, in bounded time."""

import copy
import pickle
import signal
import warnings
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import phistar as ps
from tools.attack.mutate import TAGS

DATA = Path(__file__).resolve().parents[1] / "data"
SEEDS = [*sorted((DATA / "urdf").glob("*.urdf")), *sorted((DATA / "mjcf").glob("*.xml"))]
LONGEST_SECONDS = 20

VALUES = [
    *["nan", "inf", "-inf", "1e308", "-1e308", "1e-320", "1e30", "-1e30", "1e999", "1e-999", "0", "-1", "-0.0", "1"],
    *["", " ", "1 2", "0 0 0", "1e30 1e30 1e30", "0 0 0 0 0 0", "9" * 400, "0." + 300 * "0" + "1", "٣", "1_0", "${x}"],
    *[
        "world",
        "root",
        "a",
        "\u202e\U0001f916",
        "x" * 2000,
        "../../../etc/passwd",
        "package://",
        "file:///dev/zero",
        "%s{}",
    ],
    *["fixed", "floating", "planar", "continuous", "prismatic", "revolute", "true", "false"],
]


@contextmanager
def time_limit(seconds):
    """Turns a hang into a failure, where the system has alarms."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_):
        raise TimeoutError(f"loading took more than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def check(content: bytes, path: Path, floating: bool) -> None:
    """The file loads into a usable model, or is refused with a sentence; a warning of NumPy's counts as a failure."""
    path.write_bytes(content)
    with time_limit(LONGEST_SECONDS), warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            model = ps.load(path, floating=floating)
        except ps.PhistarError as problem:
            assert str(problem).strip()
            return
        assert pickle.loads(pickle.dumps(model)) == model
        assert model.random(0).shape == model.neutral().shape == (model.nq,)


@st.composite
def mutated_bytes(draw, seed: bytes) -> bytes:
    """Flips, cuts, repeats and insertions of bytes."""
    content = bytearray(seed)
    for _ in range(draw(st.integers(1, 8))):
        start = draw(st.integers(0, max(len(content) - 1, 0)))
        stop = min(len(content), start + draw(st.integers(0, 200)))
        match draw(st.sampled_from(["flip", "cut", "repeat", "insert", "truncate"])):
            case "flip" if content:
                content[start] ^= 1 << draw(st.integers(0, 7))
            case "cut":
                del content[start:stop]
            case "repeat":
                content[stop:stop] = content[start:stop] * draw(st.integers(1, 5))
            case "insert":
                content[start:start] = draw(st.binary(max_size=20))
            case "truncate" if draw(st.integers(0, 9)) == 0:
                del content[start:]
    return bytes(content)


@st.composite
def mutated_document(draw, seed: ElementTree.Element) -> bytes:
    """Elements deleted, repeated, moved and renamed; attributes deleted, swapped and given odd values."""
    root = copy.deepcopy(seed)
    names = sorted({element.get("name", "x") for element in root.iter()})
    for _ in range(draw(st.integers(1, 8))):
        elements = list(root.iter())
        element = draw(st.sampled_from(elements))
        parents = [parent for parent in elements if element in list(parent)]
        attribute = draw(st.sampled_from(sorted(element.attrib) or ["name"]))
        match draw(st.sampled_from(["value", "value", "name", "number", "forget", "delete", "repeat", "move", "tag"])):
            case "value":
                element.set(attribute, draw(st.sampled_from(VALUES)))
            case "name":
                element.set(attribute, draw(st.sampled_from(names)))
            case "number":
                element.set(attribute, " ".join(repr(draw(st.floats())) for _ in element.get(attribute, "0").split()))
            case "forget":
                element.attrib.pop(attribute, None)
            case "delete" if parents:
                parents[0].remove(element)
            case "repeat" if parents:
                parents[0].append(copy.deepcopy(element))
            case "move" if parents:
                parents[0].remove(element)
                root.append(element)
            case "tag":
                element.tag = draw(st.sampled_from(TAGS))
    return ElementTree.tostring(root)


@pytest.fixture(scope="module")
def target(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("fuzz") / "robot.urdf"


quick = settings(max_examples=60, suppress_health_check=list(HealthCheck))
thorough = settings(max_examples=500, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("seed", SEEDS, ids=lambda path: path.name)
@given(data=st.data())
@quick
def test_damaged_bytes_are_refused_or_load(seed, data, target):
    check(data.draw(mutated_bytes(seed.read_bytes())), target, data.draw(st.booleans()))


@pytest.mark.parametrize("seed", SEEDS, ids=lambda path: path.name)
@given(data=st.data())
@quick
def test_senseless_documents_are_refused_or_load(seed, data, target):
    check(data.draw(mutated_document(ElementTree.parse(seed).getroot())), target, data.draw(st.booleans()))


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS, ids=lambda path: path.name)
@given(data=st.data())
@thorough
def test_many_senseless_documents_are_refused_or_load(seed, data, target):
    check(data.draw(mutated_document(ElementTree.parse(seed).getroot())), target, data.draw(st.booleans()))


@given(content=st.binary(max_size=2000))
def test_random_bytes_are_refused(content, target):
    check(content, target, False)
