"""Kane's spin-up in Exudyn: absolute nodal coordinates, cable elements in the plane, the root's slope turned as told.

Run in an environment that has exudyn beside phistar (pip install exudyn):
`python benchmarks/multibody/exudyn_spin_up.py`. Prints the tip's deflection in the rotating frame at 5, 7.5 and 10 s,
which `tests/dynamics/test_flexible_compiled.py` has, and how far `ps.beam` is from it with a few modes.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import math

import exudyn as exu
import numpy as np
from exudyn.beams import GenerateStraightLineANCFCable2D
from exudyn.itemInterface import (
    CoordinateConstraint,
    MarkerNodeCoordinate,
    NodePointGround,
    ObjectANCFCable2D,
)
from segmented_motions import MOTIONS

LENGTH, EI, RHO, SPEED, RISE = 10.0, 1.4e4, 1.2, 6.0, 15.0
EA = 2.8e7  # all but inextensible
TIMES = (5.0, 7.5, 10.0)


def angle(t: float) -> float:
    """∫ (6/15)(t − (15/2π) sin(2πt/15)) dt, rad."""
    rate = 2.0 * math.pi / RISE
    return SPEED / RISE * (0.5 * t**2 + (math.cos(rate * t) - 1.0) / rate**2)


def deflections(elements: int, step: float) -> list[float]:
    """The tip beside the line of the root, m."""
    mbs = exu.SystemContainer().AddSystem()
    ground = mbs.AddNode(NodePointGround(referenceCoordinates=[0, 0, 0]))
    held = mbs.AddMarker(MarkerNodeCoordinate(nodeNumber=ground, coordinate=0))
    cable = ObjectANCFCable2D(physicsMassPerLength=RHO, physicsBendingStiffness=EI, physicsAxialStiffness=EA)
    made = GenerateStraightLineANCFCable2D(
        mbs, [0, 0, 0], [LENGTH, 0, 0], elements, cable, fixedConstraintsNode0=[1, 1, 0, 0]
    )
    nodes = made[0]
    for entry, target in ((2, lambda t: math.cos(angle(t)) - 1.0), (3, lambda t: math.sin(angle(t)))):
        slope = mbs.AddMarker(MarkerNodeCoordinate(nodeNumber=nodes[0], coordinate=entry))
        told = lambda mbs, t, number, offset, target=target: target(t)  # noqa: E731
        mbs.AddObject(CoordinateConstraint(markerNumbers=[held, slope], offset=0.0, offsetUserFunction=told))
    mbs.Assemble()
    found, begin = [], 0.0
    settings = exu.SimulationSettings()
    settings.timeIntegration.generalizedAlpha.spectralRadius = 0.9
    settings.timeIntegration.newton.relativeTolerance = 1e-5  # beside EA, 1e-8 is rounding
    settings.timeIntegration.verboseMode = 0
    settings.solutionSettings.writeSolutionToFile = False
    for end in TIMES:
        settings.timeIntegration.startTime, settings.timeIntegration.endTime = begin, end
        settings.timeIntegration.numberOfSteps = round((end - begin) / step)
        mbs.SolveDynamic(settings, updateInitialValues=True)
        tip = mbs.GetNodeOutput(nodes[-1], exu.OutputVariableType.Position)
        psi = angle(end)
        found.append(float(-math.sin(psi) * tip[0] + math.cos(psi) * tip[1]))
        begin = end
    return found


if __name__ == "__main__":
    for elements, step in ((8, 2e-3), (16, 2e-3), (16, 1e-3)):
        found = np.array(deflections(elements, step))
        print(elements, step, np.round(found, 6), flush=True)
    for modes in (1, 2, 4):
        far = np.abs(MOTIONS["spin-up"].bent(modes)[:, 0] - found).max() / LENGTH
        print(f"  {modes} modes: {far:.1e} of the length from it", flush=True)
