"""A first look at phistar, on the PUMA 560: a statement, its derivation, machine code, the arm swinging."""

import time
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.panel import Panel
from rich.table import Table

import phistar as ps

SECONDS, STATES = 4.0, 50_000


def statement(console: Console) -> None:
    """Forward dynamics, from what it means to what is computed."""
    fd = ps.forward_dynamics.statement
    console.print(Panel(f"θ̈ = {fd}", title="1. the statement that forward dynamics is", expand=False))
    table = Table(title="2. what the laws make of it", title_justify="left", show_edge=False, box=None)
    for name in ("form", "law", "cost"):
        table.add_column(name, style="dim" if name != "form" else "")
    derivation = fd.derivation()
    table.add_row(fd.show(), "", str(derivation.cost(fd.node)))
    for step in derivation.as_dict()["steps"]:
        source = f"{step['law']} ({step['citation']})" if step["citation"] else step["law"]
        table.add_row(f"= {step['statement']}", source, step["cost"])
    console.print(table)
    console.print(Panel(str(fd.algorithm()), title="3. the recursion it is, whatever the robot", expand=False))
    console.print(f"counted for n revolute links: {fd.cost_polynomial()}\n")


def speed(console: Console, model: ps.Model) -> None:
    """Machine code for this arm, called on many states at once."""
    rng = np.random.default_rng(0)
    q, v, tau = rng.uniform(-1, 1, size=(3, STATES, model.nv))
    start = time.perf_counter()
    ps.forward_dynamics(model, q[:1], v[:1], tau[:1])
    first = time.perf_counter() - start
    elapsed = min(timed(lambda: ps.forward_dynamics(model, q, v, tau)) for _ in range(10))
    a = ps.forward_dynamics(model, q, v, tau)
    error = np.max(np.abs(ps.inverse_dynamics(model, q, v, a) - tau))
    algebra = ps.algebra(model)
    chosen = ps.compile(algebra.mass.inv @ (algebra.T - algebra.C - algebra.g)).choice
    console.print(f"4. [bold]{model.name}[/], by {chosen}")
    console.print(f"   ready in {first:.2f} s, then {STATES:,} states in {1e3 * elapsed:.1f} ms,")
    console.print(f"   {1e9 * elapsed / STATES:.0f} ns each; ID(FD(τ)) − τ at most {error:.1e}\n")


def timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def swing(console: Console, model: ps.Model) -> None:
    """The arm let go: nothing but gravity and its own inertia, so its energy must not change."""
    free = ps.load("puma560", friction=False)
    start = np.array([0.3, 0.4, -0.5, 0.2, 0.6, -0.1])
    run = ps.simulate(free, start, np.zeros(6), SECONDS, t_eval=np.linspace(0, SECONDS, 61))
    console.print(f"5. let go, {SECONDS:g} s: shoulder, elbow and wrist angles")
    for joint in (1, 2, 4):
        console.print(f"   joint {joint + 1}  {line(run.q[:, joint])}")
    drift = np.ptp(run.energy) / np.max(np.abs(run.energy))
    console.print(f"   energy drift over the swing: {drift:.1e} of {np.max(np.abs(run.energy)):.1f} J")
    console.print('\nNext: [bold]phistar derive "J @ inv(mass) @ J.T"[/], [bold]phistar info YOUR.urdf[/], make docs')


def line(values: np.ndarray) -> str:
    """A curve in one line of text."""
    bars = "▁▂▃▄▅▆▇█"
    scaled = (values - values.min()) / max(np.ptp(values), 1e-12)
    return "".join(bars[round(x * (len(bars) - 1))] for x in scaled)


def main() -> None:
    console = Console()
    model = ps.load("puma560")
    statement(console)
    speed(console, model)
    swing(console, model)


if __name__ == "__main__":
    main()
