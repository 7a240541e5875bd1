//! Bindings to the C libraries that are opened at run time: written from the installed headers, or compared with them.
//!
//! Users build the bindings that are checked in, without headers or libclang. [`libraries`] lists the
//! parts that we use of each library; the check fails when a part is at another place, or of another type, in the
//! headers here.

#[cfg(feature = "printers")]
mod generator;
mod layout;
mod libraries;

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

use crate::counts::{CheckCounts, failed, skipped};
use crate::{Outcome, command, disk, top};
use libraries::{BoundLibrary, LIBRARIES};

/// Writes the bindings to the named libraries, or to all.
pub(crate) fn write(names: &[String]) -> Outcome {
    for library in chosen(names)? {
        let text = library.generate()?.map_err(|why| format!("{}: {why}", library.name))?;
        let path = library.checked_in();
        disk::write(&path, &text)?;
        println!("wrote {}", path.display());
    }
    Ok(())
}

/// Compares what is checked in with the installed headers.
pub(crate) fn check(names: &[String]) -> Outcome<CheckCounts> {
    let mut counts = CheckCounts::default();
    for library in chosen(names)? {
        let path = library.checked_in();
        let ours = disk::read(&path)?;
        match library.generate()? {
            Err(why) => counts += skipped!("bindings to {}: {why}", library.name),
            Ok(theirs) => {
                let changes = layout::changes(&ours, &theirs);
                for change in &changes {
                    failed!("bindings to {}: {change}", library.name);
                }
                println!("bindings to {}: {} facts compared", library.name, layout::facts(&ours).len());
                counts += CheckCounts::one(changes.is_empty());
            }
        }
    }
    Ok(counts)
}

/// The generator's output for one library, on standard output. This is the part that needs the feature.
#[cfg(feature = "printers")]
pub(crate) fn print(names: &[String]) -> Outcome {
    for library in chosen(names)? {
        print!("{}", generator::bindings(library)?);
    }
    Ok(())
}

fn chosen(names: &[String]) -> Outcome<Vec<&'static BoundLibrary>> {
    if names.is_empty() {
        return Ok(LIBRARIES.iter().collect());
    }
    let find = |name: &String| {
        let known = || LIBRARIES.iter().map(|library| library.name).collect::<Vec<_>>().join(", ");
        let found = LIBRARIES.iter().find(|library| library.name == name);
        found.ok_or_else(|| format!("`{name}` is not a library with bindings; there are {}", known()))
    };
    names.iter().map(find).collect()
}

impl BoundLibrary {
    fn checked_in(&self) -> PathBuf {
        top().join("sys").join(self.folder).join("src/bindings.rs")
    }

    /// The bindings to the installed headers, or why there can be none here.
    fn generate(&self) -> Outcome<Result<String, String>> {
        if let Some(header) = self.missing_header()? {
            return Ok(Err(format!("there is no header {header} here (package {})", self.package)));
        }
        let arguments = ["bindgen", "--print", self.name].map(OsStr::new);
        command::printed(&arguments, ("Unable to find libclang", "there is no libclang here (package libclang-dev)"))
    }

    /// The first header that the C compiler does not find.
    fn missing_header(&self) -> Outcome<Option<&'static str>> {
        for header in self.headers {
            let compiler = &mut Command::new("cc");
            compiler.args(self.flags()).args(["-E", "-o", "/dev/null", "-include", header, "-x", "c", "/dev/null"]);
            if !command::output(compiler)?.status.success() {
                return Ok(Some(header));
            }
        }
        Ok(None)
    }

    /// Where `pkg-config` says that the headers are, if it knows.
    fn flags(&self) -> Vec<String> {
        let asked = command::output(Command::new("pkg-config").args(["--cflags", self.pkg_config]));
        let said = asked.ok().filter(|output| output.status.success()).map(|output| output.stdout).unwrap_or_default();
        String::from_utf8_lossy(&said).split_whitespace().map(String::from).collect()
    }
}
