"""python -m oxshmem -n 4 program.py: starts a job with the `oshrun` of this installation and this Python."""

import os
import sys
from pathlib import Path
from typing import List

from . import _core

# Options of oshrun that are a word of their own behind them.
_TAKE_A_WORD = {"-n", "-np", "-N", "--ppn", "-H", "--host", "--hostfile", "-x", "--env", "--nodes", "--timeout", "--stdin",
                "--output-dir", "--only", "--map", "--bind", "--transport"}


def _oshrun() -> str:
    """The launcher beside the library that this module uses."""
    with open("/proc/self/maps") as maps:
        library = next(Path(line.split(None, 5)[5].strip()) for line in maps if "liboxshmem.so.1" in line)
    for folder in (library.parent / "../bin", library.parent / "../../bin", Path(sys.prefix) / "bin"):
        if (folder / "oshrun").is_file():
            return os.path.normpath(folder / "oshrun")
    raise SystemExit(f"python -m oxshmem: there is no oshrun beside {library}: install the wheel anew")


def _with_python(arguments: List[str]) -> List[str]:
    """Puts this Python before the program: the first word that is no option and no option's value."""
    place = 0
    while place < len(arguments) and arguments[place].startswith("-"):
        if arguments[place] in ("-m", "-c"):
            break  # of Python: a module, or a program in the argument
        place += 2 if arguments[place] in _TAKE_A_WORD else 1
    return arguments[:place] + ([sys.executable] + arguments[place:] if place < len(arguments) else [])


def main() -> None:
    """Becomes the launcher."""
    launcher = _oshrun()
    os.execv(launcher, [launcher, *_with_python(sys.argv[1:])])


if __name__ == "__main__":
    assert _core.library
    main()
