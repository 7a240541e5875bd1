//! Teams and contexts: the members of one, which handle means which, and how a new team gets its slot.

pub(crate) mod cache_levels;
pub(crate) mod context;
pub(crate) mod kept_parts;
pub(crate) mod leasing;
pub(crate) mod live_contexts;
pub(crate) mod live_teams;
pub(crate) mod members;
pub(crate) mod numbered_handles;
pub(crate) mod predefined_handles;
pub(crate) mod span;
pub(crate) mod split_arguments;
pub(crate) mod team;
pub(crate) mod valid_handles;
pub(crate) mod via;
