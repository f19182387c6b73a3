"""A NaN spoils its own row: no other row, and without a warning of NumPy's (its floating-point flags stay down)."""

import numpy as np
import pytest

import phistar as ps

ARMS = {"puma560": lambda: ps.load("puma560"), "freeflyer": lambda: ps.load("freeflyer"), "long": lambda: ps.chain(45)}
FUNCTIONS = [
    (ps.forward_dynamics, "qvt"),
    (ps.inverse_dynamics, "qvt"),
    (ps.bias, "qv"),
    (ps.joint_friction, "qv"),
    (ps.kinetic_energy, "qv"),
    (ps.gravity_load, "q"),
    (ps.mass_matrix, "q"),
    (ps.center_of_mass, "q"),
    (ps.jacobian, "qf"),
    (ps.forward_kinematics, "qf"),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("rows", [1, 7])
@pytest.mark.parametrize("function, takes", FUNCTIONS)
@pytest.mark.parametrize("arm", ARMS)
def test_a_nan_spoils_its_own_row_and_raises_no_flag(arm, function, takes, rows):
    model, rng = ARMS[arm](), np.random.default_rng(0)
    given = {"q": model.random(rng, (rows,)), "f": list(model.frames)[-1]}
    given |= {name: rng.standard_normal((rows, model.nv)) for name in "vt"}
    known = np.asarray(function(model, *(given[name] for name in takes)))
    for name in (name for name in takes if name != "f"):
        spoiled = {**given, name: given[name].copy()}
        spoiled[name][0] = np.nan
        with np.errstate(all="raise", under="ignore"):
            made = np.asarray(function(model, *(spoiled[name] for name in takes)))
        assert np.isnan(made[0]).any() or function is not ps.forward_dynamics
        np.testing.assert_array_equal(made[1:], known[1:])


@pytest.mark.filterwarnings("error")
def test_the_sign_of_nan_is_nan_without_a_flag_and_that_of_zero_is_zero():
    sign = ps.compile(lambda x: np.sign(x), ps.chain(2), rows={"x": 5})
    with np.errstate(all="raise"):
        made = sign(np.array([np.nan, -3.0, 0.0, 5e-324, -np.inf]))
    np.testing.assert_array_equal(made, [np.nan, -1.0, 0.0, 1.0, -1.0])
