//! The routine table: one row per OpenSHMEM family, and the generators that read it.
#![forbid(unsafe_code)]
