"""Folders that a robot file may refer to: its own and the package folders the caller gave."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from phistar.errors import FileError

OUTSIDE = "lies outside the allowed folders"
_HIGHEST = 1  # folders above the file's own that advice may name: a stranger's file must not talk anyone into more
FolderList = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


@dataclass(frozen=True)
class Found:
    """A resolved path, or none and the reason why not."""

    path: Path | None
    reason: str = ""


@dataclass(frozen=True)
class Folders:
    """The folders a robot file may name files in: its own, then those of `packages`; all resolved."""

    own: Path
    packages: tuple[Path, ...] = ()

    @classmethod
    def around(cls, file: str | os.PathLike[str], packages: FolderList = ()) -> "Folders":
        """The folder of `file`, with the package folders given by the caller, which must exist."""
        listed = list(packages) if isinstance(packages, Iterable) and not isinstance(packages, str) else [packages]
        for folder in listed:
            if not isinstance(folder, (str, os.PathLike)) or not os.path.isdir(folder):
                raise FileError(
                    f"the package folder {folder} does not exist; packages lists folders that hold packages."
                )
        return cls(Path(file).parent.resolve(), tuple(Path(folder).resolve() for folder in listed))

    def find(self, address: str) -> Found:
        """The existing file that `package://name/rest`, `file:///path` or a path names, symbolic links resolved.

        A link or a `..` that leads out of the folders is refused like any other outside path.
        """
        if not address.strip():
            return Found(None, "does not exist")
        try:
            inside = [path for path in map(Path.resolve, self._candidates(address)) if self._allows(path)]
            existing = [path for path in inside if path.exists()]
        except (OSError, ValueError, RuntimeError):  # too long a name, a character no path has, a loop of links
            return Found(None, "is not a path that can be opened")
        regular = [path for path in existing if path.is_file()]
        if regular:
            return Found(regular[0])
        if existing:
            return Found(None, "is not a regular file")
        return Found(None, "does not exist" if inside else OUTSIDE)

    def folder(self, address: str) -> Found:
        """The existing folder that a path names, under the same rule."""
        try:
            path = (self.own / address).resolve()
            if not self._allows(path):
                return Found(None, OUTSIDE)
            return Found(path) if path.is_dir() else Found(None, "is no folder")
        except (OSError, ValueError, RuntimeError):  # as above
            return Found(None, "is not a path that can be opened")

    def above(self, address: str) -> Path | None:
        """The folder to give so that an address is found: the nearest one above the file's own that holds both, or for
        `package://` one of the three above. Whether the file is there is asked, nothing is opened."""
        scheme, separator, rest = address.partition("://")
        near = [(folder, folder / rest) for folder in self.own.parents[:3]] if scheme == "package" else []
        if not separator and not address.startswith(("//", "\\\\")):
            near = [(folder, self.own / address) for folder in self.own.parents[:_HIGHEST]]
        try:
            for folder, path in ((folder, path.resolve()) for folder, path in near):
                if path.is_relative_to(folder) and path.is_file():
                    return folder
        except (OSError, ValueError, RuntimeError):  # too long a name, a character no path has, a loop of links
            pass
        return None

    def advice(self, address: str) -> str:
        """Advice on how to have an address found."""
        folder = self.above(address)
        if folder is None:
            return "packages lists the folders that hold packages, on the command line --packages DIR"
        return f"it is found with packages={str(folder)!r}, on the command line --packages {folder}"

    def _allows(self, path: Path) -> bool:
        return any(path.is_relative_to(folder) for folder in (self.own, *self.packages))

    def _candidates(self, address: str) -> Iterator[Path]:
        scheme, separator, rest = address.partition("://")
        if not separator:
            if address.startswith(("//", "\\\\")):  # a network share: asking whether it exists would already call out
                return
            for folder in (self.own, *self.packages):
                yield folder / address
        elif scheme == "file":
            yield Path(rest)
        elif scheme in ("package", "model"):
            name, _, inner = rest.partition("/")
            for folder in (*self.packages, self.own):
                yield folder / name / inner
                if folder.name == name:
                    yield folder / inner
