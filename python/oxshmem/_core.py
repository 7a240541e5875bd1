"""Finds the library and opens the part of this module that is made in C.

That part is opened with ctypes and puts its functions into this module. It is no extension module in Python's sense, because
those are made for one Python each; this one serves all.
"""

import ctypes
import os
import sys
from pathlib import Path
from typing import Iterator

_HERE = Path(__file__).resolve().parent


def _places() -> Iterator[Path]:
    """Where the library may lie: beside an installation's folder of Python, or where pip puts a wheel's data."""
    for above in ("../..", "../../..", "../lib", "../../../../lib"):
        yield _HERE / above
    yield Path(sys.prefix) / "lib"


def _open() -> ctypes.CDLL:
    name = "liboxshmem.so.1"
    try:  # The program may have the library already, under another path; a second one would be another PE.
        return ctypes.CDLL(name, mode=os.RTLD_NOLOAD | os.RTLD_GLOBAL)
    except OSError:
        pass
    for place in _places():
        if (place / name).is_file():
            return ctypes.CDLL(os.path.normpath(place / name), mode=os.RTLD_GLOBAL)
    try:
        return ctypes.CDLL(name, mode=os.RTLD_GLOBAL)
    except OSError as error:
        searched = ", ".join(os.path.normpath(place) for place in _places())
        raise ImportError(f"oxshmem: there is no {name} in {searched}, nor where the loader looks: {error}. "
                          "Install the wheel anew (pip install --force-reinstall oxshmem)") from None


library = _open()
# The library asks it for lines of the program.
_native = ctypes.PyDLL(str(_HERE / "liboxshmem-python.so"), mode=os.RTLD_GLOBAL)
_native.oxshmem_attach.argtypes = [ctypes.py_object]
_native.oxshmem_attach.restype = ctypes.py_object
_native.oxshmem_attach(sys.modules[__name__])
