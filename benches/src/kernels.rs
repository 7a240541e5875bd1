//! The programs that the PEs run: C, compiled against the installed library as a user would.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Outcome;

pub(crate) struct Kernels {
    /// All timed loops.
    pub(crate) timed: PathBuf,
    pub(crate) idle: PathBuf,
}

impl Kernels {
    /// An example of another crate, built when it is first asked for: it takes longer than everything else.
    pub(crate) fn example(&self, package: &str, name: &str, features: &[&str]) -> Outcome<PathBuf> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let built = Command::new(cargo)
            .args(["build", "--quiet", "--release", "--package", package, "--example", name])
            .args(["--features", &features.join(",")])
            .args(["--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml")])
            .status()
            .map_err(|error| format!("cannot run cargo: {error}"))?;
        if built.success() {
            Ok(crate::target().join("release/examples").join(name))
        } else {
            Err(format!("cargo cannot build the example {name} of {package}"))
        }
    }
}

/// Compiles everything for the library below `prefix` into `folder`.
pub(crate) fn compile(prefix: &Path, folder: &Path) -> Outcome<Kernels> {
    let kernels = Kernels { timed: folder.join("kernels"), idle: folder.join("idle") };
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    let empty = folder.join("libempty.so");
    cc(prefix, &empty, &[sources.join("empty.c")], &["-shared", "-fPIC"])?;
    cc(prefix, &kernels.idle, &[sources.join("idle.c")], &["-loxshmem"])?;

    let listing = fs::read_dir(&sources).map_err(|error| format!("{}: {error}", sources.display()))?;
    let mut loops: Vec<PathBuf> = listing
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension() == Some(OsStr::new("c")))
        .filter(|path| !["empty.c", "idle.c"].iter().any(|other| path.ends_with(other)))
        .collect();
    loops.push(empty);
    // The limits deserve the best code for this machine.
    let flags = ["-O3", "-march=native", "-loxshmem", &format!("-Wl,-rpath,{}", folder.display())];
    cc(prefix, &kernels.timed, &loops, &flags)?;
    Ok(kernels)
}

pub(crate) fn cc(prefix: &Path, output: &Path, sources: &[PathBuf], flags: &[&str]) -> Outcome {
    let lib = prefix.join("lib");
    let mut cc = Command::new("cc");
    cc.args(["-O2", "-Wall", "-Wextra", "-Werror", "-I"]).arg(prefix.join("include"));
    cc.arg("-L").arg(&lib).arg(format!("-Wl,-rpath,{}", lib.display()));
    compile_by(&mut cc, output, sources, flags)
}

/// Has a compiler, which has its first options already, make `output`.
pub(crate) fn compile_by(compiler: &mut Command, output: &Path, sources: &[PathBuf], flags: &[&str]) -> Outcome {
    let name = compiler.get_program().display().to_string();
    let result = compiler.arg("-o").arg(output).args(sources).args(flags).output();
    let result = result.map_err(|error| format!("cannot run {name}: {error}; install a C compiler"))?;
    if result.status.success() {
        return Ok(());
    }
    Err(format!("{name} cannot make {}\n{}", output.display(), String::from_utf8_lossy(&result.stderr).trim_end()))
}
