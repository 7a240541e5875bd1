//! The launcher and the compiler wrappers: oshrun, oshcc, oshc++, oshfort, osh_info.
#![forbid(unsafe_code)]
