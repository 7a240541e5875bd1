//! The call stack below an error message: `SHMEM_BACKTRACE`.

use std::backtrace::Backtrace;

use crate::start::state;
use oxshmem_os::cpp;

/// The program's part of the caller's stack in lines of their own, if the user wants to see it.
pub(super) fn wanted() -> String {
    if state::current().is_some_and(|life| life.settings.backtrace) {
        program_part(&Backtrace::force_capture().to_string())
    } else {
        String::new()
    }
}

/// The frames from the call of the library on, out to `main`.
fn program_part(all: &str) -> String {
    let mut frames: Vec<(&str, Option<&str>)> = Vec::new();
    for line in all.lines().map(str::trim) {
        match (line.strip_prefix("at "), line.split_once(": ")) {
            (Some(place), _) => {
                if let Some((_, of_frame)) = frames.last_mut() {
                    *of_frame = Some(place);
                }
            }
            // The library's own frames have no names where it is stripped.
            (None, Some((_, "<unknown>"))) => {}
            (None, Some((_, name))) => frames.push((name, None)),
            (None, None) => {}
        }
    }
    let begin = frames.iter().rposition(|(name, _)| is_library(name)).map_or(0, |last| last + 1);
    let end = frames.iter().position(|(name, _)| *name == "main").map_or(frames.len(), |main| main + 1);
    let line = |(name, place): &(&str, Option<&str>)| {
        let name = cpp::in_source(name).unwrap_or_else(|| (*name).to_owned());
        let place = place.map_or_else(String::new, |place| format!(" ({place})"));
        format!("\n  called from: {name}{place}")
    };
    frames.get(begin..end.max(begin)).unwrap_or_default().iter().map(line).collect()
}

/// Whether a function is ours, or of what captures the stack.
fn is_library(name: &str) -> bool {
    // C++ has its overloads of our names in its own spelling.
    let name = name.trim_start_matches('<').trim_start_matches("_Z");
    let name = name.trim_start_matches(|character: char| character.is_ascii_digit());
    ["oxshmem_", "std::backtrace", "pshmem", "shmem", "pstart_pes", "start_pes"]
        .iter()
        .any(|ours| name.starts_with(ours))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_s_part_of_a_stack_begins_behind_the_library() {
        let all = "   0: std::backtrace::Backtrace::create\n   1: oxshmem_runtime::diagnosis::errors::fail\n             at ./x.rs:9:1\n   \
                   2: pshmem_long_p\n   3: exchange\n             at /home/me/app.c:12\n   4: main\n             at /home/me/app.c:30\n   \
                   5: __libc_start_call_main\n";
        let expected = "\n  called from: exchange (/home/me/app.c:12)\n  called from: main (/home/me/app.c:30)";
        assert_eq!(program_part(all), expected);
        let overload = "3: _Z7shmem_pPlli\n             at /home/me/shmem.h:2355\n   4: exchange\n";
        assert_eq!(program_part(&all.replace("3: exchange\n", overload)), expected);
        assert_eq!(program_part("disabled backtrace"), "");
        let stripped = "   0: <unknown>\n   1: <unknown>\n   2: main\n             at /home/me/app.c:7:28\n";
        assert_eq!(program_part(stripped), "\n  called from: main (/home/me/app.c:7:28)");
    }
}
