//! Where the program called: its first function outside of the library, with file and line where debug information has them.

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
}

impl fmt::Display for CallSite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&outside(&self.0.to_string()).unwrap_or_else(|| "an unknown place".into()))
    }
}

/// The first frame of the text of a backtrace that is the program's.
fn outside(frames: &str) -> Option<String> {
    let mut lines = frames.lines().map(str::trim).peekable();
    while let Some(line) = lines.next() {
        let Some((_, function)) = line.split_once(": ").filter(|(number, _)| number.parse::<u32>().is_ok()) else {
            continue;
        };
        let place = lines.next_if(|next| next.starts_with("at ")).map(|next| file_and_line(&next[3..]));
        if !is_ours(function) {
            return Some(place.unwrap_or_else(|| function.to_owned()));
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

/// Functions of the library, and those without a name: an installed library has none but those that it exports.
fn is_ours(function: &str) -> bool {
    let name = function.trim_start_matches('<').to_ascii_lowercase();
    let ours =
        ["oxshmem", "std::", "core::", "alloc::", "shmem", "pshmem", "shmalloc", "pshmalloc", "shrealloc", "unknown>"];
    let ours = ours.iter().chain(&["pshrealloc", "pshfree", "shfree", "shpalloc", "__rust", "shpclmove", "shpdeallc"]);
    ours.copied().any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_frame_of_the_program_is_shown() {
        let frames = "   0: std::backtrace::Backtrace::force_capture\n   1: oxshmem_runtime::calls::memory::allocate\n   \
                      2: pshmem_malloc\n   3: setup\n             at /home/me/app.c:17:5\n   4: main\n             at ./app.c:40:9\n";
        assert_eq!(outside(frames).as_deref(), Some("app.c:17"));
        assert_eq!(outside(&frames.replace("             at /home/me/app.c:17:5\n", "")).as_deref(), Some("setup"));
        assert_eq!(outside("   0: pshmem_free\n   1: <unknown>\n"), None);
        let stripped = frames
            .replace("oxshmem_runtime::calls::memory::allocate", "<unknown>")
            .replace("pshmem_malloc", "<unknown>");
        assert_eq!(outside(&stripped).as_deref(), Some("app.c:17"));
        assert_eq!(outside("disabled backtrace"), None);
    }
}
