"""The public names. Importing the package loads none of them; each is loaded when it is first used."""

from phistar.space.facets import Drag as Drag, Facet as Facet, SolarPressure as SolarPressure
from phistar.space.field_control import FieldControl as FieldControl
from phistar.space.gravity import OrbitalGravity as OrbitalGravity
from phistar.space.instruments import RateGyro as RateGyro, StarTracker as StarTracker
from phistar.space.orbits import (
    EARTH as EARTH,
    Orbit as Orbit,
    Planet as Planet,
    clohessy_wiltshire as clohessy_wiltshire,
    hill_axes as hill_axes,
)
from phistar.space.spacecraft_parts import (
    add_gyro as add_gyro,
    add_slosh_mass as add_slosh_mass,
    add_slosh_pendulum as add_slosh_pendulum,
    add_wheel as add_wheel,
    saturate as saturate,
)
from phistar.space.pointing import PointingControl as PointingControl
from phistar.space.station_keeping import StationKeeping as StationKeeping
from phistar.space.thrusters import (
    Plume as Plume,
    Thruster as Thruster,
    Thrusters as Thrusters,
    allocate as allocate,
)
