"""A thousand PUMA 560s at once: random joint forces, then a controller inside the kernel with gains of its own per arm.

Joint limits are left out, so that all of it is one kernel. Prints how fast it goes, beside the same steps in a NumPy
loop around the compiled forward dynamics.
"""

import time

import numpy as np

import phistar as ps

ARMS, STEPS, DT = 1000, 250, 1e-3
model = ps.load("puma560")
rng = np.random.default_rng(seed=0)
q0 = model.random(rng, shape=(ARMS,))
v0 = np.zeros((ARMS, model.nv))
forces = rng.normal(size=(ARMS, STEPS, model.nv)) * [60, 60, 30, 3, 3, 3]


def quickest(function, times=2):
    """The best of a few runs after a first one, which compiles."""
    function()
    durations = []
    for _ in range(times):
        start = time.perf_counter()
        result = function()
        durations.append(time.perf_counter() - start)
    return min(durations), result


print(f"{model.name}: {ARMS} arms, {STEPS} steps of {1e3 * DT:g} ms")
for method in ("euler", "rk4", "midpoint"):
    duration, run = quickest(
        lambda method=method: ps.rollout(model, q0, v0, forces, DT, STEPS, method, limits="ignore")
    )
    each = duration / (ARMS * STEPS)
    print(f"  {method:9} {1e9 * each:6.0f} ns a step, {DT / each:8.0f} arms in real time, q {run.q.shape}")


# The same semi-implicit Euler steps, one call of the compiled forward dynamics per step.
def numpy_loop():
    q, v = q0, v0
    for k in range(STEPS):
        v = v + DT * ps.forward_dynamics(model, q, v, forces[:, k] + ps.joint_friction(model, q, v))
        q = model.integrate(q, DT * v)
    return q


looped, last = quickest(numpy_loop, times=1)
inside, run = quickest(lambda: ps.rollout(model, q0, v0, forces, DT, STEPS, "euler", limits="ignore"))
print(
    f"  a NumPy loop needs {looped / inside:.1f} times as long; they differ by {np.abs(last - run.q[:, -1]).max():.0e}"
)


# A controller is written with NumPy for one arm and becomes part of the kernel; its parameters stay inputs.
target = np.array([0.3, 0.8, -2.5, 0.2, 0.5, -0.4])
effort = np.array([100.0, 190.0, 90.0, 24.0, 20.0, 21.0])


def pd(t, q, v, gains):
    return np.clip(gains[0] * (target - q) - gains[1] * v, -effort, effort)


gains = rng.uniform([50.0, 5.0], [400.0, 40.0], size=(ARMS, 2))
duration, run = quickest(
    lambda: ps.rollout(model, q0, v0, dt=DT, steps=6 * STEPS, controller=pd, parameters=gains, limits="ignore")
)
error = np.linalg.norm(run.q[:, -1] - target, axis=-1)
best = np.argmin(error)
print(f"  {ARMS} pairs of gains tried over {6 * STEPS * DT:g} s in {duration:.2f} s of computing:")
print(f"  kp = {gains[best, 0]:.0f}, kd = {gains[best, 1]:.0f} ends nearest, {error[best]:.3f} rad from the target")
