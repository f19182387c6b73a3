"""Run the programs and commands in README.md and write what they print beneath them; with --check, only compare.

A ```python block followed by a ```text block is a program and its output; a ```console block is `$ phistar …` and its.
"""

import difflib
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
PROGRAM = re.compile(r"(?<=```python\n)(?P<code>.*?)(?P<between>```\n\n```text\n)(?P<shown>.*?)(?=```)", re.DOTALL)
COMMAND = re.compile(r"(?<=```console\n)\$ phistar (?P<arguments>.*?)\n(?P<shown>.*?)(?=```)", re.DOTALL)


def printed(*arguments: str) -> str:
    """What Python prints, given these arguments, without blanks at the ends of lines."""
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return "".join(line.rstrip() + "\n" for line in done.stdout.rstrip().splitlines())


def refreshed(text: str) -> str:
    """The text with every output as it is now."""
    text = PROGRAM.sub(lambda found: found["code"] + found["between"] + printed("-c", found["code"]), text)
    return COMMAND.sub(
        lambda found: f"$ phistar {found['arguments']}\n" + printed("-m", "phistar", *shlex.split(found["arguments"])),
        text,
    )


def main() -> int:
    written = README.read_text()
    current = refreshed(written)
    if "--check" not in sys.argv[1:]:
        README.write_text(current)
        return 0
    sys.stdout.writelines(difflib.unified_diff(written.splitlines(True), current.splitlines(True), n=1))
    return 0 if written == current else 1


if __name__ == "__main__":
    sys.exit(main())
