//! Errors in the house style, environment knobs and the size syntax.
#![forbid(unsafe_code)]
