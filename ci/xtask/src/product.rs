//! The product: generated sources, the build, the link step, the installation.

pub(crate) mod bindgen;
pub(crate) mod build;
pub(crate) mod generate;
pub(crate) mod install;
pub(crate) mod library;
pub(crate) mod manual;
