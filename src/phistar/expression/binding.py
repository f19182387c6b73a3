"""The algebra of a robot, or the abstract one: the symbols as attributes, and what laws may assume."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from typing import Any, overload

import numpy as np

from phistar.backends.links.values import has_constant_axes, has_rotors, has_siblings
from phistar.errors import StatementError, UnknownNameError
from phistar.expression.given import checked_closures
from phistar.expression.several import RobotsAlgebra
from phistar.expression.statement import Expression
from phistar.identities.law import Setting
from phistar.model import Model
from phistar.model.check import check_robot
from phistar.model.names import names_given
from phistar.operators.meanings import PRINTED
from phistar.operators.nodes import Node, Sum
from phistar.operators.own import own_operator, own_vector, space_named
from phistar.operators.spaces import Space
from phistar.operators.symbols import NAMES, Symbols


@dataclass(frozen=True)
class Algebra:
    """The symbols as attributes: A.H, A.phi, A.psi, … Each is an Expression."""

    symbols: Symbols
    setting: Setting
    model: Model | None = None
    operators: Mapping[str, Any] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Expression:
        if name not in NAMES:
            if name.startswith("_"):
                raise AttributeError(name)
            near = [known for known in NAMES if known.lower() == name.lower()] or get_close_matches(name, NAMES)
            hint = f"did you mean {' or '.join(near)}?" if near else f"it has {', '.join(NAMES)}."
            raise UnknownNameError(f"The algebra has no symbol {name!r}; {hint}")
        return self.expression(getattr(self.symbols, name))

    def __dir__(self) -> list[str]:
        return [*NAMES, "operator", "vector", "expression", "symbols", "setting", "model"]

    def operator(
        self,
        name: str,
        domain: str | Space,
        codomain: str | Space,
        structure: str = "",
        rank: int | None = None,
    ) -> Expression:
        """An operator of one's own: a weight, a spring, a metric, a selection of motors.

        It takes part in rewriting, printing, derivations and proofs. Its numbers are given by name where a statement is
        evaluated, `e.apply(q, x, S=…)` and `e.dense(q, S=…)`; in what `ps.compile` makes, and in C and CasADi, they are
        constants if they were bound beforehand, `e.given(S=…)`, and an argument if not: `function(q, x, S)` takes
        matrices (…, rows, columns), C and CasADi the entries of its blocks, row by row. The structure is checked.

        Parameters
        ----------
        name : str
            How it is shown and given; not the name of a symbol that the algebra has.
        domain, codomain : str or Space
            "Rates", "Torques", "Motions", "Forces", "TaskMotions", "TaskForces", "ClosureMotions", "ClosureForces";
            "R1" to "R64", of so many coordinates.
        structure : str
            Words of "symmetric", "positive" and "block-diagonal", or "positive low rank".
        rank : int, optional
            Of an operator of low rank, X = L*L with L of so many rows: X is given as L, or to `apply`, `dense` and
            `given` as the whole matrix, whose rank is checked.

        Returns
        -------
        Expression
            The symbol as a statement.

        Example
        -------
        >>> import numpy as np, phistar as ps
        >>> A = ps.algebra(ps.chain(3))
        >>> S = A.operator("S", "Rates", "Torques", structure="positive block-diagonal")
        >>> (A.mass + S).inv.simplify()
        (I − Hψ′K′)*D′⁻¹(I − Hψ′K′)
        >>> (A.mass + S).inv.apply(np.zeros(3), np.ones(3), S=np.eye(3)).shape
        (3,)
        >>> Z = A.operator("Z", "Rates", "Torques", structure="positive low rank", rank=1)
        >>> (A.mass + Z).inv.apply(np.zeros(3), np.ones(3), Z=np.ones((3, 3))).shape
        (3,)
        """
        self._check_name(name)
        task = self.symbols.task
        spaces = space_named(domain, task), space_named(codomain, task)
        return self.expression(own_operator(name, *spaces, structure, rank))

    def vector(self, name: str, space: str | Space) -> Expression:
        """A vector of one's own, in one of the spaces that `operator` names; given by name as v and T are.

        Example
        -------
        >>> import numpy as np, phistar as ps
        >>> A = ps.algebra(ps.chain(3))
        >>> (A.mass.inv @ A.vector("w", "Torques")).apply(np.zeros(3), w=np.ones(3)).shape
        (3,)
        """
        self._check_name(name)
        return self.expression(own_vector(name, space_named(space, self.symbols.task)))

    def _check_name(self, name: str) -> None:
        """A built-in's name is refused, unless this mechanism has no such thing (S without rotors)."""
        built_in = getattr(self.symbols, name, None) if name in NAMES else None
        absent = isinstance(built_in, Sum) and not built_in.terms
        if (name in NAMES and not absent) or name in PRINTED or name in ("x", "q", "X", "Lambda"):
            raise StatementError(f"{name} is a symbol of the algebra already; give yours another name.")

    def expression(self, node: Node) -> Expression:
        return Expression(node, self.symbols, self.setting, self.model, self.operators)

    @cached_property
    def Lambda(self) -> Expression:
        """The operational-space inertia (Jℳ⁻¹J*)⁻¹ of a mechanism without loops."""
        if self.model is not None and self.model.loops:
            raise StatementError(
                f"{self.model.name} has loops, and the algebra's operators are its spanning tree's: (Jℳ⁻¹J*)⁻¹ is not "
                "the inertia of its frames. ps.operational_space(model, q, v, frame) gives the closed chain's, as "
                "statements ps.loops.closed_chain(model, q, v, frame) and ps.algebra(model.embedded(), "
                "frames=…).Lambda do; ps.algebra(model.tree, …) is the tree's."
            )
        s = self.symbols
        return self.expression((s.J @ s.mass.inv @ s.J.T).inv)


Frames = str | list[str] | tuple[str, ...]


@overload
def algebra(
    model: Model | None = None,
    frames: Frames = (),
    *,
    tree: bool | None = None,
    armature: bool | None = None,
    nonredundant: bool | None = None,
    Q: Any = None,
) -> Algebra: ...
@overload
def algebra(model: Mapping[str, Model | None], frames: Mapping[str, Frames] | Frames = ()) -> RobotsAlgebra: ...
def algebra(
    model: Model | Mapping[str, Model | None] | None = None,
    frames: Frames | Mapping[str, Frames] = (),
    *,
    tree: bool | None = None,
    armature: bool | None = None,
    nonredundant: bool | None = None,
    Q: Any = None,
) -> Algebra | RobotsAlgebra:
    """The operators of a model with task frames, or (without a model) the abstract ones.

    Abstract, the mechanism is the papers': a serial chain with one tip and no armature, unless `tree` or `armature`.
    With a model, the model says what it is: a flag that contradicts it is refused. The operators of a model with loops
    are its spanning tree's.

    Parameters
    ----------
    model : Model, or {name: Model or None}, optional
        The robot that statements are about; or several robots by name, whose task frames are the same points.
    frames : str or list of str, or {name: str or list of str}
        Names of the task frames, of each robot where there are several.
    tree, armature, nonredundant : bool, optional
        Whether the mechanism branches, has motor inertia, has no more dofs than its task.
    Q : array (rows, 6·frames), optional
        The closure operator (RJK91 eq. 22).

    Returns
    -------
    Algebra or RobotsAlgebra
        Its attributes are the symbols: A.H, A.phi, A.psi, …; of several robots, A.left.J, A.right.mass, …

    Example
    -------
    >>> import phistar as ps
    >>> A = ps.algebra()
    >>> A.mass.inv.simplify()
    (I − HψK)*D⁻¹(I − HψK)
    """
    if isinstance(model, Mapping):
        return _several(model, frames, tree, armature, nonredundant, Q)
    if isinstance(frames, Mapping):
        raise StatementError("Frames by robot are for several robots: ps.algebra({name: model, …}, frames={name: …}).")
    if model is not None:
        check_robot("algebra", (model,))
    names = names_given(frames)
    if model is None:
        one, branches = len(names) <= 1, bool(tree)
        one_frame = len(names) == 1 if branches else one
        setting = Setting(not branches, one and not branches, one_frame, not armature, bool(nonredundant))
        return Algebra(Symbols(names or None, bool(armature), siblings=branches), setting)
    operators = {} if Q is None else {"Q": checked_closures(Q, names)}
    setting = setting_of(model, names)
    _check_flags(model, setting, tree=tree, armature=armature, nonredundant=nonredundant)
    return Algebra(symbols_of(model, names), setting, model, operators)


def _several(robots: Mapping[str, Model | None], frames: Any, *said: Any) -> RobotsAlgebra:
    """An algebra for each robot, all with as many task frames."""
    if not robots or not all(isinstance(name, str) and name.isidentifier() for name in robots):
        raise StatementError(f"Robots are named by letters and digits, such as left or arm_1; given {list(robots)}.")
    if any(flag is not None for flag in said):
        raise StatementError("tree, armature, nonredundant and Q are for one robot; of several, the models say it.")
    named = frames if isinstance(frames, Mapping) else dict.fromkeys(robots, frames)
    if set(named) - set(robots):
        raise StatementError(
            f"Frames are named for {', '.join(set(named) - set(robots))}, which is none of the robots."
        )
    made = {name: algebra(robot, named.get(name, ())) for name, robot in robots.items()}
    counts = {len(one.symbols.frames or ("tip",)) for one in made.values()}
    if len(counts) > 1:
        told = ", ".join(f"{name} has {len(one.symbols.frames or ('tip',))}" for name, one in made.items())
        raise StatementError(f"Task frames of different robots are the same points, so each has as many; {told}.")
    return RobotsAlgebra(made)


def _check_flags(model: Model, setting: Setting, **said: bool | None) -> None:
    """Refuse what contradicts the model: it would be ignored."""
    facts = {"tree": not setting.serial, "armature": not setting.no_armature, "nonredundant": setting.nonredundant}
    what = {
        "tree": ("branches", "is a serial chain"),
        "armature": ("has joints with armature", "has no armature"),
        "nonredundant": ("has no more dofs than its task", f"has {model.nv} dofs, more than its task frames have"),
    }
    for name, flag in said.items():
        if flag is not None and bool(flag) != facts[name]:
            told = what[name][0 if facts[name] else 1]
            raise StatementError(
                f"ps.algebra({model.name}, {name}={flag}): {model.name} {told}. What a model is need not be said; "
                f"leave {name} out, or take the abstract algebra, ps.algebra({name}={flag})."
            )


def symbols_of(model: Model, frames: tuple[str, ...]) -> Symbols:
    """The symbols of a model: with armature, rotors and siblings where it has them."""
    return Symbols(frames, bool(np.any(model.armature)), rotors=has_rotors(model), siblings=has_siblings(model))


def setting_of(model: Model, frames: tuple[str, ...]) -> Setting:
    """Assumptions open to laws on a model and its frames."""
    bodies = [model.frame(name).body for name in frames]
    if model.embedding is not None:  # compound links: nothing is known of their order and axes
        return Setting(False, False, len(frames) == 1, not np.any(model.armature), model.nv <= 6 * len(frames), False)
    return Setting(
        serial=model.is_serial,
        tips=all(body < 0 or not model.children[body] for body in bodies),
        one_frame=len(frames) == 1,
        no_armature=not np.any(model.armature),
        nonredundant=model.nv <= 6 * len(frames),
        constant_axes=has_constant_axes(model),
    )
