//! The integers by which Fortran names the predefined teams, because a PARAMETER cannot hold an address.

/// `SHMEM_TEAM_WORLD`.
pub const WORLD: i64 = 1;
/// `SHMEM_TEAM_SHARED`.
pub const SHARED: i64 = 2;
/// `SHMEM_TEAM_NODE`.
pub const NODE: i64 = 3;
