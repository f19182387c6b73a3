"""Build .venv and install one tier of phistar into it, every package at the version in requirements.lock.

Run by the Makefile with any supported Python; uses the standard library alone. pyproject.toml says which packages
a tier needs, the lock says which versions, so the lock enters as pip's constraints.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"

TIERS = {
    "run": "cli,sim,view,plot",
    "test": "cli,mjcf,sim,view,plot,film,mcap,rerun,usd,xacro,xarray,symbolic,"
    "jax,campaign,cluster,gym,notebooks,peers,dev",
    "docs": "docs,sim,view,plot,symbolic",
}
INCLUDED = {"test": ["run"]}

SIGNS_OF_NO_NETWORK = ("NewConnectionError", "NameResolutionError", "ConnectTimeout", "ReadTimeout", "ProxyError")


class SetupError(Exception):
    """Set-up cannot go on; the message is a sentence for a person."""


def build_environment() -> None:
    """Make .venv, unless one is there whose Python and pip still work."""
    if PYTHON.exists() and subprocess.run([PYTHON, "-m", "pip", "--version"], capture_output=True).returncode == 0:
        return
    print(f"Building .venv with Python {sys.version.split()[0]} ...", flush=True)
    made = subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], capture_output=True, text=True)
    if made.returncode != 0:
        raise SetupError(
            f"{sys.executable} cannot make a virtual environment: install its venv module (on Debian and Ubuntu: "
            f"apt install python3-venv) or name another Python, as in 'make run PYTHON=/path/to/python3'."
        )


def install(*what: str) -> None:
    """pip install under the lock; pip's progress is shown, its retries and a dead network become one sentence."""
    command = [PYTHON, "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "on"]
    pip = subprocess.Popen(
        [*command, "--constraint", "requirements.lock", *what], cwd=ROOT, stderr=subprocess.PIPE, text=True
    )
    assert pip.stderr is not None
    unreachable = False
    for line in pip.stderr:
        if any(sign in line for sign in SIGNS_OF_NO_NETWORK):
            if not unreachable:
                print("The package index does not answer; trying again ...", flush=True)
            unreachable = True
        elif not (unreachable and line.startswith("ERROR:")):
            print(line, end="", file=sys.stderr)
    if pip.wait() == 0:
        return
    if unreachable:
        raise SetupError(
            "phistar must fetch its packages once and cannot reach the package index: connect this machine to the "
            "network and run make again, or set PIP_NO_INDEX=1 and PIP_FIND_LINKS to a folder that holds the wheels "
            "listed in requirements.lock."
        )
    raise SetupError("pip could not install the packages of requirements.lock; its own message above says why.")


def main() -> int:
    tier = sys.argv[1]
    try:
        build_environment()
        print(f"Installing the packages for 'make {tier}' (only what is missing) ...", flush=True)
        # The build backend comes from the lock too: without isolation pip does not fetch another one.
        install("--quiet", "hatchling")
        install("--no-build-isolation", "--editable", f".[{TIERS[tier]}]")
    except SetupError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    for done in [tier, *INCLUDED.get(tier, [])]:
        (VENV / f"ready-{done}").touch()
    return 0


if __name__ == "__main__":
    sys.exit(main())
