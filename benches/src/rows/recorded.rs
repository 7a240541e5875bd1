//! The price of a profile and of a timeline: recorded calls beside the same ones by their profiling names, which no tool sees.

use super::Goal::{More, Scale};
use super::{RowGroup, Work, row};

const UNSEEN: &str = "the same call by its profiling name";

/// The calls under one option, each of which may take so many nanoseconds more.
macro_rules! recorded {
    ($group:literal, $option:literal, $file:literal, $most:literal) => {
        RowGroup {
            name: $group,
            pes: 2,
            nodes: 1,
            work: Work::Recorded($option, $file),
            rows: &[
                row(concat!("p under ", $option), UNSEEN, More($most)),
                row(concat!("g under ", $option), UNSEEN, More($most)),
                row(concat!("put 8 B under ", $option), UNSEEN, More($most)),
                row(concat!("fetch_add under ", $option), UNSEEN, More($most)),
                row(concat!("quiet under ", $option), UNSEEN, More($most)),
                row(concat!("barrier under ", $option), UNSEEN, Scale),
            ],
        }
    };
}

pub(super) const PROFILE: RowGroup = recorded!("profile", "--profile", "profile", 15.0);
pub(super) const TRACE: RowGroup = recorded!("trace", "--trace", "trace.json", 60.0);
