//! Looks at packages: with the distributions' own tools, and whether the crates can be published.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::counts::{CheckCounts, failed, skipped};
use crate::product::crates::{in_order, metadata};
use crate::{Outcome, command, disk, target, top};

/// Asks the tools of Debian and Red Hat about the packages that were made last.
pub(crate) fn check() -> Outcome<CheckCounts> {
    let folder = target().join("packages");
    let mut counts = linted("lintian", &["--fail-on", "error,warning"], &named(&folder, ".deb"))?;
    let rules = top().join("ci/packages/rpmlint.toml").display().to_string();
    counts += linted("rpmlint", &["--strict", "--config", &rules], &named(&folder, ".rpm"))?;
    Ok(counts)
}

/// Packages of a kind, the newest set in the folder.
fn named(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = disk::entries(folder).unwrap_or_default();
    found.retain(|path| path.to_string_lossy().ends_with(ending));
    found
}

fn linted(tool: &str, options: &[&str], packages: &[PathBuf]) -> Outcome<CheckCounts> {
    if packages.is_empty() || !command::exists(tool) {
        let why =
            if packages.is_empty() { "no packages (`cargo xtask package` makes them)" } else { "no such tool here" };
        return Ok(skipped!("{tool}: {why}"));
    }
    let output = command::output(Command::new(tool).args(options).args(packages))?;
    let passed = output.status.success();
    if !passed {
        print!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        failed!("{tool}");
    }
    Ok(CheckCounts::one(passed))
}

/// Compiles everything with the compiler of `rust-version`, where it is installed.
pub(crate) fn oldest_compiler() -> Outcome<CheckCounts> {
    let version = env!("CARGO_PKG_RUST_VERSION");
    // Not the cargo that runs this, which belongs to one toolchain, but the one that chooses.
    let cargo = || {
        let mut cargo = Command::new("cargo");
        cargo.env_remove("RUSTUP_TOOLCHAIN").arg(format!("+{version}")).current_dir(top());
        cargo
    };
    if !cargo().arg("--version").output().is_ok_and(|output| output.status.success()) {
        return Ok(skipped!("Rust {version}: not here (rustup toolchain install {version} --profile minimal)"));
    }
    let folder = target().join("oldest");
    let arguments = ["check", "--quiet", "--locked", "--workspace", "--exclude", "oxshmem-faults", "--target-dir"];
    command::run(cargo().args(arguments).arg(folder))?;
    Ok(CheckCounts::one(true))
}

/// Packs every crate that is published, without a network; in a long run each is built from what was packed.
pub(crate) fn crates() -> Outcome<CheckCounts> {
    let metadata = metadata(&[])?;
    let crates = in_order(&metadata)?;
    let mut cargo = command::cargo();
    cargo.args(["package", "--quiet", "--offline", "--allow-dirty"]).current_dir(top());
    for package in &crates {
        cargo.args(["--package", package["name"].as_str().unwrap_or_default()]);
    }
    let builds = oxshmem_faults::is_long();
    if !builds {
        cargo.arg("--no-verify");
        println!("not run: building every crate from what was packed, which takes minutes (CHECK_LONG=1 runs it)");
    }
    let packed = command::run(&mut cargo);
    println!("{} crates can be packed{}", crates.len(), if builds { " and built from what was packed" } else { "" });
    packed?;
    Ok(CheckCounts { passed: crates.len(), skipped: usize::from(!builds), ..CheckCounts::default() })
}
