"""Second derivatives of the dynamics: time, operations and bytes a state, in batches on one core.

python benchmarks/second_order.py [STATES]

Talos with its head held is a robot of 36 dofs, ANYmal of 18. To reach: inverse dynamics of 36 dofs within 60 µs and of
18 within 12 µs a state, forward dynamics of 36 within 400 µs (Singh and Wensing, Transactions on Robotics 2024, report
200, 51 and 2,100 µs of their C++). Entries that can be nonzero are written, symmetric ones once. Contracted by weights
(`ps.optimize.forward_dynamics_hessian`), forward dynamics of HyQ (18 dofs) within 10 and of Talos (38) within 50 µs.
Times are of the thread, the least of many rounds; each kernel is first compared with differences.
"""

import sys
import time
from collections.abc import Callable

import numpy as np

import phistar as ps
from phistar.cli.benchmark.robots import RobotFile, build
from phistar.model import Fixed, Model
from phistar.second_derivatives import solved_tensors_of, tensors_of

ROUNDS, SECONDS = 200, 4.0
GOALS = {("anymal", "inverse"): 12.0, ("talos", "inverse"): 60.0, ("talos", "forward"): 400.0}  # µs
FUNCTIONS = {"inverse": ps.inverse_dynamics_second_derivatives, "forward": ps.forward_dynamics_second_derivatives}
KERNELS = {"inverse": tensors_of, "forward": solved_tensors_of}
FIRST = {"inverse": ps.inverse_dynamics_derivatives, "forward": ps.forward_dynamics_derivatives}


def robot(name: str) -> Model:
    """ANYmal with its 18 dofs; Talos with its head held, 36."""
    model = build(name)
    head = {joint.name: Fixed() for joint in model.joints if joint.name.startswith("head")}
    return model.replace(joints=head) if head else model


def least(call: Callable[[], object]) -> float:
    """Seconds of the fastest round."""
    best, start = np.inf, time.perf_counter()
    for _ in range(ROUNDS):
        began = time.thread_time()
        call()
        best = min(best, time.thread_time() - began)
        if time.perf_counter() - start > SECONDS:
            break
    return best


def difference(model: Model, which: str, q: np.ndarray, v: np.ndarray, third: np.ndarray) -> float:
    """The largest relative difference from central differences along one direction."""
    way, step = np.random.default_rng(1).normal(size=model.nv), 1e-6
    found = FUNCTIONS[which](model, q, v, third)
    ends = [FIRST[which](model, model.integrate(q, h * way), v, third) for h in (step, -step)]
    worst = 0.0
    for tensor, plus, minus in ((found[1], ends[0].dv, ends[1].dv), (found[3], ends[0][2], ends[1][2])):
        made = tensor.dense()
        changed = np.einsum("ijk,j->ik", made, way) if tensor is found[1] else np.einsum("ijk,k->ij", made, way)
        expected = (plus - minus) / (2 * step)
        worst = max(worst, np.abs(changed - expected).max() / np.abs(expected).max())
    return worst


def main(states: int) -> None:
    heads = f"{'dofs':>5}{'entries':>9}{'bytes':>9}{'operations':>12}{'µs a state':>12}{'to reach':>10}{'differs':>9}"
    print(f"{'':24}{heads}")
    for (name, which), goal in GOALS.items():
        model, rng = robot(name), np.random.default_rng(0)
        q, (v, third) = model.random(rng, shape=(states,)), rng.normal(size=(2, states, model.nv))
        wrong = difference(model, which, q[0], v[0], third[0])
        assert wrong < 1e-5, wrong
        found = FUNCTIONS[which](model, q, v, third)
        entries, kernel = sum(x.values.shape[-1] for x in found), KERNELS[which](model)
        spent = least(lambda f=FUNCTIONS[which], m=model, given=(q, v, third): f(m, *given)) / states * 1e6
        numbers = f"{model.nv:>5}{entries:>9,}{8 * entries:>9,}{kernel.operations:>12,}{spent:>12.1f}{goal:>10.0f}"
        print(f"{name + ', ' + which + ' dynamics':24}{numbers}{wrong:>9.0e}", flush=True)
    contracted(states)


def contracted(states: int) -> None:
    """The Hessian of weighted accelerations by q ⊕ δ, v and T."""
    robots = (RobotFile("hyq_no_sensors.urdf", floating=True)(), 10.0), (build("talos"), 50.0)
    for model, goal in robots:
        rng = np.random.default_rng(0)
        q, (v, tau, w) = model.random(rng, shape=(states,)), rng.normal(size=(3, states, model.nv))
        way, h = rng.normal(size=(3, model.nv)), 1e-3

        def along(t: float, q=q[0], v=v[0], tau=tau[0], w=w[0], m=model, way=way) -> float:
            return w @ ps.forward_dynamics(m, m.integrate(q, t * way[0]), v + t * way[1], tau + t * way[2])

        made = ps.optimize.forward_dynamics_hessian(model, q, v, tau, w)
        expected = (along(h) - 2.0 * along(0.0) + along(-h)) / h**2
        wrong = abs(way.reshape(-1) @ made[0] @ way.reshape(-1) / expected - 1.0)
        assert wrong < 1e-3, wrong
        given = q, v, tau, w
        spent = least(lambda m=model, x=given: ps.optimize.forward_dynamics_hessian(m, *x)) / states * 1e6
        numbers = f"{model.nv:>5}{9 * model.nv**2:>9,}{72 * model.nv**2:>9,}{'':>12}{spent:>12.1f}{goal:>10.0f}"
        print(f"{model.name + ', contracted':24}{numbers}{wrong:>9.0e}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 256)
