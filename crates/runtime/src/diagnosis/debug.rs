//! The output of `SHMEM_DEBUG`: the events of init, wire-up and teardown, one line each on standard error.

use std::fmt::Write as _;
use std::sync::Once;

use oxshmem_os::process;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Turns the lines on, unless the program already has a subscriber of its own.
pub(crate) fn enable(on: bool, pe: u32) {
    static ONCE: Once = Once::new();
    if on {
        ONCE.call_once(|| {
            // A program that brings its own subscriber sees the events there.
            let _ = tracing::subscriber::set_global_default(Lines { pe });
        });
    }
}

struct Lines {
    pe: u32,
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("oxshmem")
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        let mut line = DebugLine(format!("oxshmem: PE {}:", self.pe));
        event.record(&mut line);
        process::say(&(line.0 + "\n"));
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

struct DebugLine(String);

impl Visit for DebugLine {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        // Writing to a string cannot fail.
        let _ = match field.name() {
            "message" => write!(self.0, " {value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}
