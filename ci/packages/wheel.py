"""Packs an installation into a wheel: wheel.py TREE WHEEL VERSION PLATFORM.

Everything lies below the data folder, so pip puts it into the prefix of the environment, where the tools find their
neighbours. Zip archives that pip reads have no links: tools get copies under their other names, and the linker's name of
the library becomes a script of the linker.
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

METADATA = f"""Metadata-Version: 2.1
Name: oxshmem
Version: {version}
Summary: OpenSHMEM 1.6: library, headers, compiler wrappers and launcher
License: MIT OR Apache-2.0
Keywords: OpenSHMEM,PGAS,HPC
Classifier: Development Status :: 4 - Beta
Classifier: Intended Audience :: Science/Research
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: C
Classifier: Programming Language :: Rust
Classifier: Topic :: Scientific/Engineering
Description-Content-Type: text/plain

oshcc, oshc++ and oshfort compile OpenSHMEM programs; oshrun starts them. shmem4py builds against this package:

    pip install oxshmem
    pip install --no-cache-dir --no-binary shmem4py 'numpy<2' shmem4py==1.0.0
    oshrun -n 4 python program.py
"""


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
    # The library under the name that programs ask for; its file with the full version would be a second copy.
    for path in (path for path in files if not path.name.startswith("liboxshmem.so.1.")):
        mode = 0o755 if path.stat().st_mode & 0o100 else 0o644
        add(archive, f"{data}/{path.relative_to(tree)}", content(path), mode)
    for name in ("LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY.txt"):
        add(archive, f"{info}/licenses/{name}", (tree / "share/doc/oxshmem" / name).read_bytes(), 0o644)
    add(archive, f"{info}/METADATA", METADATA.encode(), 0o644)
    lines = ("Wheel-Version: 1.0", "Generator: cargo xtask package", "Root-Is-Purelib: false", f"Tag: py3-none-{platform}")
    add(archive, f"{info}/WHEEL", "".join(f"{line}\n" for line in lines).encode(), 0o644)
    text = "\n".join([*record, f"{info}/RECORD,,", ""])
    add(archive, f"{info}/RECORD", text.encode(), 0o644)
