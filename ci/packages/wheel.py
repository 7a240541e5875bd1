"""Packs an installation into a wheel: wheel.py TREE WHEEL VERSION PLATFORM.

The module `oxshmem` lies at the top, so pip puts it where Python looks for modules. Its part in C is opened with ctypes and serves
every Python, so the wheel does. Everything else lies below the data folder, so pip puts it into the prefix of the environment,
where the tools find their neighbours and the module finds the library. Zip archives that pip reads have no links: tools get copies under their other names, and the linker's name of
the library becomes a script of the linker. Pages of the manual that only lead to another one stay away: they are nineteen of twenty files,
and pip takes twice as long for them as for all else.
"""

import base64
import hashlib
import os
import sys
import time
import zipfile
from pathlib import Path

tree, wheel, version, platform = Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
moment = time.gmtime(max(int(os.environ["SOURCE_DATE_EPOCH"]), 315532800))[:6]
data, info = f"oxshmem-{version}.data/data", f"oxshmem-{version}.dist-info"
record = []
# The folder above that of the module in an installation.
MODULE = "lib/python/"

METADATA = f"""Metadata-Version: 2.1
Name: oxshmem
Version: {version}
Summary: OpenSHMEM 1.6 for Python, with library, headers, compiler wrappers and launcher
License: MIT OR Apache-2.0
Keywords: OpenSHMEM,PGAS,HPC
Classifier: Development Status :: 4 - Beta
Classifier: Intended Audience :: Science/Research
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: C
Classifier: Programming Language :: Python :: 3
Classifier: Programming Language :: Rust
Classifier: Topic :: Scientific/Engineering
Requires-Python: >=3.9
Requires-Dist: numpy>=1.22
Description-Content-Type: text/plain

Memory of other processes as numpy arrays:

    import numpy as np
    import oxshmem as shmem

    me, pes = shmem.my_pe(), shmem.n_pes()
    row = shmem.zeros(1000)
    shmem.put(row, np.full(1000, float(me)), (me + 1) % pes)
    shmem.barrier_all()

    oshrun -n 4 python program.py

Programs for shmem4py run with one changed line: from oxshmem import shmem4py as shmem. oshcc, oshc++ and oshfort compile
OpenSHMEM programs in C, C++ and Fortran.
"""


def is_wanted(path):
    """Whether a file belongs into the wheel. The library is there by the name that programs ask for; its file with the full version
    would be a second copy."""
    leads_on = "/share/man/" in path.as_posix() and path.read_bytes().startswith(b".so ")
    return not leads_on and not path.name.startswith("liboxshmem.so.1.")


def content(path):
    """The bytes of a file as the wheel has them."""
    if path.name == "liboxshmem.so":
        return b"/* GNU ld script */\nINPUT(liboxshmem.so.1)\n"
    return path.read_bytes()


def add(archive, name, content, mode):
    """Adds a file, and its line to the record."""
    entry = zipfile.ZipInfo(name, moment)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = (0o100000 | mode) << 16
    archive.writestr(entry, content)
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    record.append(f"{name},sha256={digest},{len(content)}")


with zipfile.ZipFile(wheel, "w") as archive:
    files = sorted(path for path in tree.rglob("*") if path.is_file())
    for path in filter(is_wanted, files):
        mode = 0o755 if path.stat().st_mode & 0o100 else 0o644
        inside = path.relative_to(tree).as_posix()
        place = inside[len(MODULE):] if inside.startswith(MODULE) else f"{data}/{inside}"
        add(archive, place, content(path), mode)
    for name in ("LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY.txt"):
        add(archive, f"{info}/licenses/{name}", (tree / "share/doc/oxshmem" / name).read_bytes(), 0o644)
    add(archive, f"{info}/METADATA", METADATA.encode(), 0o644)
    lines = ("Wheel-Version: 1.0", "Generator: cargo xtask package", "Root-Is-Purelib: false", f"Tag: py3-none-{platform}")
    add(archive, f"{info}/WHEEL", "".join(f"{line}\n" for line in lines).encode(), 0o644)
    text = "\n".join([*record, f"{info}/RECORD,,", ""])
    add(archive, f"{info}/RECORD", text.encode(), 0o644)
