# A recipe of Spack. Put this file as packages/oxshmem/package.py into a repository of Spack (`spack repo create`), and run
# `spack install --no-checksum oxshmem` in the folder that has oxshmem-0.1.0.tar.xz, which `cargo xtask package source` makes.
# A checkout is built by `spack dev-build oxshmem@0.1.0`.
import os

from spack.package import *


class Oxshmem(Package):
    """OpenSHMEM 1.6 in Rust for C, C++, Fortran, Python and Rust, over shared memory, TCP, libfabric and UCX."""

    manual_download = True
    url = f"file://{os.getcwd()}/oxshmem-0.1.0.tar.xz"
    license("MIT OR Apache-2.0")

    version("0.1.0")

    variant("fortran", default=True, description="Compile the modules of Fortran")
    variant("ofi", default=True, description="Have libfabric beside it, which is opened at run time")
    variant("ucx", default=False, description="Have UCX beside it, which is opened at run time")

    depends_on("c", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("rust@1.88:", type="build")
    depends_on("libfabric@1.15:", type="run", when="+ofi")
    depends_on("ucx@1.10:", type="run", when="+ucx")
    depends_on("hwloc@2:", type="run")

    conflicts("platform=darwin", msg="oxshmem runs on Linux")
    conflicts("platform=windows", msg="oxshmem runs on Linux")

    def install(self, spec, prefix):
        cargo = which("cargo", required=True)
        cargo("xtask", "install", "--prefix", prefix)

    def setup_run_environment(self, env):
        # The library opens these by their names.
        for name in ("libfabric", "ucx", "hwloc"):
            if name in self.spec:
                env.prepend_path("LD_LIBRARY_PATH", self.spec[name].prefix.lib)

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        Executable(self.prefix.bin.oshrun)("-n", "4", "--demo")
