"""A boom of two beams on a free base: the joints swing, the base answers, the beams ring, and all momentum stays.

Prints the frequencies of the beams, what the motion keeps, and how far the tip swings beside a rigid arm's.
"""

import numpy as np

import phistar as ps

beam = ps.beam(length=2.0, EI=(60.0, 90.0), mass_per_length=1.5, modes=4, axial_inertia=0.01, damping=0.005)


def boom(inertia):
    """A base of 20 kg with two beams on revolute joints."""
    b = ps.ModelBuilder("boom", gravity=(0, 0, 0))
    b.body("base", joint=ps.Free(), inertia=ps.Inertia(20.0, (0, 0, 0), np.diag([3.0, 3.0, 3.0])))
    b.body("upper", "base", ps.Revolute(axis=(0, 0, 1)), ps.Pose(xyz=(0.4, 0, 0)), inertia)
    if isinstance(inertia, ps.FlexibleInertia):
        b.body("fore", "upper.tip", ps.Revolute(axis=(0, 0, 1)), inertia=inertia)
        b.frame("tip", "fore.tip")
    else:
        b.body("fore", "upper", ps.Revolute(axis=(0, 0, 1)), ps.Pose(xyz=(2.0, 0, 0)), inertia)
        b.frame("tip", "fore", ps.Pose(xyz=(2.0, 0, 0)))
    return b.build()


def shoulder(t):
    """Forward for a second, back for a second, N m."""
    return 3.0 if t < 1.0 else -3.0 if t < 2.0 else 0.0


def swung(model, duration=5.0):
    """The motion under the shoulder's push; the first joint's rate is the seventh, the second's stands after modes."""
    first = model.joint("upper").v_slice.start

    def push(t, q, v):
        tau = np.zeros(model.nv)
        tau[first] = shoulder(t)
        return tau

    times = np.linspace(0.0, duration, 251)
    return ps.simulate(model, model.neutral(), np.zeros(model.nv), duration, push, rtol=1e-9, t_eval=times)


if __name__ == "__main__":
    bending, rigid = boom(beam), boom(beam.rigid)
    print(f"each beam swings at {np.round(beam.frequencies / (2 * np.pi), 2)} Hz with its root held")
    run, stiff = swung(bending), swung(rigid)
    momenta = ps.momentum(bending, run.q, run.v)
    print(f"five seconds: momentum keeps to {np.abs(momenta).max():.1e} N s")
    print(f"  energy less work keeps to {np.ptp(run.energy - run.work):.1e} J, damping of the beams counted")
    tips = [ps.forward_kinematics(m, r.q, "tip")[:, :2, 3] for m, r in ((bending, run), (rigid, stiff))]
    print(f"  the tip is up to {np.linalg.norm(tips[0] - tips[1], axis=1).max():.3f} m from a rigid arm's")
    eta = run.q[:, bending.bodies[1].mode_q_slice]
    print(f"  the first beam bends by up to {np.abs(eta @ beam.modes[-1, 1]).max():.3f} m at its end")
