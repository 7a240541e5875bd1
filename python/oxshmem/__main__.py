"""python -m oxshmem -n 4 program.py: starts a job with the `oshrun` of this installation and this Python."""

import os
import sys
from pathlib import Path
from typing import List, Optional

from . import _core

# Options of oshrun with a word of their own behind them.
_TAKE_A_WORD = {"-n", "-np", "--np", "-N", "--ppn", "-H", "--host", "--hostfile", "--machinefile", "--map", "--launch-agent",
                "--remote-prefix", "--host-timeout", "--key-file", "--wait-port", "--wait-timeout", "--only", "--output-dir",
                "--stdin", "--timeout", "--grace", "--display", "--nodes", "--trace", "--trace-events", "-x", "--env", "--wdir",
                "--wd"}
# Options of Python, which stand before its program; `-X` and `-W` go on.
_OF_PYTHON = {"-m", "-c", "-u", "-O", "-OO", "-B", "-I", "-E", "-i"}
# The words of `--bind`, which may have none.
_BOUND_TO = (["core"], ["numa"], ["none"])


def _beside(here: Path, library: Path) -> Optional[str]:
    """The launcher of the installation that has the module in the folder `here`, or the library. Debian has the library among all others,
    where `../../bin/oshrun` may be the launcher of Open MPI: the module's own place comes first."""
    folders = (here / "../../../bin", here / "../../../../bin", library.parent / "../bin", library.parent / "../../bin",
               Path(sys.prefix) / "bin")
    return next((os.path.normpath(folder / "oshrun") for folder in folders if (folder / "oshrun").is_file()), None)


def _oshrun() -> str:
    """The launcher of this installation."""
    with open("/proc/self/maps", "rb") as maps:  # a path may be no text
        library = next(Path(os.fsdecode(line.split(None, 5)[5].strip())) for line in maps if b"liboxshmem.so.1" in line)
    found = _beside(Path(__file__).resolve().parent, library)
    if found is None:
        raise SystemExit(f"python -m oxshmem: there is no oshrun beside {library}: install the wheel anew")
    return found


def _takes_a_word(option: str) -> bool:
    """Whether the next word is the option's own. Of several letters behind one dash the last one may have a word, as in `-ln 4`; `-n4` has
    its own behind it."""
    if option in _TAKE_A_WORD or option.startswith("--"):
        return option in _TAKE_A_WORD
    letters = [f"-{letter}" for letter in option[1:]]
    takers = [letter for letter in letters if letter in _TAKE_A_WORD]
    return bool(takers) and takers == letters[-1:]


def _with_python(arguments: List[str]) -> List[str]:
    """Puts this Python before each program, also behind a colon. The program is the first word that is no option of oshrun and no option's
    value. This Python also takes the place of a bare `python`."""
    if ":" in arguments:
        colon = arguments.index(":")
        return [*_with_python(arguments[:colon]), ":", *_with_python(arguments[colon + 1:])]
    place = 0
    while place < len(arguments) and arguments[place].startswith("-"):
        option = arguments[place]
        if option in _OF_PYTHON or option[:2] in ("-X", "-W"):
            break
        has_word = _takes_a_word(option) or option == "--bind" and arguments[place + 1:place + 2] in _BOUND_TO
        place += 2 if has_word else 1
    if place >= len(arguments):
        return arguments
    program = place + (arguments[place] in ("python", "python3"))
    return [*arguments[:place], sys.executable, *arguments[program:]]


def main() -> None:
    """Becomes the launcher."""
    launcher = _oshrun()
    os.execv(launcher, [launcher, *_with_python(sys.argv[1:])])


if __name__ == "__main__":
    assert _core.library
    main()
