//! Collective algorithms as pure functions, their prover and their simulator.
#![forbid(unsafe_code)]
