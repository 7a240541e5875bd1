//! The library and the tools for aarch64: built here, and run under qemu-user.
//!
//! The emulator has a thread of its own in every process. So the library cannot make static variables symmetric there, and programs
//! that have some, as most of the conformance suite have, do not run.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::counts::{CheckCounts, skipped};
use crate::product::build;
use crate::product::recipe::Recipe;
use crate::product::toolchain::Toolchain;
use crate::{Outcome, command, disk, target, top};

const TRIPLE: &str = "aarch64-unknown-linux-gnu";

/// Builds everything, and runs programs whose symmetric memory is in the heap, on 1, 2 and 4 PEs.
pub(crate) fn check() -> Outcome<CheckCounts> {
    if !oxshmem_faults::is_long() {
        return Ok(skipped("everything", "a build for another processor takes minutes (CHECK_LONG=1 runs it)"));
    }
    let toolchain = match Toolchain::of(Some(TRIPLE)) {
        Ok(toolchain) => toolchain,
        Err(why) => return Ok(skipped("everything", &why)),
    };
    let tree = build::staged(&Recipe { toolchain, ..Recipe::new("quick") })?;
    let mut counts =
        skipped("conformance", "static variables are not symmetric under qemu-user, which has a thread of its own");
    let sources = [tree.join("share/oxshmem/examples/c/hello.c"), top().join("ci/aarch64/heap.c")];
    for source in &sources {
        let program = compile(toolchain, &tree, source)?;
        for pes in [1, 2, 4] {
            let output = command::output(&mut job(toolchain, &tree, pes, &program))?;
            let said = String::from_utf8_lossy(&output.stdout);
            let is_well = output.status.success() && said.contains(&pes.to_string());
            let why = || format!("{}\n{said}{}", output.status, String::from_utf8_lossy(&output.stderr));
            let outcome = if is_well { Ok(()) } else { Err(why()) };
            counts += CheckCounts::of(format!("{} on {pes} PEs", program.display()), outcome);
        }
    }
    println!("{} jobs of {TRIPLE} ran", counts.passed);
    Ok(counts)
}

fn skipped(what: &str, why: &str) -> CheckCounts {
    skipped!("{what} on {TRIPLE}: {why}")
}

/// Compiles a program by the wrapper of the other processor.
fn compile(toolchain: Toolchain, tree: &Path, source: &Path) -> Outcome<PathBuf> {
    let folder = target().join("examples").join(TRIPLE);
    disk::make_folder(&folder)?;
    let program = folder.join(source.file_stem().unwrap_or_default());
    let mut wrapper = toolchain.start(&tree.join("bin/oshcc"));
    wrapper.env("OSHCC", toolchain.cc().get_program()).args(["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror"]);
    command::run(wrapper.arg(source).arg("-o").arg(&program))?;
    Ok(program)
}

/// A job of this size: the launcher under the emulator, and each PE.
fn job(toolchain: Toolchain, tree: &Path, pes: u32, program: &Path) -> Command {
    let mut job = toolchain.start(&tree.join("bin/oshrun"));
    job.args(["--timeout", "100", "-n", &pes.to_string()]);
    let pe = toolchain.start(program);
    job.arg(pe.get_program()).args(pe.get_args());
    job
}
