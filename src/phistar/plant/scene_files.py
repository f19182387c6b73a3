"""Plants in files: MJCF read through MuJoCo's compiler, and TOML both ways."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from phistar.errors import FileError
from phistar.io.packages import FolderList
from phistar.plant.mjcf_plants import plant_of_mjcf
from phistar.plant.plant import Plant


def load_plant(path: str | os.PathLike[str], packages: FolderList = (), without: Collection[str] = ()) -> Plant:
    """A plant from .xml or .toml."""
    end = Path(path).suffix.lower()
    if end in (".xml", ".mjcf"):
        return plant_of_mjcf(path, packages, without)
    if without:
        raise FileError(f"{path}: without=… leaves out physics of MJCF files; this is none.")
    if end == ".toml":
        from phistar.plant.scene_tables import read_plant

        return read_plant(path, packages)
    raise FileError(f"{path}: a plant is read from MJCF (.xml) or from TOML (.toml), not from '{end}'.")


def save_plant(plant: Plant, path: str | os.PathLike[str]) -> None:
    from phistar.plant.scene_tables import write_plant

    write_plant(plant, path)
