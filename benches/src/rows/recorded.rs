//! The price of a profile and of a timeline: recorded calls beside the same ones by their profiling names, which no tool sees. And
//! that of the recorder which is always on: calls with it beside the same ones while it pauses.

use super::Goal::{More, Scale, Times};
use super::{RowGroup, Work, crowd, group, pair, row, two_nodes};

const UNSEEN: &str = "the same call by its profiling name";

/// The calls under one option, each of which may take this many nanoseconds more.
macro_rules! recorded {
    ($group:literal, $option:literal, $file:literal, $most:literal) => {
        group(
            $group,
            2,
            1,
            Work::Recorded($option, $file),
            &[
                row(concat!("p under ", $option), UNSEEN, More($most)),
                row(concat!("g under ", $option), UNSEEN, More($most)),
                row(concat!("put 8 B under ", $option), UNSEEN, More($most)),
                row(concat!("fetch_add under ", $option), UNSEEN, More($most)),
                row(concat!("quiet under ", $option), UNSEEN, More($most)),
                row(concat!("barrier under ", $option), UNSEEN, Scale),
                row(concat!("clock read twice beside ", $option), "none", Scale),
            ],
        )
    };
}

pub(super) const PROFILE: RowGroup = recorded!("profile", "--profile", "profile", 15.0);
pub(super) const TRACE: RowGroup = recorded!("trace", "--trace", "trace.json", 60.0);

const OFF: &str = "the same call, the recorder paused";

/// Operations on the node are not recorded. Barriers and reductions are, once the other PE has been told.
pub(super) const PAIR: RowGroup = pair(
    "recorder",
    &[
        row("p with the recorder", OFF, Times(1.01)),
        row("put 8 B with the recorder", OFF, Times(1.01)),
        row("fetch_add with the recorder", OFF, Times(1.01)),
        row("barrier with the recorder", OFF, Times(1.01)),
        row("max of 1 long with the recorder", OFF, Times(1.01)),
    ],
);

pub(super) const CROWD: RowGroup = crowd(
    "recorder",
    8,
    &[
        row("crowded barrier with the recorder", OFF, Times(1.03)),
        row("crowded max of 1 long with the recorder", OFF, Times(1.03)),
    ],
);

pub(super) const NODES: RowGroup = two_nodes(
    "recorder",
    super::PAIR_OF_NODES,
    &[
        row("get 8 B over TCP with the recorder", OFF, Times(1.01)),
        row("barrier over TCP with the recorder", OFF, Times(1.01)),
    ],
);
