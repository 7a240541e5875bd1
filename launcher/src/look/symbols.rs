//! Addresses of a program in words: functions with file and line where the program has debug information, variables by name.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use addr2line::Loader;

use super::maps::Maps;
use crate::symbol_names;

/// The files whose symbols have been read.
#[derive(Default)]
pub(super) struct Symbols {
    /// By the numbers of device and file: each process has a path of its own to its executable, which all PEs may share.
    files: BTreeMap<(u64, u64), Option<Loader>>,
}

/// The memory files of variables and of the heap, by the names that the library gives them.
const STATICS: &str = "oxshmem statics";
const HEAP: &str = "oxshmem heap";

impl Symbols {
    /// The places of return addresses, as many as that; frames of the library and outside of `main` are left out.
    pub(super) fn sites(&mut self, frames: &[u64], maps: &Maps, most: usize) -> Vec<String> {
        let mut sites = Vec::new();
        for &frame in frames {
            // A return address is behind the call.
            for (function, place) in self.places(frame - 1, maps) {
                if is_library(&function) {
                    continue;
                }
                let is_last = is_main(&function);
                sites.push(format!("{function}{place}"));
                if is_last || sites.len() == most {
                    return sites;
                }
            }
        }
        sites
    }

    /// Functions at an address, the innermost first: more than one if they are inlined.
    fn places(&mut self, address: u64, maps: &Maps) -> Vec<(String, String)> {
        let Some((path, base)) = maps.file(address) else { return Vec::new() };
        let name = shown(&path);
        let Some(file) = self.file(&path) else { return Vec::new() };
        let probe = address - bias(&path, base);
        let mut places = Vec::new();
        if let Ok(mut frames) = file.find_frames(probe) {
            while let Ok(Some(frame)) = frames.next() {
                let function = frame.function.as_ref().and_then(|function| {
                    Some(symbol_names::of_function(&function.raw_name().ok()?, function.language))
                });
                let place = frame
                    .location
                    .and_then(|location| Some(format!(" at {}:{}", base_name(location.file?), location.line?)));
                if let Some(function) = function {
                    places.push((function, place.unwrap_or_default()));
                }
            }
        }
        if places.is_empty()
            && let Some(symbol) = file.find_symbol_info(probe)
        {
            let place = format!("+{:#x} in {name}", probe - symbol.address());
            places.push((symbol_names::of_function(symbol.name(), None), place));
        }
        places
    }

    /// The name of a symmetric object.
    pub(super) fn object(&mut self, address: u64, maps: &Maps) -> Option<String> {
        if maps.is_in(address, HEAP) {
            return Some("in the symmetric heap".into());
        }
        let in_file = maps.file(address).is_some();
        if !in_file && !maps.is_in(address, STATICS) {
            return None;
        }
        let (path, base) = maps.executable()?;
        let file = self.file(&path)?;
        let probe = address.checked_sub(bias(&path, base))?;
        let symbol = file.find_symbol_info(probe)?;
        let name = symbol_names::of_variable(symbol.name());
        Some(match probe - symbol.address() {
            0 => name,
            offset => format!("{name}+{offset}"),
        })
    }

    fn file(&mut self, path: &Path) -> Option<&Loader> {
        let found = std::fs::metadata(path).ok()?;
        self.files.entry((found.dev(), found.ino())).or_insert_with(|| Loader::new(path).ok()).as_ref()
    }
}

/// The difference between addresses in memory and in the file: none for an executable with fixed addresses.
fn bias(path: &Path, base: u64) -> u64 {
    use std::io::Read;
    const FIXED: [u8; 2] = 2_u16.to_ne_bytes();
    let mut head = [0; 18];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut head));
    if read.is_ok() && head[16..] == FIXED { 0 } else { base }
}

fn base_name(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}

/// The name of a file as it is shown.
fn shown(path: &Path) -> String {
    let path = std::fs::read_link(path).unwrap_or_else(|_| path.to_owned());
    base_name(&path.display().to_string()).to_owned()
}

/// Whether a program begins with a function: that of C, Fortran or Rust.
fn is_main(function: &str) -> bool {
    matches!(function, "main" | "MAIN__") || function.split_once("::").is_some_and(|(_, name)| name == "main")
}

/// Whether a function belongs to the library, or to Rust's own ones that stand between it and the program.
fn is_library(function: &str) -> bool {
    const OURS: [&str; 6] = ["oxshmem_", "shmem_", "__shmem_f08_MOD_", "pshmem", "start_pes", "pstart_pes"];
    const CRATES: [&str; 4] = ["oxshmem::", "std::", "core::", "alloc::"];
    let of = |name: &str| {
        let name = name.trim_start_matches(['<', '&']).trim_start_matches("mut ");
        // C++ has its overloads of our names in its own spelling.
        let name = name.trim_start_matches("_Z").trim_start_matches(|letter: char| letter.is_ascii_digit());
        let is_crate = CRATES.iter().any(|path| name.starts_with(path));
        is_crate || name.starts_with("__rust_") || OURS.iter().any(|ours| name.starts_with(ours))
    };
    match function.strip_prefix('<').and_then(|method| method.split_once(" as ")) {
        // The parameter of a generic function has no path, and the trait tells where it belongs.
        Some((implementer, method)) if !implementer.contains("::") => of(method),
        _ => of(function),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_between_a_rust_program_and_the_library_are_not_the_program_s() {
        for name in [
            "oxshmem::world::World::barrier",
            "<oxshmem::symmetric::Symmetric<T>>::put",
            "oxshmem_runtime::wait::until",
            "<&mut oxshmem_runtime::wait::Look as core::ops::function::FnMut<()>>::call_mut",
            "core::ops::function::FnOnce::call_once",
            "<F as core::ops::function::FnOnce<()>>::call_once",
            "<&mut F as core::ops::function::FnMut<A>>::call_mut",
            "std::sys::backtrace::__rust_begin_short_backtrace",
            "__rust_try",
            "shmem_barrier_all",
            "__shmem_f08_MOD_shmem_team_sync",
            "_Z16shmem_sum_reduceP12oxshmem_teamPlPKlm",
        ] {
            assert!(is_library(name), "{name}");
        }
        for name in ["ring::main", "ring::pass_on", "<ring::Cell as core::ops::drop::Drop>::drop", "main", "solve_"] {
            assert!(!is_library(name), "{name}");
        }
        assert!(!is_library("_Z4halov"));
        assert!(is_main("main") && is_main("ring::main") && is_main("MAIN__"));
        assert!(!is_main("ring::main::{{closure}}") && !is_main("ring::inner::main"));
    }

    #[test]
    fn an_executable_that_processes_share_is_read_once() {
        let mut symbols = Symbols::default();
        for path in ["/proc/self/exe".to_owned(), format!("/proc/{}/exe", std::process::id())] {
            assert!(symbols.file(Path::new(&path)).is_some());
        }
        assert_eq!(symbols.files.len(), 1);
    }

    static KNOWN: [u64; 4] = [1, 2, 3, 4];

    #[test]
    fn functions_and_variables_of_this_program_have_names() {
        let maps = Maps::of(std::process::id()).expect("this process");
        let mut symbols = Symbols::default();
        let here = functions_and_variables_of_this_program_have_names as fn() as usize as u64;
        let places = symbols.places(here + 2, &maps);
        assert!(places[0].0.contains("tests::functions_and_variables_of_this_program_have_names"), "{places:?}");
        let object = symbols.object(&raw const KNOWN[1] as u64, &maps);
        assert!(object.as_ref().is_some_and(|object| object.contains("KNOWN") && object.ends_with("+8")), "{object:?}");
        assert_eq!(symbols.sites(&[8], &maps, 3), Vec::<String>::new());
    }
}
