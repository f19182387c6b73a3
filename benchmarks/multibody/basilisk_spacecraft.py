"""Motions of spacecraft against Basilisk's, in one run.

Run in an environment of its own that has Basilisk (pip install bsk):
`python benchmarks/multibody/basilisk_spacecraft.py`.

Each row integrates the same spacecraft twice, here to a tolerance of 1e-12 and in Basilisk by its Runge-Kutta of the
fourth order with steps so short that they no longer matter, and prints the largest difference of attitude and spin,
relative to the motion, and beside it how much the part changes the motion of the bare hub.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import phistar as ps

ORBIT = ps.space.Orbit.circular(altitude=500e3, inclination=0.5)
MOMENTS = np.diag([900.0, 800.0, 600.0])
MASS, SPIN = 750.0, np.array([0.01, -0.01, 0.03])


def hub(builder: ps.ModelBuilder) -> None:
    builder.body("hub", "world", ps.Free(), inertia=ps.Inertia(MASS, (0, 0, 0), MOMENTS))


class Peer:
    """A spacecraft in Basilisk at the orbit's start, spinning; `parts` are state effectors."""

    def __init__(self, step: float, gravity: bool = True) -> None:
        from Basilisk.simulation import gravityEffector, spacecraft
        from Basilisk.utilities import SimulationBaseClass, macros

        self.kept: list[Any] = []  # messages that the simulation reads must outlive their makers
        self.macros, self.sim = macros, SimulationBaseClass.SimBaseClass()
        self.sim.CreateNewProcess("p").addTask(self.sim.CreateNewTask("t", macros.sec2nano(step)))
        self.craft = spacecraft.Spacecraft()
        self.sim.AddModelToTask("t", self.craft)
        self.craft.hub.mHub, self.craft.hub.r_BcB_B = MASS, [[0.0], [0.0], [0.0]]
        self.craft.hub.IHubPntBc_B = MOMENTS.tolist()
        self.craft.hub.omega_BN_BInit = [[x] for x in SPIN]
        self.craft.hub.sigma_BNInit = [[0.0], [0.0], [0.0]]
        if gravity:
            planet = gravityEffector.GravBodyData()
            planet.mu, planet.isCentralBody, planet.planetName = ORBIT.planet.mu, True, "earth"
            self.planet = planet
            self.craft.gravField.gravBodies = gravityEffector.GravBodyVector([planet])
            self.craft.hub.r_CN_NInit = [[x] for x in ORBIT.position]
            self.craft.hub.v_CN_NInit = [[x] for x in ORBIT.velocity]

    def add(self, part: Any) -> None:
        self.craft.addStateEffector(part)
        self.sim.AddModelToTask("t", part)

    def run(self, duration: float) -> tuple[np.ndarray, np.ndarray]:
        """Rotation matrix of the hub, body to inertial, and its spin at the end."""
        from Basilisk.utilities import RigidBodyKinematics

        self.sim.InitializeSimulation()
        self.sim.ConfigureStopTime(self.macros.sec2nano(duration))
        self.sim.ExecuteSimulation()
        state = self.craft.scStateOutMsg.read()
        return np.asarray(RigidBodyKinematics.MRP2C(state.sigma_BN)).T, np.asarray(state.omega_BN_B)


def ours(builder: ps.ModelBuilder, duration: float, fields: list[Any], **start: float) -> tuple[np.ndarray, np.ndarray]:
    model = builder.build()
    q, v = model.neutral(), np.zeros(model.nv)
    v[:3] = SPIN
    for name, value in start.items():
        joint, rate = name.rsplit("_", 1)
        own = model.joints[model.joint_indices[joint]]
        (v if rate == "rate" else q)[own.v_slice if rate == "rate" else own.q_slice] = value
    control = ps.space.FieldControl(model, fields)
    run = ps.simulate(model, q, v, duration, control=control, rtol=1e-12, atol=1e-14)
    return ps.forward_kinematics(model, run.q[-1], "hub")[:3, :3], run.v[-1, :3]


def alone(duration: float) -> tuple[np.ndarray, np.ndarray]:
    """The bare hub."""
    builder = ps.ModelBuilder("alone", gravity=(0, 0, 0))
    hub(builder)
    return ours(builder, duration, [])


def difference(one: Any, other: Any) -> float:
    """Of two attitudes and spins, the spins relative to their size."""
    turns, spins = np.abs(one[0] - other[0]).max(), np.abs(one[1] - other[1]).max()
    return max(float(turns), float(spins / np.abs(other[1]).max()))


def wheel(duration: float) -> tuple[Any, Any]:
    """A balanced reaction wheel at 100 rad/s, nothing else."""
    from Basilisk.simulation import reactionWheelStateEffector
    from Basilisk.utilities import simIncludeRW

    axis = np.array([1.0, 2.0, 2.0]) / 3
    peer, factory = Peer(0.01, gravity=False), simIncludeRW.rwFactory()
    rotor = factory.create("Honeywell_HR16", axis, maxMomentum=50.0, Omega=100.0 * 30 / np.pi)
    effector = reactionWheelStateEffector.ReactionWheelStateEffector()
    factory.addToSpacecraft("wheels", effector, peer.craft)
    peer.sim.AddModelToTask("t", effector)
    along, across = np.outer(axis, axis), np.eye(3) - np.outer(axis, axis)
    bare = MOMENTS - rotor.Js * along - rotor.Js / 2 * across  # Basilisk's hub has a balanced rotor's moments in it
    builder = ps.ModelBuilder("wheel", gravity=(0, 0, 0))
    builder.body("hub", "world", ps.Free(), inertia=ps.Inertia(MASS, (0, 0, 0), bare))
    ps.space.add_wheel(builder, "rotor", "hub", axis, spin_inertia=rotor.Js, mass=1e-9)
    return ours(builder, duration, [], rotor_rate=100.0), peer.run(duration)


def slosh(duration: float) -> tuple[Any, Any]:
    """A mass on a spring in a tank."""
    from Basilisk.simulation import linearSpringMassDamper

    builder = ps.ModelBuilder("slosh", gravity=(0, 0, 0))
    hub(builder)
    ps.space.add_slosh_mass(builder, "mass", "hub", (1, 0, 0), 20.0, 100.0, 6.0, position=(0.1, 0.2, -0.1))
    peer, part = Peer(0.005, gravity=False), linearSpringMassDamper.LinearSpringMassDamper()
    part.k, part.c, part.massInit, part.rhoInit, part.rhoDotInit = 100.0, 6.0, 20.0, 0.05, 0.0
    part.r_PB_B, part.pHat_B = [[0.1], [0.2], [-0.1]], [[1.0], [0.0], [0.0]]
    peer.add(part)
    return ours(builder, duration, [], mass_place=0.05), peer.run(duration)


def panel(duration: float) -> tuple[Any, Any]:
    """A hinged panel with a torsion spring."""
    from Basilisk.simulation import hingedRigidBodyStateEffector

    mass, moments, arm, hinge = 30.0, np.diag([30.0, 12.0, 18.0]), 1.5, np.array([0.5, 0.0, 0.2])
    builder = ps.ModelBuilder("panel", gravity=(0, 0, 0))
    hub(builder)
    # Basilisk's panel lies along −s₁ of its hinge and turns about s₂.
    joint = ps.Revolute(axis=(0, 1, 0), stiffness=20.0, damping=1.0)
    builder.body("panel", "hub", joint, ps.Pose(xyz=hinge), ps.Inertia(mass, (-arm, 0, 0), moments), joint_name="panel")
    peer, part = Peer(0.005, gravity=False), hingedRigidBodyStateEffector.HingedRigidBodyStateEffector()
    part.mass, part.IPntS_S, part.d, part.k, part.c = mass, moments.tolist(), arm, 20.0, 1.0
    part.r_HB_B, part.dcm_HB = [[x] for x in hinge], np.eye(3).tolist()
    part.thetaInit, part.thetaDotInit = 0.1, 0.0
    peer.add(part)
    return ours(builder, duration, [], panel_place=0.1), peer.run(duration)


def thruster(duration: float) -> tuple[Any, Any]:
    """A jet off the mass centre, on for two seconds."""
    from Basilisk.architecture import messaging
    from Basilisk.simulation import thrusterDynamicEffector

    place, way, force = np.array([0.4, -0.3, 0.2]), np.array([2.0, -1.0, 2.0]) / 3, 20.0
    builder = ps.ModelBuilder("thruster", gravity=(0, 0, 0))
    hub(builder)
    jets = ps.space.Thrusters(builder.build(), [ps.space.Thruster("hub", tuple(place), tuple(way), force)])
    jets.fire(0.0, [100.0])
    peer, part = Peer(0.01, gravity=False), thrusterDynamicEffector.ThrusterDynamicEffector()
    jet = thrusterDynamicEffector.THRSimConfig()
    jet.thrLoc_B, jet.thrDir_B = [[x] for x in place], [[x] for x in way]
    jet.MaxThrust, jet.steadyIsp, jet.MinOnTime = force, 1e12, 0.0
    part.addThruster(jet)
    command = messaging.THRArrayOnTimeCmdMsgPayload()
    command.OnTimeRequest = [100.0]
    message = messaging.THRArrayOnTimeCmdMsg().write(command)
    part.cmdsInMsg.subscribeTo(message)
    peer.kept.append(message)
    peer.craft.addDynamicEffector(part)
    peer.sim.AddModelToTask("t", part)
    return ours(builder, duration, [jets]), peer.run(duration)


def gradient(duration: float) -> tuple[Any, Any]:
    """The gravity gradient of a round planet."""
    from Basilisk.simulation import GravityGradientEffector

    builder = ps.ModelBuilder("gradient", gravity=(0, 0, 0))
    hub(builder)
    peer, part = Peer(0.5), GravityGradientEffector.GravityGradientEffector()
    part.addPlanetName("earth")
    peer.craft.addDynamicEffector(part)
    peer.sim.AddModelToTask("t", part)
    return ours(builder, duration, [ps.space.OrbitalGravity(ORBIT)]), peer.run(duration)


def main() -> int:
    print("part       difference  its effect")
    for row, duration in ((wheel, 60.0), (slosh, 30.0), (panel, 30.0), (gradient, 1500.0), (thruster, 2.0)):
        mine, peers = row(duration)
        effect = difference(mine, alone(duration))
        print(f"{row.__name__:10} {difference(mine, peers):10.1e}  {effect:10.1e}  {row.__doc__}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
