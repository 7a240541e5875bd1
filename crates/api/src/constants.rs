//! The constants of shmem.h.

use oxshmem_base::fortran_teams;

/// A group of constants in the header.
#[derive(Debug)]
pub struct ConstantGroup {
    /// Their purpose.
    pub title: &'static str,
    /// Whether Fortran has them too.
    pub fortran: bool,
    /// Names without `SHMEM_`, and values.
    pub constants: &'static [(&'static str, &'static str)],
}

/// All constants that are integers or strings. Bits of `long` arguments are `long`.
pub const GROUPS: &[ConstantGroup] = &[
    ConstantGroup {
        title: "Version of the standard and of the library.",
        fortran: true,
        constants: &[
            ("MAJOR_VERSION", "1"),
            ("MINOR_VERSION", "6"),
            ("MAX_NAME_LEN", "256"),
            ("VENDOR_STRING", concat!("\"oxshmem ", env!("CARGO_PKG_VERSION"), "\"")),
        ],
    },
    ConstantGroup {
        title: "Thread levels.",
        fortran: false,
        constants: &[
            ("THREAD_SINGLE", "0"),
            ("THREAD_FUNNELED", "1"),
            ("THREAD_SERIALIZED", "2"),
            ("THREAD_MULTIPLE", "3"),
        ],
    },
    ConstantGroup {
        title: "Comparisons of wait and test.",
        fortran: true,
        constants: &[
            ("CMP_EQ", "1"),
            ("CMP_NE", "2"),
            ("CMP_GT", "3"),
            ("CMP_GE", "4"),
            ("CMP_LT", "5"),
            ("CMP_LE", "6"),
        ],
    },
    ConstantGroup {
        title: "What a put's signal does.",
        fortran: false,
        constants: &[("SIGNAL_SET", "0"), ("SIGNAL_ADD", "1")],
    },
    ConstantGroup {
        title: "Options of contexts and sessions, bits of a team's and a session's configuration.",
        fortran: false,
        constants: &[
            ("CTX_PRIVATE", "(1L << 0)"),
            ("CTX_SERIALIZED", "(1L << 1)"),
            ("CTX_NOSTORE", "(1L << 2)"),
            ("CTX_SESSION_BATCH", "(1L << 3)"),
            ("CTX_SESSION_TOTAL_OPS", "(1L << 0)"),
            ("TEAM_NUM_CONTEXTS", "(1L << 0)"),
        ],
    },
    ConstantGroup {
        title: "Hints for shmem_malloc_with_hints.",
        fortran: false,
        constants: &[("MALLOC_ATOMICS_REMOTE", "(1L << 0)"), ("MALLOC_SIGNAL_REMOTE", "(1L << 1)")],
    },
    ConstantGroup {
        title: "Work arrays of the active-set collectives (deprecated).",
        fortran: true,
        constants: &[
            ("SYNC_VALUE", "0"),
            ("SYNC_SIZE", "16"),
            ("BARRIER_SYNC_SIZE", "16"),
            ("BCAST_SYNC_SIZE", "16"),
            ("COLLECT_SYNC_SIZE", "16"),
            ("REDUCE_SYNC_SIZE", "16"),
            ("ALLTOALL_SYNC_SIZE", "16"),
            ("ALLTOALLS_SYNC_SIZE", "16"),
            ("REDUCE_MIN_WRKDATA_SIZE", "16"),
        ],
    },
];

/// The additions of shmemx.h.
pub const EXTENSIONS: &[(&str, &str)] = &[("COLOR_UNDEFINED", "(-1)")];

/// Hints and options of Sandia OpenSHMEM in shmemx.h, names without `SHMEMX_`. The library takes them and does the same
/// without.
pub const HINTS: &[(&str, &str)] = &[("MALLOC_NO_BARRIER", "(1L << 2)"), ("CTX_BOUNCE_BUFFER", "(1L << 31)")];

/// Handles of the predefined teams in shmemx.fh.
pub const FORTRAN_TEAMS: [(&str, i64); 4] =
    [("NULL", 0), ("WORLD", fortran_teams::WORLD), ("SHARED", fortran_teams::SHARED), ("NODE", fortran_teams::NODE)];

/// The value of one constant.
///
/// # Panics
///
/// When there is no such constant.
pub fn value(name: &str) -> &'static str {
    let mut all = GROUPS.iter().flat_map(|group| group.constants);
    all.find(|(known, _)| *known == name).expect("the caller names a constant of the header").1
}

/// Constants that older editions spelled with a leading underscore.
pub const UNDERSCORED: &[&str] = &[
    "SYNC_VALUE",
    "BARRIER_SYNC_SIZE",
    "BCAST_SYNC_SIZE",
    "COLLECT_SYNC_SIZE",
    "REDUCE_SYNC_SIZE",
    "ALLTOALL_SYNC_SIZE",
    "ALLTOALLS_SYNC_SIZE",
    "REDUCE_MIN_WRKDATA_SIZE",
    "MAJOR_VERSION",
    "MINOR_VERSION",
    "MAX_NAME_LEN",
    "VENDOR_STRING",
    "CMP_EQ",
    "CMP_NE",
    "CMP_GT",
    "CMP_GE",
    "CMP_LT",
    "CMP_LE",
];

/// Functions of the library for other parts of the installation, which no header declares.
pub const INTERNAL: &[&str] = &[
    "oxshmem_collect_nb",
    "oxshmem_heap_high_water",
    "oxshmem_heap_is_collected",
    "oxshmem_heap_start",
    "oxshmem_interrupt_check",
    "oxshmem_interrupt_only_ends_calls",
    "oxshmem_is_context",
    "oxshmem_is_team",
    "oxshmem_left_over",
    "oxshmem_lie_together",
    "oxshmem_lies_apart",
    "oxshmem_no_number",
    "oxshmem_program_line",
    "oxshmem_release_heap",
    "oxshmem_sum_over",
    "oxshmem_too_short",
    "oxshmem_try_next_allocation",
];

/// The objects behind the predefined handles, and the handles as objects, as the linker sees them.
pub const OBJECTS: &[&str] = &[
    "oxshmem_context_default",
    "oxshmem_team_world",
    "oxshmem_team_shared",
    "oxshmem_team_node",
    "SHMEM_CTX_DEFAULT",
    "SHMEM_CTX_INVALID",
    "SHMEM_TEAM_WORLD",
    "SHMEM_TEAM_SHARED",
    "SHMEM_TEAM_INVALID",
    "SHMEM_TEAM_NULL",
    "SHMEM_TEAM_NODE",
];
