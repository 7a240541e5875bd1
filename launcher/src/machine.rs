//! The hardware of this machine. The installed `oshrun` is linked statically and opens no libraries: the kernel's files
//! tell it what hwloc would. Only for what hwloc alone can read, descriptions of other machines, it asks its neighbour.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use oxshmem_base::Error;
use oxshmem_topology::{Discovered, discover};

/// The task of `oxshmem` that prints a description.
pub const TASK: &str = "machine";

/// Looks at the machine as `SHMEM_TOPOLOGY` says.
pub(crate) fn look(how: &str) -> Result<Discovered, Error> {
    discover(how).or_else(|refused| told(how).unwrap_or(Err(refused)))
}

/// The machine as the neighbour sees it, or why the neighbour cannot describe it. None: there is no neighbour.
fn told(how: &str) -> Option<Result<Discovered, Error>> {
    let mut oxshmem = Command::new(beside("oxshmem").ok()?);
    let output = oxshmem.args([TASK, how]).stdin(Stdio::null()).output().ok()?;
    if output.status.success() {
        return serde_json::from_slice(&output.stdout).ok().map(Ok);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim();
    (!said.is_empty()).then(|| Err(Error::of_text(said.strip_prefix("oxshmem: ").unwrap_or(said))))
}

/// The neighbour's part.
pub fn describe(how: &str) -> Result<String, Error> {
    let seen = discover(how)?;
    serde_json::to_string(&seen).map_err(|error| Error::new("the description cannot be written").because(error))
}

/// A tool that is installed beside this one.
pub(crate) fn beside(tool: &str) -> Result<PathBuf, Error> {
    found(tool, |here| here.with_file_name(tool), "build it with `cargo xtask build`")
}

/// A program of the installation that tools run themselves.
pub(crate) fn helper(program: &str) -> Result<PathBuf, Error> {
    installed(&format!("libexec/oxshmem/{program}"))
}

/// A part of this installation, by its path below the prefix.
pub(crate) fn installed(part: &str) -> Result<PathBuf, Error> {
    let place = |here: &Path| here.parent().and_then(Path::parent).unwrap_or(Path::new("/")).join(part);
    found(part, place, "install oxshmem with `cargo xtask install --prefix DIR` and run the tool in DIR/bin")
}

/// A file whose place follows from that of this tool.
fn found(name: &str, place: impl Fn(&Path) -> PathBuf, fix: &str) -> Result<PathBuf, Error> {
    let here = std::env::current_exe().map_err(|error| Error::new("the tool cannot find itself").because(error))?;
    let path = place(&here);
    if path.exists() {
        Ok(path)
    } else {
        Err(Error::new(format!("{name} is not installed")).because(format!("{} is not there", path.display())).fix(fix))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_arrives_as_it_was_told() {
        let seen = discover("sysfs").expect("Linux tells");
        let told: Discovered = serde_json::from_str(&describe("sysfs").unwrap()).unwrap();
        assert_eq!((told.node, told.source), (seen.node, seen.source));
    }
}
