"""Single steps of worlds, for tests."""

from typing import NamedTuple

from phistar.contact.surface import Surface
from phistar.plant.members import Robot, join
from phistar.plant.plant import Plant
from phistar.plant.session import PlantState
from phistar.sim.motion import Motion
from phistar.sim.step_records import Step
from phistar.sim.world import World


class Made(NamedTuple):
    state: PlantState
    step: Step


def stepper(world):
    """step(state, tau, h) → the state after it and what it did; a state that a step gave is gone on from."""
    given = {}
    motion = Motion(world, lambda t, q, v: given["tau"])

    def step(state, tau, h):
        given["tau"] = tau
        if given.get("last") is None or given["last"].state is not state:
            given["last"] = motion.first(state, 0.0, h)
        (made,) = motion.onward_by(h, given["last"]._replace(time=0.0), [h])
        given["last"] = made._replace(state=motion.now())  # with what contacts remember
        return Made(given["last"].state, made.step)

    return step


def world_of(model, surface=None, pairs=None):
    """A model's shapes that may touch by one law: all that can meet, or the pairs that are named."""
    plant = Plant(tuple(model.gravity), model.name)
    join(plant, Robot(model.name, model))
    plant.default_contact((surface or Surface()) if pairs is None else None)
    for a, b, *own in pairs or ():
        plant.contact(a, b, own[0] if own else surface)
    return World(plant.system)
