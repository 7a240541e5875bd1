//! The conversation between a launcher and its agents, without I/O: frames, the greeting before them, and the pulse
//! that tells a silent host from a quiet one.

pub(crate) mod child;
pub(crate) mod frame;
pub(crate) mod greeting;
pub(crate) mod pulse;
pub(crate) mod remote_shell;
pub(crate) mod sealed;
