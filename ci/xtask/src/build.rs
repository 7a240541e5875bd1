//! From sources to an installation.

use std::path::Path;
use std::process::Command;

use crate::{Outcome, command, install, library, target, top};

/// Builds the library and the tools with a cargo profile and lays them out below `prefix`.
pub(crate) fn build(profile: &str, prefix: &Path) -> Outcome {
    cargo(profile, &["--package", "oxshmem-c", "--lib"])?;
    cargo(profile, &["--workspace", "--exclude", "xtask", "--bins"])?;
    let built = target().join(if profile == "dev" { "debug" } else { profile });
    install::folders(prefix)?;
    library::link(&built.join("liboxshmem_c.a"), &prefix.join("lib"), profile == "dev")?;
    install::files(&built, prefix)?;
    println!("oxshmem is in {}", prefix.display());
    Ok(())
}

fn cargo(profile: &str, arguments: &[&str]) -> Outcome {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    command::run(
        Command::new(cargo).args(["build", "--quiet", "--profile", profile]).args(arguments).current_dir(top()),
    )
}
