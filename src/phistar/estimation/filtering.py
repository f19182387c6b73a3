"""Forward dynamics as a Kalman filter and a Bryson-Frazier smoother (R87 §VIII), with everything on the way kept.

The filter runs inward and estimates the force on each link from the joint forces outboard of it; the smoother runs
outward and turns what was new in each joint force into accelerations. Gravity and loads are forces on the links, so
that costates are the links' accelerations and a residual is what a joint would do with the joints inboard of it locked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from phistar.array_types import Array
from phistar.backends.programs.derivations import AS_WRITTEN, JOSEPH
from phistar.backends.programs.program import BLOCKS
from phistar.errors import UnknownNameError
from phistar.estimation.link_arrays import over_joints, over_links, require_joints
from phistar.estimation.square_root import square_root_filter
from phistar.identities import smoothing
from phistar.model import Model, require_tree
from phistar.model.check import check_robot
from phistar.operators.nodes import Node
from phistar.operators.symbols import Symbols
from phistar.short_repr import short_repr
from phistar.stated import Stated, states
from phistar.stated_arguments import external_forces

Statement = Callable[[Symbols, bool], Node]
STATEMENTS: dict[str, Statement] = {
    "accelerations": smoothing.smoothed_accelerations,
    "innovations": lambda s, _: smoothing.filtered_innovations(s),
    "residuals": lambda s, _: smoothing.residuals(s),
    "predicted_states": lambda s, _: smoothing.predicted_states(s),
    "states": smoothing.smoothed_states,
    "costates": smoothing.costates,
    "gains": lambda s, _: s.G,
    "inertias": lambda s, _: s.P,
    "updated_inertias": lambda s, _: smoothing.updated_inertia(s),
    "joint_inertias": lambda s, _: s.D,
}
"""Each quantity that can be kept, as the statement it is; the flag says whether the base is driven."""

OPERATORS = {"gains", "inertias", "updated_inertias", "joint_inertias"}
UPDATES = {"conventional": AS_WRITTEN, "joseph": JOSEPH}
"""How P⁺ is made, and the form of the statements that makes it so; the square root has no statement."""


@short_repr
@dataclass(frozen=True, eq=False)
class Filtered:
    """Result of forward dynamics by filter and smoother: the accelerations, and what `keep` asked for.

    Link vectors are in the link's axes at its origin, angular part first; n is the number of links, r the largest
    number of freedoms of a joint. An attribute that was not kept raises an `UnknownNameError`.

    Examples
    --------
    >>> arm = ps.load("puma560")
    >>> q, v, tau = np.zeros((3, 6))
    >>> found = ps.estimation.forward_dynamics(arm, q, v, tau, keep=["innovations"])
    >>> found.accelerations.shape
    (6,)
    """

    kept: Mapping[str, Array]

    def _quantity(self, name: str) -> np.ndarray:
        if name not in self.kept:
            raise UnknownNameError(f"The {name} were not kept; ask for them with keep=[{name!r}].")
        return self.kept[name]

    @property
    def accelerations(self) -> Array:
        """θ̈, (…, nv) (R87 eq. 46)."""
        return self._quantity("accelerations")

    @property
    def innovations(self) -> Array:
        """e⁻ = T − Hz⁻, (…, nv): of each joint force what those outboard did not tell (eq. 40)."""
        return self._quantity("innovations")

    @property
    def residuals(self) -> Array:
        """e⁺ = D⁻¹e⁻, (…, nv): a joint's acceleration were all joints inboard of it locked (eq. 42)."""
        return self._quantity("residuals")

    @property
    def predicted_states(self) -> Array:
        """z⁻, (…, n, 6): the force on each link's inboard joint, from the joint forces outboard of it (eq. 36)."""
        return self._quantity("predicted_states")

    @property
    def states(self) -> Array:
        """x = z + Pλ, (…, n, 6): the force itself (eq. 34)."""
        return self._quantity("states")

    @property
    def costates(self) -> Array:
        """λ⁻, (…, n, 6): each link's acceleration (eqs. 45, 47); inertial, not in R87's link-frame convention."""
        return self._quantity("costates")

    @property
    def gains(self) -> Array:
        """G, (…, n, 6, r) (eq. 39)."""
        return self._quantity("gains")

    @property
    def inertias(self) -> Array:
        """P⁻, (…, n, 6, 6): articulated inertia, and covariance of the predicted state (eq. 37)."""
        return self._quantity("inertias")

    @property
    def updated_inertias(self) -> Array:
        """P⁺, (…, n, 6, 6): the same felt across the joint (eq. 43)."""
        return self._quantity("updated_inertias")

    @property
    def joint_inertias(self) -> Array:
        """D, (…, n, r, r): inertia about the joint, and variance of the innovation (eq. 38)."""
        return self._quantity("joint_inertias")


def forward_dynamics(
    model: Model,
    q: Any,
    v: Any,
    tau: Any,
    f_ext: Mapping[str, Any] | None = None,
    *,
    keep: Sequence[str] = (),
    update: str = "conventional",
    base_acceleration: Any = None,
) -> Filtered:
    """Joint accelerations by Kalman filter and smoother.

    One inward and one outward pass with the biases inside (R87 eqs. 35-47).

    Parameters
    ----------
    model : Model
    q, v, tau : (…, nq), (…, nv), (…, nv)
        Joint coordinates, rates and forces.
    f_ext : dict, optional
        External forces {frame: (…, 6)} as in `ps.forward_dynamics`.
    keep : sequence of str or "all"
        What else is wanted of `Filtered`.
    update : "conventional", "joseph" or "square_root"
        How the articulated inertia crosses a joint: eqs. 43 and 50, the Joseph form eq. 51, or factors of P (slower).
    base_acceleration : (…, 6), optional
        [ω̇; v̇] of the base in world axes at the world's origin.

    Returns
    -------
    Filtered
        `accelerations` (…, nv), and what was kept.

    Examples
    --------
    >>> arm = ps.load("puma560")
    >>> q, v, tau = np.zeros((3, 6))
    >>> found = ps.estimation.forward_dynamics(arm, q, v, tau)
    >>> bool(np.allclose(found.accelerations, ps.forward_dynamics(arm, q, v, tau)))
    True
    """
    check_robot("forward_dynamics", (model,))
    require_joints(model)
    wanted = _checked_keep(keep)
    require_tree(model, "the filter")
    frames: tuple[str, ...] = ()
    given = {"v": v, "T": tau}
    if f_ext:
        frames, given["f"] = external_forces(model, f_ext)
    if base_acceleration is not None:
        given["a_b"] = base_acceleration
    if update == "square_root":
        found = square_root_filter(model, q, given, frames)
        return Filtered({name: found[name] for name in wanted})
    if update not in UPDATES:
        choices = ", ".join((*UPDATES, "square_root"))
        raise UnknownNameError(f"{update!r} is no way to update P; choose from {choices}.")
    found = filter_function(wanted, UPDATES[update], "a_b" in given).evaluate_all(model, q, given, frames)
    return Filtered({name: in_public_shape(model, name, x) for name, x in found.items()})


def _checked_keep(keep: Sequence[str]) -> tuple[str, ...]:
    names = tuple(STATEMENTS) if keep == "all" else (keep,) if isinstance(keep, str) else tuple(keep)
    for name in names:
        if name not in STATEMENTS:
            raise UnknownNameError(f"The filter keeps no {name!r}; it has {', '.join(STATEMENTS)}.")
    return tuple(dict.fromkeys(("accelerations", *names)))


@cache
def filter_function(names: tuple[str, ...], form: str = AS_WRITTEN, driven: bool = False) -> Stated[..., Filtered]:
    """The equations of R87 §VIII for these quantities, as one function with several results."""

    def filter_forces(*arguments: Any) -> Filtered:
        return forward_dynamics(*arguments, keep=names)

    filter_forces.__name__ = f"filter of {', '.join(names)}; {form}{', driven' if driven else ''}"
    matrix = BLOCKS if set(names) & OPERATORS else False  # vectors alone run in loops over long chains
    return states(lambda s: {name: STATEMENTS[name](s, driven) for name in names}, matrix=matrix, form=form)(
        filter_forces
    )


def in_public_shape(model: Model, name: str, x: np.ndarray) -> Array:
    """A result of the statements as `Filtered` has it."""
    if name in ("accelerations", "innovations", "residuals"):
        return x
    if name == "joint_inertias":
        return over_joints(model, x)
    return over_links(model, x, columns=name not in ("predicted_states", "states", "costates"))
