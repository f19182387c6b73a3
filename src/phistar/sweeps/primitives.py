"""The memoryless functions that programs call, one row each: how it is printed, and what it is on patterns.

The formula on blocks is the row of the same name in `phistar/backends/links/formulas.py`. What a chain of revolute
joints about z needs is counted, as everything in `patterns.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from phistar.sweeps.pattern_arithmetic import (
    COLUMN,
    ROTATION,
    Block,
    Pattern,
    Tally,
    rows,
    skew,
    transpose_pattern,
    zeros,
)


@dataclass(frozen=True)
class Primitive:
    """`text` as `algorithm()` prints it, {} being the first argument; `count` gives the pattern of the block at link k
    and adds the operations to a tally."""

    text: str
    count: Callable[..., Block]

    def show(self, arguments: list[str]) -> str:
        return self.text.format(*arguments)


def _pose(tally: Tally, k: int) -> Pattern:
    if k > 0:
        tally.times(ROTATION, ROTATION)
        tally.sum([(1, COLUMN), (1, tally.times(ROTATION, COLUMN))], False)
    return ROTATION


def _bias_acceleration(tally: Tally, k: int, velocity: Pattern, v: Pattern) -> Block:
    if k == 0:
        return None
    spin: Pattern = [[0], [0], [2]]
    parent = rows(velocity, 0, 3)
    tally.adds += 1
    reach = tally.times(ROTATION, COLUMN)
    assert reach is not None
    return [*tally.cross(parent, spin), *tally.cross(parent, tally.cross(parent, reach))]


def _rotor_moment(tally: Tally, k: int, velocity: Pattern, v: Pattern) -> Block:
    spin: Pattern = [[0], [0], [2]]
    tally.multiplies += 1
    return [*tally.cross(rows(velocity, 0, 3), spin), [0], [0], [0]]


def _reference_acceleration(
    tally: Tally, k: int, velocity: Pattern, v: Pattern, reference: Pattern, v_r: Pattern
) -> Block:
    if k == 0:
        return None
    spin: Pattern = [[0], [0], [2]]
    parent, parent_r = rows(velocity, 0, 3), rows(reference, 0, 3)
    tally.adds += 2
    reach = tally.times(ROTATION, COLUMN)
    assert reach is not None
    return [*tally.cross(parent, spin), *tally.cross(parent_r, tally.cross(parent, reach))]


def _reference_turning(tally: Tally, k: int, velocity: Pattern, v: Pattern, reference: Pattern, v_r: Pattern) -> Block:
    omega = rows(velocity, 0, 3)
    return [*tally.cross(omega, rows(reference, 0, 3)), *tally.cross(omega, rows(reference, 3, 6))]


def _reference_rotor_moment(tally: Tally, k: int, velocity: Pattern, v: Pattern, v_r: Pattern) -> Block:
    return _rotor_moment(tally, k, velocity, v_r)


def _reference_force(tally: Tally, k: int, mass: Pattern, velocity: Pattern, reference: Pattern) -> Pattern:
    omega, omega_r = rows(velocity, 0, 3), rows(reference, 0, 3)
    moment = tally.times([row[:3] for row in mass[:3]], omega_r)
    moment = tally.sum([(1, moment), (2, omega_r)], False)
    force = tally.times([row[:3] for row in mass[3:]], omega)
    assert moment is not None and force is not None
    return [*tally.cross(omega, moment), *tally.cross(omega_r, force)]


def _motion_bracket(tally: Tally, k: int, motion: Block) -> Block:
    if motion is None:
        return None
    spin, slide = (skew(rows(motion, i, i + 3)) for i in (0, 3))
    return [*[[*row, 0, 0, 0] for row in spin], *[[*a, *b] for a, b in zip(slide, spin, strict=True)]]


def _force_bracket(tally: Tally, k: int, force: Block) -> Block:
    if force is None:
        return None
    moment, push = (skew(rows(force, i, i + 3)) for i in (0, 3))
    return [*[[*a, *b] for a, b in zip(moment, push, strict=True)], *[[*row, 0, 0, 0] for row in push]]


def _frame_turn(tally: Tally, k: int, motion: Pattern) -> Block:
    spin = skew(rows(motion, 0, 3))
    return [*[[*row, 0, 0, 0] for row in spin], *[[0, 0, 0, *row] for row in spin]]


def _frame_sweep(tally: Tally, k: int, vector: Pattern) -> Block:
    return [[*row, 0, 0, 0] for i in (0, 3) for row in skew(rows(vector, i, i + 3))]


def _axes_axial(tally: Tally, k: int, block: Block) -> Block:
    return None  # of constant axes


def _axial(tally: Tally, k: int, block: Block) -> Block:
    tally.adds += 0 if block is None else 9
    return None if block is None else [[2] for _ in range(6)]


def _own_bracket(tally: Tally, k: int, v: Pattern) -> Block:
    return None  # of one axis


def _coriolis_block(tally: Tally, k: int, velocity: Pattern) -> Pattern:
    spin, linear = skew(rows(velocity, 0, 3)), rows(velocity, 3, 6)
    turned = tally.times(spin, [[2] * 3 for _ in range(3)])
    whole = tally.sum([(1, turned), (1, tally.times(linear, [[2, 2, 2]]))], False)
    momentum = tally.sum([(2, linear), (1, tally.times(spin, COLUMN))], False)
    tally.adds += 3
    left = [*(whole or zeros(3, 3)), *skew(momentum or zeros(3, 1))]
    return [[*row, 0, 0, 0] for row in left]


def _diagonal(tally: Tally, k: int, weights: Pattern) -> Block:
    return [[2]]


def _subspace_rate(tally: Tally, k: int, v: Pattern) -> Block:
    return None


def _turning(tally: Tally, k: int, block: Pattern, v: Pattern) -> Block:
    spin: Pattern = [[0, 2, 0], [2, 0, 0], [0, 0, 0]]
    cross = [*[[*row, 0, 0, 0] for row in spin], *[[0, 0, 0, *row] for row in spin]]
    half = tally.times(cross, block)
    assert half is not None
    return tally.sum([(1, half), (1, transpose_pattern(half))], True)


def _bias_force(tally: Tally, k: int, mass: Pattern, velocity: Pattern) -> Pattern:
    omega = rows(velocity, 0, 3)
    momentum = tally.times([row[:3] for row in mass], omega)
    assert momentum is not None
    return [*tally.cross(omega, momentum[:3]), *tally.cross(omega, momentum[3:])]


def _bias_acceleration_at_frames(tally: Tally, k: int, velocities: list[Pattern]) -> Pattern:
    omega = rows(velocities[-1], 0, 3)
    linear = tally.times(ROTATION, tally.cross(omega, tally.cross(omega, COLUMN)))
    assert linear is not None
    return [[0], [0], [0], *linear]


def _same(tally: Tally, k: int, block: Block, *others: Block) -> Block:
    """The block itself: both ends have the same axes."""
    return block


def _without(tally: Tally, k: int, whole: Block, part: Block) -> Block:
    return tally.sum([(1, whole), (1, part)], False)


def _parameter_forces(tally: Tally, k: int, velocity: Pattern, alpha: Pattern) -> Pattern:
    """Ten columns of Mα + b, one for each parameter: sums and products of entries of ω and α."""
    tally.adds += 36
    tally.multiplies += 24
    return [[2] * 6 for _ in range(10)]


def _poses(tally: Tally, k: int, places: object) -> Pattern:
    return [[2]] * 16


PRIMITIVES: dict[str, Primitive] = {
    "pose": Primitive("X(k+1) · X_joint(k)", _pose),
    "bias_acceleration": Primitive("[ω(k+1)×ω(k); ω(k+1)×(ω(k+1)×ℓ(k+1,k))]", _bias_acceleration),
    "reaching_acceleration": Primitive("[0; ω(k+1)×(ω(k+1)×ℓ(k+1,k))]", _bias_acceleration),
    "joint_acceleration": Primitive("[ω(k+1)×ω(k); 0]", _bias_acceleration),
    "rotor_moment": Primitive("[ω(k+1)×S(k)θ̇(k); 0]", _rotor_moment),
    "bias_force": Primitive("[ω(k)×I(k)ω(k); m(k) ω(k)×(ω(k)×p(k))]", _bias_force),
    "reference_acceleration": Primitive("[ω(k)×h(k)θ̇ᵣ(k); ωᵣ(k+1)×(ω(k+1)×ℓ(k+1,k))]", _reference_acceleration),
    "reference_force": Primitive("[ω(k)×(I(k) − ½tr I(k))ωᵣ(k); m(k) ωᵣ(k)×(ω(k)×p(k))]", _reference_force),
    "reference_rotor_moment": Primitive("[ω(k+1)×S(k)θ̇ᵣ(k); 0]", _reference_rotor_moment),
    "reference_turning": Primitive("−[ω(k)×ωᵣ(k); ω(k)×vᵣ(k)]", _reference_turning),
    "subspace_rate": Primitive("Ḣ*(k)", _subspace_rate),
    "turning": Primitive("[H*(k)θ̇(k)]×P⁺(k) + P⁺(k)[H*(k)θ̇(k)]×*", _turning),
    "diagonal": Primitive("diag[{}]", _diagonal),
    "coriolis_block": Primitive("½(V(k)×*M(k) + [M(k)V(k)]^ − M(k)V(k)~)", _coriolis_block),
    "own_bracket": Primitive("[H*(k)θ̇(k)]~ H*(k)", _own_bracket),
    "bias_acceleration_at_frames": Primitive("[0; ω×(ω×ℓ(1,0))]", _bias_acceleration_at_frames),
    "frame_poses": Primitive("X(1) · X_frame", _poses),
    "motion_bracket": Primitive("[{}]~", _motion_bracket),
    "force_bracket": Primitive("[{}]^", _force_bracket),
    "frame_turn": Primitive("Θ[{}]", _frame_turn),
    "frame_sweep": Primitive("Σ[{}]", _frame_sweep),
    "axial": Primitive("vex[{}]", _axial),
    "root": Primitive("{}^½", _diagonal),  # square roots are none of the operations that the papers count
    "axes_axial": Primitive("vex_H[{}]", _axes_axial),
    "motion_of_body": Primitive("φ_b*(k) {}", _same),
    "force_of_body": Primitive("φ_b⁻¹(k) {}", _same),
    "inertia_of_body": Primitive("φ_b⁻¹(k) {} φ_b⁻*(k)", _same),
    "motion_in_body": Primitive("φ_b⁻*(k) {}", _same),
    "force_in_body": Primitive("φ_b(k) {}", _same),
    "lift": Primitive("[0; −{}]", _same),
    "without": Primitive("{} − {}", _without),
    "parameter_forces": Primitive("Y*({}, {})", _parameter_forces),
}
"""φ_b is from a link's axes to its body's."""
