"""The operational-space controller of a Panda: a whole law, compiled, beside the same law through Pinocchio.

python benchmarks/control.py [SECONDS]

The law is `ps.control.OperationalSpaceControl`: pose error, feedback, Λ, c and g, a posture in the null space. The peer
has the same from pin's mass matrix, Jacobian, drift and bias with dense solves (LAPACK). Times are per state, of the
best run; the contestants take turns.
"""

import sys

import numpy as np

import phistar as ps
from phistar.cli.benchmark.robots import FILES, ROBOTS, available
from phistar.cli.benchmark.timing import Contestant, contest

STATES, FRAME = 2000, "panda_hand_tcp"
REST = np.array([0.0, -0.5, 0.0, -2.2, 0.0, 1.8, 0.8])


def peer(law, model, reference):
    """law(q, v) through pin, one state; None where it is not installed."""
    try:
        import pinocchio  # pyright: ignore[reportMissingImports]
    except ImportError:
        return None
    whole = pinocchio.buildModelFromUrdf(str(FILES["panda"].path()))
    fingers = [j for j in range(1, whole.njoints) if "finger" in whole.names[j]]
    arm = pinocchio.buildReducedModel(whole, fingers, pinocchio.neutral(whole))
    data, frame = arm.createData(), arm.getFrameId(FRAME)
    axes = pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED
    swap = np.r_[3:6, 0:3]  # pin has the linear part first
    target, twist, change, posture = np.split(reference, [12, 18, 24])
    turn, place = target[:9].reshape(3, 3), target[9:]

    def forces(q, v):
        pinocchio.computeAllTerms(arm, data, q, v)
        pinocchio.updateFramePlacement(arm, data, frame)
        jacobian = pinocchio.getFrameJacobian(arm, data, frame, axes)[swap]
        pinocchio.forwardKinematics(arm, data, q, v, 0 * v)
        drift = pinocchio.getFrameClassicalAcceleration(arm, data, frame, axes).vector[swap]
        at = data.oMf[frame]
        left = turn @ at.rotation.T
        sine = np.array([left[2, 1] - left[1, 2], left[0, 2] - left[2, 0], left[1, 0] - left[0, 1]])
        error = np.concatenate([sine / np.sqrt(1.0 + np.trace(left)), place - at.translation])
        u = change + law.kd * (twist - jacobian @ v) + law.kp * error
        back = law.posture_kp * (posture - q) - law.posture_kd * v
        mass = data.M
        mobility = jacobian @ np.linalg.solve(mass, jacobian.T)
        return mass @ back + data.nle + jacobian.T @ np.linalg.solve(mobility, u - drift - jacobian @ back)

    return forces


def main(arguments):
    seconds = float(arguments[0]) if arguments else 1.0
    if not available("panda"):
        print("pip install 'phistar[peers]' brings the Panda's file, without which there is nothing to compare.")
        return
    model = ROBOTS["panda"]()
    law = ps.control.OperationalSpaceControl(model, FRAME)
    fast = ps.compile(law)
    rng = np.random.default_rng(0)
    q, v = REST + 0.2 * rng.normal(size=(STATES, 7)), rng.normal(size=(STATES, 7))
    goal = ps.forward_kinematics(model, REST, FRAME)
    reference = law.reference(goal, posture=REST)
    references = np.tile(reference, (STATES, 1))
    entrants = {
        "batch": Contestant(lambda: fast(0.0, q, v, references), STATES),
        "single": Contestant(lambda: fast(0.0, q[0], v[0], reference), 1),
    }
    other = peer(law, model, reference)
    if other is not None:
        gap = np.abs(other(q[0], v[0]) - fast(0.0, q[0], v[0], reference)).max()
        print(f"pin's forces differ by {gap:.0e} N m")
        entrants["pin"] = Contestant(lambda: other(q[0], v[0]), 1)
    best = {name: timing.best / 1e3 for name, timing in contest(entrants, seconds).items()}
    print(f"{model.name}, {fast.operations} operations a state, four sweeps")
    print(f"  in a batch of {STATES}   {best['batch']:7.3f} µs a state")
    print(f"  one state a call     {best['single']:7.3f} µs")
    if other is not None:
        print(f"  through pin and NumPy {best['pin']:6.1f} µs: {best['pin'] / best['single']:.1f} times one call, "
              f"{best['pin'] / best['batch']:.0f} times a state of a batch")  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
