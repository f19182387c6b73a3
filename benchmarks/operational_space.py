"""Λ, c and g of a Panda's hand, against the same from Pinocchio; and the sweeps that the controller takes.

python benchmarks/operational_space.py [SECONDS]

Ours is `ps.operational_space` on a batch. The peer has Jℳ⁻¹J* from `computeMinverse` and the frame's Jacobian, the
drift J̇θ̇ from its kinematics, 𝒞 and 𝒢 from its Newton-Euler recursion, and NumPy's dense solves. Its wheel has no
batch call for these; the time inside the library alone, without solves, is estimated as that of the same calls less the
same calls on a one-joint robot. Times are per state on one thread, of the best run; the contestants take turns.
"""

import sys

import numpy as np

import phistar as ps
from phistar.cli.benchmark import peer_pinocchio
from phistar.cli.benchmark.robots import available, build
from phistar.cli.benchmark.timing import Contestant, calls_in_turn, contest

STATES, FRAME = 4096, "panda_hand"


def peer_call(model, frame):
    """(q, v) → Λ, c, g through Pinocchio, angular rows first; and the same without NumPy's solves, for scale."""
    peer = peer_pinocchio.pinocchio_of(model, frame)
    pin, robot, data = peer.library, peer.model, peer.data
    last, axes = robot.nframes - 1, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    swap, still = np.r_[3:6, 0:3], np.zeros(robot.nv)

    def terms(q, v):
        upper = np.triu(pin.computeMinverse(robot, data, q))
        inverse = upper + np.triu(upper, 1).T
        jacobian = pin.computeFrameJacobian(robot, data, q, last, axes)
        pin.forwardKinematics(robot, data, q, v, still)
        drift = pin.getFrameClassicalAcceleration(robot, data, last, axes).vector
        gravity = pin.computeGeneralizedGravity(robot, data, q)
        return inverse, jacobian, drift, pin.nonLinearEffects(robot, data, q, v) - gravity, gravity

    def operational(q, v):
        inverse, jacobian, drift, coriolis, gravity = terms(q, v)
        spread = jacobian @ inverse
        inertia = np.linalg.inv(spread @ jacobian.T)
        return inertia, inertia @ (spread @ coriolis - drift), inertia @ (spread @ gravity)

    def ours(q, v):
        inertia, coriolis, gravity = operational(q, v)
        return inertia[np.ix_(swap, swap)], coriolis[swap], gravity[swap]

    return operational, terms, ours


def main(arguments):
    seconds = float(arguments[0]) if arguments else 2.0
    for serial in (False, True):
        counts = {name: len(program.passes) for name, program in ps.control.control_sweeps(serial).items()}
        where = "a serial chain" if serial else "any tree"
        print(
            f"sweeps of the controller on {where}, by what is delayed:",
            ", ".join(f"{k}: {n}" for k, n in counts.items()),
        )
    if not (available("panda") and peer_pinocchio.is_installed()):
        print("pip install 'phistar[peers]' brings the Panda and Pinocchio, without which there is nothing to compare.")
        return 0
    model, rng = build("panda"), np.random.default_rng(0)
    q, v = model.random(rng, (STATES,)), rng.normal(size=(STATES, model.nv))
    operational, terms, ordered = peer_call(model, FRAME)
    pendulum = build("pendulum")
    space = ps.operational_space(model, q, v, FRAME)
    chosen = np.flatnonzero(space.condition < 1e4)[:100]
    worst = max(compared(space, ordered(q[i], v[i]), i) for i in chosen)
    rows = [(q[i].copy(), v[i].copy()) for i in range(100)]
    times = contest(
        {
            "ours": Contestant(lambda: ps.operational_space(model, q, v, FRAME), STATES),
            "pin": calls_in_turn(operational, rows),
            "pin, without the solves": calls_in_turn(terms, rows),
            "pin, one joint, the same": calls_in_turn(
                peer_call(pendulum, list(pendulum.frames)[-1])[1], [(np.zeros(1), np.ones(1))] * 100
            ),
            "ours, one state": calls_in_turn(lambda q, v: ps.operational_space(model, q, v, FRAME), rows),
        },
        seconds,
    )
    print(f"Λ, c and g agree to {worst:.1e} (relative, {len(chosen)} states with condition below 1e4)")
    for name, time in times.items():
        print(f"  {name:24} {time.best / 1000:8.3f} µs per state")
    best = {name: time.best for name, time in times.items()}
    inside = best["pin, without the solves"] - best["pin, one joint, the same"]
    whole, alone = best["pin"] / best["ours"], inside / best["ours"]
    print(f"ratio to pin: {whole:.0f} (wanted: 20); to the library alone: {alone:.0f}")
    return 0


def compared(space, theirs, i):
    """The largest difference of Λ, c and g of state i, each relative to its largest entry."""
    pairs = zip((part[i] for part in space), theirs, strict=True)
    return max(np.abs(ours - other).max() / np.abs(other).max() for ours, other in pairs)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
