//! The C library: every exported symbol, generated from the routine table.
