"""Fields of orbit in scene files: gravity along an orbit, thin air and sunlight on facets.

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
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from phistar.errors import FileError
from phistar.plant.field_kinds import FieldKind, register_field
from phistar.plant.plant import Plant
from phistar.plant.scene_schema import Entry, Text, Three
from phistar.plant.scene_schema import Field as Described
from phistar.plant.scene_sentences import validated
from phistar.space.facets import SUNLIGHT, Drag, Facet, SolarPressure
from phistar.space.gravity import OrbitalGravity
from phistar.space.orbits import EARTH, Orbit


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
    entry = validated(GravityEntry, settings, where)
    return OrbitalGravity(_orbit(entry, where), entry.oblate)


def _drag(settings: Mapping[str, Any], plant: Plant, where: str) -> Drag:
    entry = validated(DragEntry, settings, where)
    return Drag(plant.model, _facets(entry.facets), _orbit(entry, where), entry.density)


def _sunlight(settings: Mapping[str, Any], plant: Plant, where: str) -> SolarPressure:
    entry = validated(SunlightEntry, settings, where)
    return SolarPressure(plant.model, _facets(entry.facets), _three(entry.sun), entry.pressure)


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
