//! Lines and names of addresses, from the executable's debug information.

use std::panic::Location;

use addr2line::gimli::DW_LANG_C_plus_plus;
use addr2line::{Loader, demangle};
use oxshmem_base::names;
use oxshmem_os::program;

use crate::{node, standard};

/// A place of the program.
pub(crate) struct ProgramPlace {
    /// File and line, or the function.
    pub(crate) told: String,
    /// The file with its folder, if the line is known.
    pub(crate) path: Option<String>,
}

/// The executable's symbols and lines.
pub(crate) struct ProgramSymbols(Option<Loader>);

impl ProgramSymbols {
    /// Reads the executable of this process.
    pub(crate) fn read() -> ProgramSymbols {
        ProgramSymbols(program::file().ok().and_then(|file| Loader::new(file).ok()))
    }

    /// The call before this return address: its line, or its function if lines are not known.
    pub(crate) fn call(&self, pc: u64) -> ProgramPlace {
        let without_line = |told: String| ProgramPlace { told, path: None };
        if pc == 0 {
            return without_line("a shared library".into());
        }
        if standard::in_rust() {
            return location(pc).unwrap_or_else(|| without_line("a place that is not known".into()));
        }
        let before = pc - 1;
        if let Some(place) = self.line(before) {
            return place;
        }
        without_line(match self.symbol(before) {
            Some((name, offset)) => format!("{name}+{offset:#x}"),
            None => format!("{before:#x}"),
        })
    }

    /// File and line of an address. The routines of the header that C++ inlines are not the program's.
    fn line(&self, address: u64) -> Option<ProgramPlace> {
        let mut frames = self.0.as_ref()?.find_frames(address).ok()?;
        let mut found = None;
        while let Ok(Some(frame)) = frames.next() {
            let Some((file, line)) = frame.location.and_then(|location| location.file.zip(location.line)) else {
                continue;
            };
            let name = file.rsplit('/').next().unwrap_or(file);
            found = Some(ProgramPlace { told: format!("{name}:{line}"), path: Some(file.to_owned()) });
            if !["shmem.h", "shmemx.h"].contains(&name) {
                break;
            }
        }
        found
    }

    /// The variable or function at an address, and how far behind its beginning the address is.
    pub(crate) fn symbol(&self, address: u64) -> Option<(String, u64)> {
        let loader = self.0.as_ref()?;
        let info = loader.find_symbol_info(address)?;
        Some((in_source(info.name()), address - info.address()))
    }
}

/// The place that a call of Rust was given, by the address of its location in the program's file.
fn location(address: u64) -> Option<ProgramPlace> {
    let bias = node::current()?.loaded.bias;
    let location = std::ptr::with_exposed_provenance::<Location<'static>>(bias + address as usize);
    // SAFETY: the crate `oxshmem` tells of calls by nothing but locations of the program, which are constants of its file. All PEs run
    // one file (`World::init` has compared it, and otherwise looks for no races), so another PE's locations are here as well.
    let location = unsafe { location.as_ref() }?;
    let file = location.file();
    let name = file.rsplit('/').next().unwrap_or(file);
    Some(ProgramPlace { told: format!("{name}:{}", location.line()), path: Some(file.to_owned()) })
}

/// The name of a symbol as the program's source has it.
fn in_source(symbol: &str) -> String {
    let of_rust = || rustc_demangle::try_demangle(names::in_source(symbol)).ok();
    match of_rust().filter(|_| standard::in_rust() && names::is_mangled(symbol)) {
        // Without the hash.
        Some(name) => format!("{name:#}"),
        None => names::with_demangler(symbol, |symbol| demangle(symbol, DW_LANG_C_plus_plus)),
    }
}
