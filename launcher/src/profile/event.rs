//! One record of a timeline's file.

use serde::Deserialize;

/// Times are in microseconds.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct TraceEvent {
    pub(super) ph: String,
    pub(super) id: u64,
    pub(super) tid: u64,
    pub(super) ts: f64,
    pub(super) dur: f64,
    pub(super) name: String,
    pub(super) cat: String,
    pub(super) args: TraceArguments,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct TraceArguments {
    pub(super) at: String,
    /// The name of a track.
    pub(super) name: String,
    pub(super) bytes: u64,
    pub(super) peer: Option<u32>,
    /// Of a meeting: its team, its number there, the member that came last, and how long this one waited.
    pub(super) team: String,
    pub(super) number: u64,
    pub(super) last: Option<u32>,
    pub(super) waited: f64,
}

impl TraceEvent {
    pub(super) fn pe(&self) -> u64 {
        self.tid / 1000
    }
}
