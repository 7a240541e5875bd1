//! The product: generated sources, the build, the link step, the installation, packages.

pub(crate) mod bindgen;
pub(crate) mod build;
pub(crate) mod crates;
mod descriptions;
mod fortran;
pub(crate) mod generate;
pub(crate) mod installation;
pub(crate) mod library;
pub(crate) mod manual;
mod notices;
pub(crate) mod package;
pub(crate) mod python;
pub(crate) mod recipe;
pub(crate) mod release;
mod stage;
mod strip;
pub(crate) mod toolchain;
