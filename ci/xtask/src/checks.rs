//! The checks. `steps` lists those that `cargo xtask test` runs; the others take hours, or need something that few machines have.

pub(crate) mod abi;
pub(crate) mod book;
pub(crate) mod conformance;
pub(crate) mod dependencies;
pub(crate) mod examples;
pub(crate) mod fuzz;
pub(crate) mod house;
pub(crate) mod launchers;
pub(crate) mod manual;
pub(crate) mod matrix;
pub(crate) mod namespaces;
pub(crate) mod packages;
pub(crate) mod packaging;
pub(crate) mod placement;
pub(crate) mod problems;
pub(crate) mod public_api;
pub(crate) mod rails;
pub(crate) mod rdma;
pub(crate) mod revisions;
pub(crate) mod rust_tests;
pub(crate) mod semver;
pub(crate) mod spelling;
pub(crate) mod starts;
pub(crate) mod steps;
pub(crate) mod tuning;
