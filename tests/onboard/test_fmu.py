"""An FMU of a control law gives what the law gives, sample by sample; checked with FMPy where it is installed."""

import shutil

import numpy as np
import pytest

import phistar as ps
from phistar.errors import FileError
from tests.onboard.fmi_calls import Fmu

COMPILER = next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)
pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler (cc, gcc or clang) on this machine")
PERIOD, SAMPLES = 0.001, 50


@pytest.fixture(scope="module")
def law():
    """Both arms of the grapple on their base: twelve joints."""
    from phistar.capture.capture_roles import CaptureLayout
    from phistar.capture.robot import Arms
    from tests.capture.grapple_layout import WHO

    pytest.importorskip("pydantic")
    model = Arms.of(ps.Scene.load("grapple").setting(0).model, CaptureLayout.of(WHO)).model
    return ps.control.InverseDynamicsControl(model, kp=100.0)


@pytest.fixture(scope="module")
def fmu(law, tmp_path_factory):
    return ps.onboard.export_fmu(law, law.model, tmp_path_factory.mktemp("fmu") / "arms.fmu")


def samples(model):
    rng = np.random.default_rng(5)
    q = np.cumsum(rng.normal(0, 0.02, (SAMPLES, model.nq)), axis=0)
    v, reference = rng.normal(0, 1.0, (SAMPLES, model.nv)), rng.normal(0, 1.0, (SAMPLES, model.nq + 2 * model.nv))
    return q, v, reference


def meant(law):
    rows = zip(*samples(law.model), strict=True)
    return np.array([law(k * PERIOD, q, v, reference) for k, (q, v, reference) in enumerate(rows)])


def test_the_binary_gives_the_laws_numbers_by_fmis_own_calls(law, fmu, tmp_path):
    own, found = Fmu(fmu, tmp_path), []
    assert own.instance("another token") is None
    assert own.begin() == 0
    for k, rows in enumerate(zip(*samples(law.model), strict=True)):
        assert own.set(np.concatenate(rows)) == 0
        assert own.step(k * PERIOD, PERIOD) == 0
        found.append(own.outputs)
    assert own.set([0.0], places=own.places["output"][:1]) != 0
    own.free()
    expected = meant(law)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_fmpy_reads_it_and_steps_it_to_the_laws_numbers(law, fmu):
    fmpy, validation = pytest.importorskip("fmpy"), pytest.importorskip("fmpy.validation")
    assert not validation.validate_fmu(str(fmu))
    q, v, reference = samples(law.model)
    names = [
        f"{name}[{i}]" for name, rows in (("q", q), ("v", v), ("reference", reference)) for i in range(rows.shape[1])
    ]
    signals = np.zeros(SAMPLES, dtype=[("time", "f8"), *((name, "f8") for name in names)])
    signals["time"] = PERIOD * np.arange(SAMPLES)
    for name, row in zip(names, np.concatenate([q, v, reference], axis=1).T, strict=True):
        signals[name] = row
    outputs = [f"out[{i}]" for i in range(law.model.nv)]
    made = fmpy.simulate_fmu(
        str(fmu), stop_time=PERIOD * (SAMPLES - 1), output_interval=PERIOD, input=signals, output=outputs
    )
    found, expected = np.stack([made[name] for name in outputs], axis=1), meant(law)
    np.testing.assert_allclose(found[1:], expected[:-1], rtol=0, atol=1e-12 * np.abs(expected).max())


def test_a_file_of_another_name_is_refused(law, tmp_path):
    with pytest.raises(FileError, match=r"NAME\.fmu"):
        ps.onboard.export_fmu(law, law.model, tmp_path / "arms.zip")
