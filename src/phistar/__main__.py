"""The command `phistar`, also had as `python -m phistar`."""

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0, 1 (the run failed), 2 (the input was wrong)."""
    try:
        from phistar.cli.app import run
    except ModuleNotFoundError as missing:
        package = str(missing.name).partition(".")[0]
        if package not in ("typer", "rich"):
            raise
        print(f"The command line needs {package}: pip install 'phistar[cli]'", file=sys.stderr)
        return 1
    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
