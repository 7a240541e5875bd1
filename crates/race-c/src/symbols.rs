//! Lines and names of addresses, from the executable's debug information.

use addr2line::Loader;

/// The executable's symbols and lines.
pub(crate) struct ProgramSymbols(Option<Loader>);

impl ProgramSymbols {
    /// Reads the executable of this process.
    pub(crate) fn read() -> ProgramSymbols {
        ProgramSymbols(Loader::new("/proc/self/exe").ok())
    }

    /// The call before this return address: its line, or its function if lines are not known.
    pub(crate) fn call(&self, pc: u64) -> String {
        if pc == 0 {
            return "a shared library".into();
        }
        let before = pc - 1;
        let location = self.0.as_ref().and_then(|loader| loader.find_location(before).ok().flatten());
        if let Some((file, line)) = location.and_then(|location| Some((location.file?.to_owned(), location.line?))) {
            let file = file.rsplit('/').next().unwrap_or(&file).to_owned();
            return format!("{file}:{line}");
        }
        match self.symbol(before) {
            Some((name, offset)) => format!("{name}+{offset:#x}"),
            None => format!("{before:#x}"),
        }
    }

    /// The variable or function at an address, and how far behind its beginning the address is.
    pub(crate) fn symbol(&self, address: u64) -> Option<(String, u64)> {
        let loader = self.0.as_ref()?;
        let info = loader.find_symbol_info(address)?;
        Some((info.name().to_owned(), address - info.address()))
    }
}
