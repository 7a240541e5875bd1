//! Teams and contexts: who belongs to one, which handle means which, and how a new team gets its slot.

pub(crate) mod constants;
pub(crate) mod context;
pub(crate) mod leasing;
pub(crate) mod live_contexts;
pub(crate) mod members;
pub(crate) mod registry;
pub(crate) mod span;
pub(crate) mod team;
pub(crate) mod via;
