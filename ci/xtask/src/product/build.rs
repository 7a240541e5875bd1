//! From sources to an installation.

use std::path::Path;
use std::process::Command;

use crate::product::{install, library};
use crate::{Outcome, command, target, top};

/// Builds the library and the tools with a cargo profile and lays them out below `prefix`.
pub(crate) fn build(profile: &str, prefix: &Path) -> Outcome {
    cargo(profile, &["--package", "oxshmem-c", "--lib"])?;
    cargo(profile, &["--workspace", "--exclude", "xtask", "--bins"])?;
    launcher(profile)?;
    let built = target().join(if profile == "dev" { "debug" } else { profile });
    install::folders(prefix)?;
    library::link(&built.join("liboxshmem_c.a"), &prefix.join("lib"), profile == "dev")?;
    install::files(&built, prefix)?;
    println!("oxshmem is in {}", prefix.display());
    Ok(())
}

/// Links `oshrun` anew, with the C library in it: `ssh` starts it on hosts of which nothing is known. The other tools open
/// libraries at run time, which a static program cannot.
fn launcher(profile: &str) -> Outcome {
    let asked = command::read(Command::new("cc").arg("-print-file-name=libc.a"))?;
    if !Path::new(asked.trim()).is_absolute() {
        println!("oshrun is linked dynamically: there is no libc.a here (packages libc6-dev, glibc-static)");
        return Ok(());
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["rustc", "--quiet", "--profile", profile, "--package", "oxshmem-launcher", "--bin", "oshrun"]);
    command::run(
        command
            .args(["--", "-C", "target-feature=+crt-static", "-C", "strip=debuginfo"])
            .envs(origin())
            .current_dir(top()),
    )
}

/// The commit and the compiler, which `osh_info` tells.
fn origin() -> [(&'static str, String); 2] {
    let told =
        |command: &mut Command| command::read(command.current_dir(top())).map(|text| text.trim().to_owned()).ok();
    let commit = told(Command::new("git").args(["describe", "--always", "--dirty", "--abbrev=12"]));
    let compilers = [told(Command::new("rustc").arg("--version")), told(Command::new("cc").arg("--version"))];
    let first_lines = compilers.iter().flatten().filter_map(|text| text.lines().next()).collect::<Vec<_>>().join(", ");
    [("OXSHMEM_COMMIT", commit.unwrap_or_else(|| "unknown: no git checkout".into())), ("OXSHMEM_COMPILER", first_lines)]
}

fn cargo(profile: &str, arguments: &[&str]) -> Outcome {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    command::run(
        Command::new(cargo)
            .args(["build", "--quiet", "--profile", profile])
            .args(arguments)
            .envs(origin())
            .current_dir(top()),
    )
}
