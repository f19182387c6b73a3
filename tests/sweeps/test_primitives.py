"""The table of primitives: each has its text, its count and its formula, and programs call nothing else."""

import pytest

from phistar.backends.links.formulas import FORMULAS
from phistar.backends.programs.body_axes import AXES, LIFT
from phistar.sweeps.evaluate import OF_LINKS
from phistar.sweeps.ir import OUTWARD, Call, Field, Program, Statement, Sweep
from phistar.sweeps.passes import validate
from phistar.sweeps.primitives import PRIMITIVES

OF_READERS = {*OF_LINKS, *AXES, LIFT, "pose", "reaching_acceleration"}
"""What belongs to how a reader goes along the links, or between axes of links and bodies."""


def test_every_primitive_has_one_formula_and_every_formula_is_printed_and_counted():
    assert PRIMITIVES.keys() == FORMULAS.keys() | OF_READERS
    assert not FORMULAS.keys() & OF_READERS


@pytest.mark.parametrize("name", PRIMITIVES)
def test_every_primitive_is_printed(name):
    shown = PRIMITIVES[name].show(["x(k)", "y(k)"])
    assert shown and "{" not in shown


def test_a_program_that_calls_what_is_no_primitive_is_refused():
    made = Statement("y", Call("velocity_of_light", (Field("x"),)))
    with pytest.raises(AssertionError, match="velocity_of_light is not in the table"):
        validate(Program((("x", "joints"),), (Sweep(OUTWARD, (made,)),), (("y", "links"),)))
