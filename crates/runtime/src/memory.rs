//! The memory that the PEs of a node share: its [`windows`], the arithmetic by which an object of another PE is found in them
//! ([`direct`]), the [`control`] window that the runtime itself uses, the symmetric [`heap`] with its [`guard`], and what each PE may take
//! within the [`node_limits`].

pub(crate) mod address_limit;
pub(crate) mod collected;
pub(crate) mod control;
mod default_heap_size;
pub(crate) mod direct;
pub(crate) mod facts;
pub(crate) mod guard;
pub(crate) mod heap;
mod helgrind;
mod huge_pages;
mod left_windows;
pub(crate) mod node_limits;
pub(crate) mod windows;
