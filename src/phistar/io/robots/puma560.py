"""The Unimation PUMA 560, twice: Corke's numbers in standard DH, Armstrong's in modified DH.

The two differ in geometry and motor inertias, and their results are not interchangeable. Link 1 has no mass in either
(Armstrong found none), only a moment about the waist: a tensor no rigid body has. Nor has any body the moments of
Corke's link 3 (0.086 > 0.066 + 0.0125). Both are kept as published and stand in the model's warnings.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from phistar.io.dh import DHRow, from_dh
from phistar.io.robots.solids import DARK, ORANGE, ball, block, rod, tube
from phistar.model import Geometry, Model

CORKE = (
    "P. Corke, B. Armstrong-Helouvry, A search for consensus among model parameters reported for the PUMA 560 robot, "
    "IEEE ICRA 1994; numbers as in Robotics Toolbox for Python, models/DH/Puma560.py (MIT licence)"
)
ARMSTRONG = (
    "B. Armstrong, O. Khatib, J. Burdick, The explicit dynamic model and inertial parameters of the PUMA 560 arm, "
    "IEEE ICRA 1986; numbers as in Robotics Toolbox for MATLAB, mdl_puma560akb.m"
)

_QUARTER = np.pi / 2
_PEDESTAL = 0.67183  # floor to shoulder: 26.45 inches

# a, α, d, mass, centre of mass, moments xx yy zz about it (no products), joint limit in degrees, gear ratio
_CORKE = (
    (0.0, _QUARTER, _PEDESTAL, 0.0, (0, 0, 0), (0, 0.35, 0), 160, -62.6111),
    (0.4318, 0.0, 0.0, 17.4, (-0.3638, 0.006, 0.2275), (0.13, 0.524, 0.539), 110, 107.815),
    (0.0203, -_QUARTER, 0.15005, 4.8, (-0.0203, -0.0141, 0.07), (0.066, 0.086, 0.0125), 135, -53.7063),
    (0.0, _QUARTER, 0.4318, 0.82, (0, 0.019, 0), (0.0018, 0.0013, 0.0018), 266, 76.0364),
    (0.0, -_QUARTER, 0.0, 0.34, (0, 0, 0), (0.0003, 0.0004, 0.0003), 100, 71.923),
    (0.0, 0.0, 0.0, 0.09, (0, 0, 0.032), (0.00015, 0.00015, 4e-05), 266, 76.686),
)
_ARMSTRONG = (
    (0.0, 0.0, 0.0, 0.0, (0, 0, 0), (0, 0, 0.35), None, -62.6111),
    (0.0, -_QUARTER, 0.2435, 17.4, (0.068, 0.006, -0.016), (0.13, 0.524, 0.539), None, 107.815),
    (0.4318, 0.0, -0.0934, 4.8, (0, -0.07, 0.014), (0.066, 0.0125, 0.066), None, -53.7063),
    (-0.0203, _QUARTER, 0.4331, 0.82, (0, 0, -0.019), (0.0018, 0.0018, 0.0013), None, 76.0364),
    (0.0, -_QUARTER, 0.0, 0.34, (0, 0, 0), (0.0003, 0.0003, 0.0004), None, 71.923),
    (0.0, _QUARTER, 0.0, 0.09, (0, 0, 0.032), (0.00015, 0.00015, 4e-05), None, 76.686),
)
# At the motor: rotor inertia Jm, viscous friction B, Coulomb friction Tc for positive and for negative rates
_CORKE_MOTORS = (
    (0.0002, 0.00148, 0.395, 0.435),
    (0.0002, 0.000817, 0.126, 0.071),
    (0.0002, 0.00138, 0.132, 0.105),
    (3.3e-05, 7.12e-05, 0.0112, 0.0169),
    (3.3e-05, 8.26e-05, 0.00926, 0.0145),
    (3.3e-05, 3.67e-05, 0.00396, 0.0105),
)
_ARMSTRONG_ROTORS = (0.000291, 0.000409, 0.000299, 3.5e-05, 3.5e-05, 3.5e-05)


def corke(gravity: Sequence[float], strict: bool = False, motors: bool = True, friction: bool = True) -> Model:
    """Corke's PUMA 560: standard DH, tool frame at the wrist centre, waist pivot on the floor (d1 = 0.67183 m).

    With `motors`, rotors and gears: G²Jm on the mass matrix's diagonal. With `friction`, viscous B and Coulomb Tc,
    measured at the motor, on the joint's side of the gear: G²B and |G|Tc.
    """
    rows = []
    for row, (rotor, viscous, forward, backward) in zip(_rows(_CORKE, _corke_solids()), _CORKE_MOTORS, strict=True):
        gear = row.gear_ratio
        if friction:
            row = replace(row, damping=gear**2 * viscous, friction=(abs(gear) * forward, abs(gear) * backward))
        rows.append(_with_rotor(row, rotor, motors))
    return from_dh(rows, "standard", "puma560", gravity, base_geometry=_pedestal(floor=0.0), strict=strict)


def armstrong(gravity: Sequence[float], strict: bool = False, motors: bool = True) -> Model:
    """Armstrong, Khatib and Burdick's PUMA 560: modified DH, origin at the shoulder; no friction, no limits given.

    The moment of link 3 about its z axis, 0.066, is the cited file's; Corke's table has 0.086 for the same axis.
    """
    table = zip(_rows(_ARMSTRONG, _armstrong_solids()), _ARMSTRONG_ROTORS, strict=True)
    rows = [_with_rotor(row, rotor, motors) for row, rotor in table]
    return from_dh(rows, "modified", "puma560_akb", gravity, base_geometry=_pedestal(floor=-_PEDESTAL), strict=strict)


def _rows(table: tuple, solids: list[list[Geometry]]) -> list[DHRow]:
    return [
        DHRow(
            a=a,
            alpha=alpha,
            d=d,
            mass=mass,
            com=com,
            inertia=np.diag(moments),
            limits=None if limit is None else (-np.deg2rad(limit), np.deg2rad(limit)),
            gear_ratio=gear,
            geometry=shapes,
        )
        for (a, alpha, d, mass, com, moments, limit, gear), shapes in zip(table, solids, strict=True)
    ]


def _with_rotor(row: DHRow, rotor_inertia: float, motors: bool) -> DHRow:
    return replace(row, rotor_inertia=rotor_inertia) if motors else replace(row, gear_ratio=1.0)


def _pedestal(floor: float) -> list[Geometry]:
    """Plate and column under the waist, up to 13 cm below the shoulder."""
    plate = tube((0, 0, floor), (0, 0, floor + 0.02), 0.16, DARK)
    column = tube((0, 0, floor + 0.02), (0, 0, floor + _PEDESTAL - 0.13), 0.09, DARK)
    return [*plate, *column]


def _corke_solids() -> list[list[Geometry]]:
    """Solids in the distal frames: the shoulder lies across the waist, the arm beside it, the forearm along z3."""
    return [
        [*tube((0, -0.13, 0), (0, 0, 0), 0.09), *tube((0, 0, -0.10), (0, 0, 0.175), 0.085, ORANGE)],
        [*block((0.58, 0.16, 0.09), (-0.25, 0, 0.225))],
        [*tube((-0.0203, -0.02, 0), (-0.0203, 0.06, 0), 0.07, ORANGE), *rod((-0.0203, 0.015, 0), (0, 0, 0.28), 0.045)],
        [*tube((0, -0.13, 0), (0, -0.045, 0), 0.04, DARK)],
        [*ball(0.045, color=ORANGE)],
        [*tube((0, 0, 0.03), (0, 0, 0.056), 0.032, DARK)],
    ]


def _armstrong_solids() -> list[list[Geometry]]:
    """The same solids in frames on the joint axes, where the upper arm is along x2 and the forearm along −y3."""
    return [
        [*tube((0, 0, -0.13), (0, 0, 0), 0.09), *tube((0, -0.10, 0), (0, 0.18, 0), 0.085, ORANGE)],
        [*block((0.58, 0.16, 0.09), (0.18, 0, -0.016))],
        [*tube((0, 0, -0.06), (0, 0, 0.03), 0.07, ORANGE), *rod((0, 0, -0.015), (-0.0203, -0.28, 0), 0.045)],
        [*tube((0, 0, -0.13), (0, 0, -0.045), 0.04, DARK)],
        [*ball(0.045, color=ORANGE)],
        [*tube((0, 0, 0.03), (0, 0, 0.056), 0.032, DARK)],
    ]
