"""Fields of orbit in scene files: gravity along an orbit, thin air, sunlight, thrusters and what fires them.

[[fields]]
kind = "orbital_gravity"
altitude = 400e3        # m, a circular orbit; or position and velocity
inclination = 0.9       # rad
oblate = true

[[fields]]
kind = "drag"
altitude = 400e3
density = 3e-12         # kg/m³
facets = [{body = "base", area = 2.0, normal = [1.0, 0.0, 0.0]}]

[[fields]]
kind = "thrusters"      # then those that speak of them: "plume" and "station_keeping"
thrusters = [{body = "base", position = [1.0, 0.0, 0.0], direction = [0.0, 1.0, 0.0], force = 5.0, least_time = 0.02}]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from phistar.errors import FileError
from phistar.plant.field_kinds import FieldKind, register_field
from phistar.plant.plant import Plant
from phistar.plant.scene_schema import Entry, Text, Three, Two
from phistar.plant.scene_schema import Field as Described
from phistar.plant.scene_sentences import validate_entry
from phistar.space.facets import SUNLIGHT, Drag, Facet, SolarPressure
from phistar.space.gravity import OrbitalGravity
from phistar.space.orbits import EARTH, Orbit
from phistar.space.station_keeping import StationKeeping
from phistar.space.thrusters import Plume, Thruster, Thrusters


class OrbitEntry(Entry):
    """An orbit around the earth: a circular one by its altitude, or any by position and velocity. Abstract."""

    altitude: float | None = Described(default=None, description="m, of a circular orbit.")
    inclination: float = Described(default=0.0, description="rad, of a circular orbit.")
    position: Three | None = Described(default=None, description="m, from the planet's centre, at time 0.")
    velocity: Three | None = Described(default=None, description="m/s, at time 0.")


class GravityEntry(OrbitEntry):
    """orbital_gravity: see `ps.space.OrbitalGravity`."""

    oblate: bool = False


class FacetEntry(Entry):
    """A flat side of a body; see `ps.space.Facet`."""

    body: Text
    area: float
    normal: Three
    center: Three = Described(default=[0.0, 0.0, 0.0])
    drag: float = 2.2
    specular: float = 0.0
    diffuse: float = 0.0


class DragEntry(OrbitEntry):
    """drag: see `ps.space.Drag`."""

    density: float
    facets: list[FacetEntry]


class SunlightEntry(Entry):
    """sunlight: see `ps.space.SolarPressure`."""

    sun: Three
    pressure: float = SUNLIGHT
    facets: list[FacetEntry]


class ThrusterEntry(Entry):
    """A thruster on a body; see `ps.space.Thruster`."""

    body: Text
    position: Three
    direction: Three
    force: float
    least_time: float = 0.0


class ThrustersEntry(Entry):
    """thrusters: see `ps.space.Thrusters`."""

    name: Text = "thrusters"
    thrusters: list[ThrusterEntry]


class PlumeEntry(Entry):
    """plume: see `ps.space.Plume`."""

    of: Text = Described(default="thrusters", description="The name of thrusters that stand before it.")
    body: Text
    area: float
    spread: float = 0.2


class KeepingEntry(Entry):
    """station_keeping: see `ps.space.StationKeeping`."""

    of: Text = Described(default="thrusters", description="The name of thrusters that stand before it.")
    period: float = 0.5
    attitude_gains: Two = Described(default=[0.01, 0.2])
    station_gains: Two = Described(default=[0.0, 0.0])
    follow: Text | None = Described(default=None, description="A body whose drift the craft goes along with.")


def _orbit(entry: OrbitEntry, where: str) -> Orbit:
    by_state = entry.position is not None and entry.velocity is not None
    if (entry.altitude is None) != by_state or (entry.altitude is not None and (entry.position or entry.velocity)):
        raise FileError(f"{where}: an orbit has an altitude, or a position and a velocity; give one.")
    if entry.altitude is not None:
        return Orbit.circular(entry.altitude, entry.inclination)
    assert entry.position is not None and entry.velocity is not None
    return Orbit(_three(entry.position), _three(entry.velocity))


def _orbit_table(orbit: Orbit) -> dict[str, Any]:
    if orbit.planet != EARTH:
        raise FileError("A scene's file knows orbits around the earth alone; this plant's is around another planet.")
    return {"position": list(orbit.position), "velocity": list(orbit.velocity)}


def _facets(entries: list[FacetEntry]) -> tuple[Facet, ...]:
    return tuple(
        Facet(e.body, e.area, _three(e.normal), _three(e.center), e.drag, e.specular, e.diffuse) for e in entries
    )


def _three(numbers: list[float]) -> tuple[float, float, float]:
    return numbers[0], numbers[1], numbers[2]


def _gravity(settings: Mapping[str, Any], plant: Plant, where: str) -> OrbitalGravity:
    entry = validate_entry(GravityEntry, settings, where)
    return OrbitalGravity(_orbit(entry, where), entry.oblate)


def _drag(settings: Mapping[str, Any], plant: Plant, where: str) -> Drag:
    entry = validate_entry(DragEntry, settings, where)
    return Drag(plant.model, _facets(entry.facets), _orbit(entry, where), entry.density)


def _sunlight(settings: Mapping[str, Any], plant: Plant, where: str) -> SolarPressure:
    entry = validate_entry(SunlightEntry, settings, where)
    return SolarPressure(plant.model, _facets(entry.facets), _three(entry.sun), entry.pressure)


def _thrusters(settings: Mapping[str, Any], plant: Plant, where: str) -> Thrusters:
    entry = validate_entry(ThrustersEntry, settings, where)
    if any(isinstance(field, Thrusters) and field.name == entry.name for field in plant.fields):
        raise FileError(
            f"{where}, name: there are thrusters called {entry.name!r:.60} before; give these another name."
        )
    made = [Thruster(e.body, _three(e.position), _three(e.direction), e.force, e.least_time) for e in entry.thrusters]
    return Thrusters(plant.model, made, entry.name)


def _thrusters_named(name: str, plant: Plant, where: str) -> Thrusters:
    known = {field.name: field for field in plant.fields if isinstance(field, Thrusters)}
    if name not in known:
        told = ", ".join(known) or "none"
        raise FileError(f"{where}, of: thrusters that stand before it were expected ({told}); it is {name!r:.60}.")
    return known[name]


def _plume(settings: Mapping[str, Any], plant: Plant, where: str) -> Plume:
    entry = validate_entry(PlumeEntry, settings, where)
    return Plume(_thrusters_named(entry.of, plant, where), plant.model, entry.body, entry.area, entry.spread)


def _keeping(settings: Mapping[str, Any], plant: Plant, where: str) -> StationKeeping:
    entry = validate_entry(KeepingEntry, settings, where)
    attitude, station = entry.attitude_gains, entry.station_gains
    own = _thrusters_named(entry.of, plant, where)
    return StationKeeping(
        own, plant.model, entry.period, (attitude[0], attitude[1]), (station[0], station[1]), entry.follow
    )


def _keeping_table(field: StationKeeping) -> dict[str, Any]:
    gains = {"attitude_gains": list(field.attitude_gains), "station_gains": list(field.station_gains)}
    followed = {} if field.follow is None else {"follow": field.follow}
    return {"of": field.thrusters.name, "period": field.period, **gains, **followed}


def _facet_tables(facets: tuple[Facet, ...]) -> list[dict[str, Any]]:
    return [asdict(facet) for facet in facets]


register_field(
    "orbital_gravity",
    FieldKind(OrbitalGravity, _gravity, lambda field: _orbit_table(field.orbit) | {"oblate": field.oblate}),
)
register_field(
    "drag",
    FieldKind(
        Drag,
        _drag,
        lambda field: (
            _orbit_table(field.orbit) | {"density": field.density, "facets": _facet_tables(field.faces.facets)}
        ),
    ),
)
register_field(
    "sunlight",
    FieldKind(
        SolarPressure,
        _sunlight,
        lambda field: {
            "sun": field.sun,
            "pressure": field.pressure,
            "facets": _facet_tables(field.faces.facets),
        },
    ),
)
register_field(
    "thrusters",
    FieldKind(
        Thrusters,
        _thrusters,
        lambda field: {"name": field.name, "thrusters": [asdict(thruster) for thruster in field.thrusters]},
    ),
)
register_field(
    "plume",
    FieldKind(
        Plume,
        _plume,
        lambda field: {
            "of": field.thrusters.name,
            "body": field.body_name,
            "area": field.area,
            "spread": field.spread,
        },
    ),
)
register_field("station_keeping", FieldKind(StationKeeping, _keeping, _keeping_table))
