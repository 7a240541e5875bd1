//! The place in the program that called the library: the first function outside of the library, with file and line if debug
//! information has them.

use std::backtrace::Backtrace;
use std::fmt;

/// The stack at a call. Names are looked up when it is shown, which takes long.
#[derive(Debug)]
pub struct CallSite(Backtrace);

impl CallSite {
    /// The call that this PE is in.
    pub fn here() -> CallSite {
        CallSite(Backtrace::force_capture())
    }

    /// The function of the program and its line, as `main at app.c:17`; without debug information the function alone. `None` if no
    /// function of the program is on the stack, as in a thread of the library or in an interpreter. `in_source` says how the source names a
    /// function, where that is another name than the linker's.
    pub fn place(&self, in_source: impl Fn(&str) -> Option<String>) -> Option<String> {
        let (function, line) = outside(&self.0.to_string())?;
        let name = in_source(&function).unwrap_or_else(|| function.clone());
        is_program(&function).then(|| line.map_or_else(|| name.clone(), |line| format!("{name} at {line}")))
    }
}

/// Functions of the C library that start programs and threads.
const STARTERS: [&str; 7] = ["start_thread", "clone", "clone3", "__clone", "__clone3", "_start", "_start_c"];

/// Whether a function may be the program's: it starts no program or thread, and is none of Python's interpreter. A program's own name
/// may begin as one of these (`clone_grid`, `Pyramid`).
fn is_program(function: &str) -> bool {
    // A version may follow, or a part of the function.
    let name = function.split(['@', '.']).next().unwrap_or_default();
    let is_python = |rest: &str| rest.starts_with(|letter: char| letter.is_ascii_uppercase() || letter == '_');
    let is_of_python = name.starts_with("_Py") || name.strip_prefix("Py").is_some_and(is_python);
    !STARTERS.contains(&name) && !name.starts_with("__libc_start") && !is_of_python
}

impl fmt::Display for CallSite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = outside(&self.0.to_string()).map(|(function, line)| line.unwrap_or(function));
        f.write_str(&found.unwrap_or_else(|| "an unknown place".into()))
    }
}

/// The first frame of the text of a backtrace that is the program's: its function, and its line.
fn outside(frames: &str) -> Option<(String, Option<String>)> {
    let mut lines = frames.lines().map(str::trim).peekable();
    while let Some(line) = lines.next() {
        let Some((_, function)) = line.split_once(": ").filter(|(number, _)| number.parse::<u32>().is_ok()) else {
            continue;
        };
        let place = lines.next_if(|next| next.starts_with("at ")).map(|next| &next[3..]);
        if !is_ours(function) && !is_our_file(function, place) {
            return Some((function.to_owned(), place.map(file_and_line)));
        }
    }
    None
}

/// `/home/me/app.c:17:5` without its folder and column.
fn file_and_line(place: &str) -> String {
    let file = place.rsplit('/').next().unwrap_or(place);
    let parts: Vec<&str> = file.splitn(3, ':').collect();
    parts[..parts.len().min(2)].join(":")
}

/// If debug information has only lines, it names Rust functions without their modules. Functions of our files are ours.
fn is_our_file(function: &str, place: Option<&str>) -> bool {
    let ours = ["base", "os", "runtime", "shmem", "shmem-c", "transport", "transport-sim"];
    let ours = ours.map(|name| format!("crates/{name}/src/"));
    let is_rust = |place: &str| place.contains(".rs:") && ours.iter().any(|folder| place.contains(&**folder));
    // The type parameters of a generic function have modules.
    let name = function.split('<').next().unwrap_or_default();
    !name.contains("::") && place.is_some_and(is_rust)
}

/// Functions of the library, and functions without a name: an installed library has only the names that it exports.
fn is_ours(function: &str) -> bool {
    // C++ mangles the names of its overloads of our routines, and Fortran those of the procedures of our modules.
    let name =
        function.trim_start_matches('<').trim_start_matches("_Z").trim_start_matches(|c: char| c.is_ascii_digit());
    let name = name.trim_start_matches("__").to_ascii_lowercase();
    let ours =
        ["oxshmem", "std::", "core::", "alloc::", "shmem", "pshmem", "shmalloc", "pshmalloc", "shrealloc", "unknown>"];
    let ours = ours.iter().chain(&[
        "pshrealloc",
        "pshfree",
        "shfree",
        "shpalloc",
        "rust_",
        "shpclmove",
        "shpdeallc",
        "void shmem",
    ]);
    ours.copied().any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_frame_of_the_program_is_shown() {
        let frames = "   0: std::backtrace::Backtrace::force_capture\n   1: oxshmem_runtime::calls::memory::allocate\n   \
                      2: pshmem_malloc\n   3: setup\n             at /home/me/app.c:17:5\n   4: main\n             at ./app.c:40:9\n";
        let found = |function: &str, line: Option<&str>| Some((function.to_owned(), line.map(str::to_owned)));
        assert_eq!(outside(frames), found("setup", Some("app.c:17")));
        assert_eq!(outside(&frames.replace("             at /home/me/app.c:17:5\n", "")), found("setup", None));
        assert_eq!(
            outside("   0: _Z9shmem_putIlEvPT_PKS0_mi\n   1: __shmem_f08_MOD_shmem_p\n   2: MAIN__\n"),
            found("MAIN__", None)
        );
        assert_eq!(outside("   0: pshmem_free\n   1: <unknown>\n"), None);
        let lines_only = "   0: place\n             at ./crates/runtime/src/diagnosis/errors.rs:41:5\n   1: pshmem_quiet\n   2: main\n";
        assert_eq!(outside(lines_only), found("main", None));
        let of_rust =
            lines_only.replace("pshmem_quiet\n", "barrier_all\n             at ./crates/shmem/src/backend.rs:87:1\n");
        assert_eq!(outside(&of_rust), found("main", None));
        let generic = lines_only.replace("place\n", "exchange<oxshmem_runtime::collectives::in_payload>\n");
        assert_eq!(outside(&generic), found("main", None));
        let stripped = frames
            .replace("oxshmem_runtime::calls::memory::allocate", "<unknown>")
            .replace("pshmem_malloc", "<unknown>");
        assert_eq!(outside(&stripped), found("setup", Some("app.c:17")));
        assert_eq!(outside("disabled backtrace"), None);
    }

    #[test]
    fn a_function_of_the_program_may_begin_as_one_that_starts_threads() {
        let others = ["start_thread", "clone3", "__clone", "_start", "__libc_start_main@@GLIBC_2.34", "Py_RunMain"];
        assert!(
            others.iter().chain(&["_PyEval_EvalFrameDefault", "PyObject_Vectorcall"]).all(|name| !is_program(name))
        );
        let own = ["main", "clone_grid", "start_threads", "clone(Grid&)", "Pyramid_build", "_start_up"];
        assert!(own.iter().all(|name| is_program(name)));
    }
}
