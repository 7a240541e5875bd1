//! The launcher, the compiler wrappers and the tools: oshrun, oshcc, oshc++, oshfort, osh_info, oxshmem, cargo oxrun.
#![deny(unsafe_code)]
#![cfg_attr(test, allow(non_snake_case, reason = "tests carry the number of the fault"))]

pub mod agent;
pub mod arguments;
pub mod ask;
pub mod bench;
pub mod binding;
pub mod calibrate;
pub mod cargo;
pub mod doctor;
pub mod explain;
pub mod guardian;
pub mod hosts;
pub mod info;
pub mod job;
pub mod machine;
pub mod node_simulation;
pub mod plan;
pub mod profile;
pub mod races;
pub mod results;
pub mod schedules;
pub mod sim;
pub mod start_cost;
pub mod stdout;
pub mod top;
pub mod tune;
pub mod waiting;
pub mod why;
pub mod wrapper;

mod captured;
mod fold;
mod input;
mod kept_output;
mod layout;
mod leftovers;
mod line_ends;
mod link;
mod linked;
mod look;
mod orphans;
mod output;
mod pe;
mod pmi;
mod prepare;
mod processes;
mod program;
mod refused;
mod remote;
mod runtime;
mod scratch;
mod screen;
mod signals;
mod subtree;
mod symbol_names;
mod terminal_stops;
mod tool_job;
mod verdict;
mod watch;

use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;

use oxshmem_os::sockets::{self, PollEntry};

/// Prints what clap has to say about a tool's command line, help or a mistake, and returns the exit status for it.
pub fn usage(tool: &str, error: &clap::Error) -> i32 {
    use std::io::Write;
    let mut text = without_hyphen_tips(&error.render().to_string());
    if let Some((mistake, rest)) =
        text.split_once('\n').filter(|(mistake, _)| mistake.contains("a value is required for"))
        && let Some(clap::error::ContextValue::String(option)) = error.get(clap::error::ContextKind::InvalidArg)
    {
        // The options of `oxshmem` are those of its tasks.
        let task = std::env::args_os().nth(1).and_then(|word| word.into_string().ok());
        let task = task.filter(|word| tool == "oxshmem" && !word.starts_with('-'));
        let command = task.map_or_else(|| tool.to_owned(), |task| format!("{tool} {task}"));
        text = format!("{mistake}\n  to fix:  let the value follow the option, as in `{command} {option} ...`\n{rest}");
    }
    let Some(mistake) = text.strip_prefix("error: ") else {
        return stdout::print(tool, &text).map_or_else(i32::from, |()| error.exit_code());
    };
    // Without a reader there is still the exit status.
    let _ = write!(std::io::stderr(), "{tool}: {mistake}");
    error.exit_code()
}

/// Without clap's advice to pass an unknown option to the program: most who mistype one do not mean that.
fn without_hyphen_tips(text: &str) -> String {
    let is_tip = |part: &&str| part.trim_start().starts_with("tip: to pass '");
    text.split_inclusive("\n\n").filter(|part| !is_tip(part)).collect()
}

/// How long a sentence may take to be written.
const TO_SAY: std::time::Duration = std::time::Duration::from_secs(1);

/// Writes a sentence of the launcher's own. The launcher goes on if the sentence has no reader, or cannot be written
/// for a while: it must obey signals and deadlines even if the pipe of standard error stays full.
fn say(sentence: &str) {
    say_behind(sentence, false);
}

/// The same; `in_line`: the line before it has no end.
fn say_behind(sentence: &str, in_line: bool) {
    let end = if in_line { "\n" } else { "" };
    let text: Arc<str> = format!("{end}oshrun: {sentence}\n").into();
    let own = Arc::clone(&text);
    let (done, written) = std::sync::mpsc::channel();
    let write = move || {
        let _ = screen::write_all(std::io::stderr().lock(), own.as_bytes());
        // The caller may have given up.
        let _ = done.send(());
    };
    if std::thread::Builder::new().spawn(write).is_ok() {
        let _ = written.recv_timeout(TO_SAY);
    } else {
        say_without_thread(&text);
    }
}

/// The bytes that a pipe with room takes without a wait.
const PIECE: usize = 4096;

/// Writes a text where the system allows no further thread: in pieces, each once there is room for it.
fn say_without_thread(text: &str) {
    // A thread that waits for a reader may hold the lock of standard error.
    let Ok(sink) = std::io::stderr().as_fd().try_clone_to_owned() else { return };
    let mut sink = std::fs::File::from(sink);
    for piece in text.as_bytes().chunks(PIECE) {
        let room = PollEntry { descriptor: sink.as_raw_fd(), writes: true };
        let has_room = sockets::wait_any(&[room], TO_SAY).is_ok_and(|ready| ready[0]);
        if !has_room || screen::write_all(&mut sink, piece).is_err() {
            return;
        }
    }
}
