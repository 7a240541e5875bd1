//! The Fortran interface: the set of OpenSHMEM 1.4, the last edition that had one, and what other libraries add.
//!
//! In Fortran every argument is an address and a name says what it is: `pe` is an integer everywhere. So a row lists
//! names only, and [`argument`] knows their C types; the odd ones are written out. `<K>` in a routine's name is a
//! kind and `T` its element; routines that move bytes have `void` elements.

use crate::prototype::{Parameter, Prototype};

/// One entry point.
#[derive(Clone, Debug)]
pub struct FortranEntry {
    /// How the table spells its name, in upper case, with `<K>` for the kind.
    pub pattern: String,
    /// Linker symbol: lower case with an underscore behind.
    pub symbol: String,
    /// Its standing.
    pub status: FortranStatus,
    /// C declaration; `real16_t` is the IEEE type of 128 bits.
    pub prototype: Prototype,
    /// The runtime's function, which takes the arguments in the same order.
    pub call: &'static str,
    /// The kind, for rows that have several.
    pub kind: Option<&'static FortranKind>,
}

/// How an entry point stands to the standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FortranStatus {
    /// In OpenSHMEM 1.4.
    Standard,
    /// In other libraries only.
    Compat,
    /// In Cray's library only.
    Cray,
    /// A vendor's extension, for shmemx.fh.
    Extension,
}

/// A Fortran type as routine names spell it.
#[derive(Debug, PartialEq, Eq)]
pub struct FortranKind {
    /// The spelling.
    pub name: &'static str,
    /// C element type; `void` where only the size matters.
    pub c: &'static str,
    /// Size of an element in bytes.
    pub bytes: u32,
}

const fn kind(name: &'static str, c: &'static str, bytes: u32) -> FortranKind {
    FortranKind { name, c, bytes }
}

const CHARACTER: &[FortranKind] = &[kind("character", "void", 1)];
/// The default types, in which blocks and strides are moved.
const DEFAULT: &[FortranKind] = &[
    kind("complex", "void", 8),
    kind("double", "void", 8),
    kind("integer", "void", 4),
    kind("logical", "void", 4),
    kind("real", "void", 4),
];
/// Sizes of elements: 4 and 8 are bytes, the others bits.
const WORDS: &[FortranKind] = &[
    kind("4", "void", 4),
    kind("8", "void", 8),
    kind("32", "void", 4),
    kind("64", "void", 8),
    kind("128", "void", 16),
];
const COLLECTED: &[FortranKind] =
    &[kind("4", "void", 4), kind("8", "void", 8), kind("32", "void", 4), kind("64", "void", 8)];
const EXCHANGED: &[FortranKind] = &[kind("32", "void", 4), kind("64", "void", 8)];
const EIGHT: &[FortranKind] = &[kind("", "void", 8)];
const BYTES: &[FortranKind] = &[kind("mem", "void", 1)];
const INT2: &[FortranKind] = &[kind("int2", "int16_t", 2)];
const INTEGERS: &[FortranKind] = &[kind("int4", "int32_t", 4), kind("int8", "int64_t", 8)];
const REALS: &[FortranKind] = &[kind("real4", "float", 4), kind("real8", "double", 8)];
const REAL16: &[FortranKind] = &[kind("real16", "real16_t", 16)];
const COMPLEXES: &[FortranKind] = &[kind("comp4", "float _Complex", 8), kind("comp8", "double _Complex", 16)];

struct FortranRow {
    /// Result, name and arguments.
    routine: &'static str,
    /// See [`FortranEntry::call`].
    call: &'static str,
    kinds: &'static [&'static [FortranKind]],
    status: FortranStatus,
}

const fn standard(call: &'static str, routine: &'static str, kinds: &'static [&'static [FortranKind]]) -> FortranRow {
    FortranRow { routine, call, kinds, status: FortranStatus::Standard }
}

const fn compat(call: &'static str, routine: &'static str, kinds: &'static [&'static [FortranKind]]) -> FortranRow {
    FortranRow { routine, call, kinds, status: FortranStatus::Compat }
}

const fn cray(call: &'static str, routine: &'static str, kinds: &'static [&'static [FortranKind]]) -> FortranRow {
    FortranRow { routine, call, kinds, status: FortranStatus::Cray }
}

const fn extension(call: &'static str, routine: &'static str) -> FortranRow {
    FortranRow { routine, call, kinds: &[], status: FortranStatus::Extension }
}

macro_rules! to_all {
    ($status:ident, $name:literal, $kinds:expr) => {
        to_all!($status, $name, concat!("active_set::", $name, "_to_all"), $kinds)
    };
    ($status:ident, $name:literal, $call:expr, $kinds:expr) => {
        $status(
            $call,
            concat!(
                "void shmem_<K>_",
                $name,
                "_to_all(dest, source, nreduce, PE_start, logPE_stride, PE_size, pWrk, pSync)"
            ),
            $kinds,
        )
    };
}

/// A collective over an active set that moves elements.
macro_rules! moved {
    ($name:literal, $arguments:literal, $kinds:ident) => {
        standard(
            concat!("active_set::", $name),
            concat!(
                "void shmem_",
                $name,
                "<K>(dest, source, ",
                $arguments,
                ", PE_start, logPE_stride, PE_size, pSync)"
            ),
            &[$kinds],
        )
    };
}

const ROWS: &[FortranRow] = &[
    // Start and end, memory, locality.
    standard("init::init", "void shmem_init()", &[]),
    standard("init::start_pes", "void start_pes(npes)", &[]),
    standard("init::finalize", "void shmem_finalize()", &[]),
    standard("init::global_exit", "void shmem_global_exit(status)", &[]),
    standard("init::my_pe", "int32_t shmem_my_pe()", &[]),
    standard("init::my_pe", "int32_t my_pe()", &[]),
    standard("init::n_pes", "int32_t shmem_n_pes()", &[]),
    standard("init::n_pes", "int32_t num_pes()", &[]),
    standard("init::info_get_version", "void shmem_info_get_version(int32_t *major, int32_t *minor)", &[]),
    standard("fortran::info_get_name", "void shmem_info_get_name(char *name, size_t name_len)", &[]),
    standard("locality::pe_accessible", "int32_t shmem_pe_accessible(pe)", &[]),
    standard("locality::addr_accessible", "int32_t shmem_addr_accessible(const void *addr, pe)", &[]),
    standard("locality::ptr", "void *shmem_ptr(const void *dest, pe)", &[]),
    standard("fortran::shpalloc", "void shpalloc(void **addr, length, int32_t *errcode, abort)", &[]),
    standard("fortran::shpclmove", "void shpclmove(void **addr, length, int32_t *status, abort)", &[]),
    standard("fortran::shpdeallc", "void shpdeallc(void **addr, int32_t *errcode, abort)", &[]),
    // Put and get.
    standard("rma::put", "void shmem_<K>_put(dest, source, nelems, pe)", &[CHARACTER, DEFAULT]),
    standard("rma::get", "void shmem_<K>_get(dest, source, nelems, pe)", &[CHARACTER, DEFAULT]),
    standard("rma::put_nbi", "void shmem_<K>_put_nbi(dest, source, nelems, pe)", &[CHARACTER, DEFAULT]),
    standard("rma::get_nbi", "void shmem_<K>_get_nbi(dest, source, nelems, pe)", &[CHARACTER, DEFAULT]),
    // Programs pass one argument more, a handle that has no use. The callee does not look at it.
    cray("rma::put_nbi", "void shmem_<K>_put_nb(dest, source, nelems, pe)", &[CHARACTER, DEFAULT]),
    cray("rma::get_nbi", "void shmem_<K>_get_nb(dest, source, nelems, pe)", &[CHARACTER, DEFAULT]),
    cray("rma::put_nbi", "void shmem_put<K>_nb(dest, source, nelems, pe)", &[WORDS, BYTES]),
    cray("rma::get_nbi", "void shmem_get<K>_nb(dest, source, nelems, pe)", &[WORDS, BYTES]),
    standard("rma::iput", "void shmem_<K>_iput(dest, source, dst, sst, nelems, pe)", &[DEFAULT]),
    standard("rma::iget", "void shmem_<K>_iget(dest, source, dst, sst, nelems, pe)", &[DEFAULT]),
    standard("rma::put", "void shmem_put<K>(dest, source, nelems, pe)", &[WORDS, BYTES]),
    standard("rma::get", "void shmem_get<K>(dest, source, nelems, pe)", &[WORDS, BYTES]),
    standard("rma::put_nbi", "void shmem_put<K>_nbi(dest, source, nelems, pe)", &[WORDS, BYTES]),
    standard("rma::get_nbi", "void shmem_get<K>_nbi(dest, source, nelems, pe)", &[WORDS, BYTES]),
    standard("rma::iput", "void shmem_iput<K>(dest, source, dst, sst, nelems, pe)", &[WORDS]),
    standard("rma::iget", "void shmem_iget<K>(dest, source, dst, sst, nelems, pe)", &[WORDS]),
    // Moves 8-byte elements, as it did before sizes were in the name.
    standard("rma::put", "void shmem_put<K>(dest, source, nelems, pe)", &[EIGHT]),
    // Atomics.
    standard("amo::add", "void shmem_<K>_add(dest, value, pe)", &[INTEGERS]),
    standard("amo::inc", "void shmem_<K>_inc(dest, pe)", &[INTEGERS]),
    standard("amo::fetch_add", "T shmem_<K>_fadd(dest, value, pe)", &[INTEGERS]),
    standard("amo::fetch_inc", "T shmem_<K>_finc(dest, pe)", &[INTEGERS]),
    standard("amo::compare_swap", "T shmem_<K>_cswap(dest, cond, value, pe)", &[INTEGERS]),
    standard("amo::swap", "T shmem_<K>_swap(dest, value, pe)", &[INTEGERS, REALS]),
    standard("amo::fetch", "T shmem_<K>_fetch(source, pe)", &[INTEGERS, REALS]),
    standard("amo::set", "void shmem_<K>_set(dest, value, pe)", &[INTEGERS, REALS]),
    standard("amo::swap", "int32_t shmem_swap(int32_t *dest, const int32_t *value, pe)", &[]),
    // Waits, ordering, locks; variables are default integers of 4 bytes.
    standard("p2p::wait", "void shmem_<K>_wait(ivar, cmp_value)", &[INTEGERS]),
    standard("p2p::wait_until", "void shmem_<K>_wait_until(ivar, cmp, cmp_value)", &[INTEGERS]),
    standard("p2p::wait", "void shmem_wait(int32_t *ivar, const int32_t *cmp_value)", &[]),
    standard("p2p::wait_until", "void shmem_wait_until(int32_t *ivar, cmp, const int32_t *cmp_value)", &[]),
    standard("order::fence", "void shmem_fence()", &[]),
    standard("order::quiet", "void shmem_quiet()", &[]),
    standard("fortran::set_lock", "void shmem_set_lock(lock)", &[]),
    standard("fortran::clear_lock", "void shmem_clear_lock(lock)", &[]),
    standard("fortran::test_lock", "int32_t shmem_test_lock(lock)", &[]),
    // Collectives.
    standard("order::barrier_all", "void shmem_barrier_all()", &[]),
    standard("active_set::barrier", "void shmem_barrier(PE_start, logPE_stride, PE_size, pSync)", &[]),
    moved!("broadcast", "nelems, PE_root", COLLECTED),
    moved!("collect", "nelems", COLLECTED),
    moved!("fcollect", "nelems", COLLECTED),
    moved!("alltoall", "nelems", EXCHANGED),
    moved!("alltoalls", "dst, sst, nelems", EXCHANGED),
    to_all!(standard, "and", &[INTEGERS]),
    to_all!(standard, "or", &[INTEGERS]),
    to_all!(standard, "xor", &[INTEGERS]),
    to_all!(standard, "max", &[INTEGERS, REALS, REAL16]),
    to_all!(standard, "min", &[INTEGERS, REALS, REAL16]),
    to_all!(standard, "sum", &[INTEGERS, REALS, REAL16, COMPLEXES]),
    to_all!(standard, "prod", &[INTEGERS, REALS, REAL16, COMPLEXES]),
    to_all!(compat, "and", &[INT2]),
    to_all!(compat, "or", &[INT2]),
    to_all!(compat, "xor", &[INT2]),
    to_all!(compat, "xor", "fortran::complex_xor_to_all", &[COMPLEXES]),
    to_all!(compat, "max", &[INT2]),
    to_all!(compat, "min", &[INT2]),
    to_all!(compat, "sum", &[INT2]),
    to_all!(compat, "prod", &[INT2]),
    // Cache control of old machines.
    standard("locality::set_cache_inv", "void shmem_set_cache_inv()", &[]),
    standard("locality::set_cache_line_inv", "void shmem_set_cache_line_inv(void *dest)", &[]),
    standard("locality::clear_cache_inv", "void shmem_clear_cache_inv()", &[]),
    compat("locality::clear_cache_line_inv", "void shmem_clear_cache_line_inv(void *dest)", &[]),
    standard("locality::udcflush", "void shmem_udcflush()", &[]),
    standard("locality::udcflush_line", "void shmem_udcflush_line(void *dest)", &[]),
    // Extensions; team handles are integers of 8 bytes.
    extension(
        "team_extension::split_strided",
        "void shmemx_team_split_strided(const int64_t *parent_team, PE_start, PE_stride, PE_size, int64_t *newteam)",
    ),
    extension(
        "team_extension::split_color",
        "void shmemx_team_split(const int64_t *parent_team, color, key, int64_t *newteam)",
    ),
    extension("fortran::team_destroy", "void shmemx_team_destroy(int64_t *newteam)"),
    extension("team_extension::my_pe", "int32_t shmemx_team_my_pe(const int64_t *newteam)"),
    extension("team_extension::n_pes", "int32_t shmemx_team_n_pes(const int64_t *newteam)"),
    extension(
        "team_extension::translate_pe",
        "int32_t shmemx_team_translate_pe(const int64_t *team1, team1_pe, const int64_t *team2)",
    ),
    extension(
        "active_set::alltoallv",
        "void shmemx_alltoallv(void *target, const int64_t *t_offsets, int64_t *t_sizes, const void *source, \
         const int64_t *s_offsets, const int64_t *s_sizes, PE_start, logPE_stride, PE_size, pSync)",
    ),
    extension(
        "active_set::alltoallv_packed",
        "void shmemx_alltoallv_packed(void *target, const int64_t *target_len, int64_t *t_size, const void *source, \
         const int64_t *s_offsets, const int64_t *s_sizes, PE_start, logPE_stride, PE_size, pSync)",
    ),
    extension("extension::thread_register", "void shmemx_thread_register()"),
    extension("extension::thread_unregister", "void shmemx_thread_unregister()"),
    extension("extension::thread_quiet", "void shmemx_thread_quiet()"),
    extension("extension::thread_fence", "void shmemx_thread_fence()"),
    extension("extension::wtime", "double shmemx_wtime()"),
];

/// Cray's names without a type, and the rows that they choose from by the type of `dest`. A linker symbol cannot tell a
/// type, so they are generic interfaces of the module `shmemx`. `SHMEM_PUT` is not among them: the standard's routine of that
/// name moves elements of 8 bytes, and a program that uses both modules must not have two meanings of one name.
pub const GENERICS: &[(&str, &str)] = &[
    ("SHMEM_GET", "SHMEM_GET<K>"),
    ("SHMEM_CSWAP", "SHMEM_<K>_CSWAP"),
    ("SHMEM_FADD", "SHMEM_<K>_FADD"),
    ("SHMEM_FINC", "SHMEM_<K>_FINC"),
];

/// The most dimensions of an array; a scalar has none.
pub const RANKS: usize = 7;

/// Types of Fortran that C does not have. No specific routine for them may have a binding label (the standard forbids it, and compilers
/// that are told to be strict agree), so each has a linker symbol of its own: the type, and the row that serves it.
pub const LOGICALS: [(&str, &str, &str); 2] = [("logical4", "SHMEM_GET<K>", "32"), ("logical8", "SHMEM_GET<K>", "64")];

/// The name of such a routine.
pub fn logical_get(name: &str, rank: usize) -> String {
    format!("shmem_get_{name}_{rank}")
}

/// Every entry point.
pub fn entries() -> Vec<FortranEntry> {
    ROWS.iter().flat_map(expand).collect()
}

fn expand(row: &'static FortranRow) -> Vec<FortranEntry> {
    let kinds: Vec<Option<&'static FortranKind>> = match row.kinds {
        [] => vec![None],
        groups => groups.iter().copied().flatten().map(Some).collect(),
    };
    kinds.into_iter().map(|kind| entry(row, kind)).collect()
}

fn entry(row: &'static FortranRow, kind: Option<&'static FortranKind>) -> FortranEntry {
    let (name, element) = kind.map_or(("", ""), |kind| (kind.name, kind.c));
    let (head, list) = row.routine.split_once('(').expect("a routine has an argument list");
    let list = list.trim_end_matches(')').split(", ").filter(|item| !item.is_empty());
    let mut prototype = Prototype::parse(&format!("{}(void)", head.replace("<K>", name)));
    prototype.parameters = list.map(|item| argument(item, element)).collect();
    if prototype.result == "T" {
        prototype.result = element.into();
    }
    prototype.name.push('_');
    let pattern = head.rsplit([' ', '*']).next().unwrap_or(head).to_ascii_uppercase();
    FortranEntry { pattern, symbol: prototype.name.clone(), status: row.status, prototype, call: row.call, kind }
}

/// An argument by its name, or as written when it comes with a type.
fn argument(item: &str, element: &str) -> Parameter {
    if item.contains(' ') {
        return Prototype::parse(&format!("void f({item})")).parameters.remove(0);
    }
    let ctype = match item {
        "dest" | "ivar" | "pWrk" => format!("{element} *"),
        "source" | "value" | "cond" | "cmp_value" => format!("const {element} *"),
        "pSync" | "lock" => "int32_t *".into(),
        _ => "const int32_t *".into(),
    };
    Parameter::new(&ctype, item)
}

/// A linker symbol of gfortran's as other compilers and options spell it: in upper case, and with a second underscore where one
/// is in the name.
fn other_spellings(symbol: &str) -> Vec<String> {
    let name = symbol.trim_end_matches('_');
    let doubled = name.contains('_').then(|| format!("{symbol}_"));
    [name.to_ascii_uppercase()].into_iter().chain(doubled).collect()
}

impl FortranEntry {
    /// Its name without what the compiler adds, in upper case.
    pub fn name(&self) -> String {
        self.symbol.trim_end_matches('_').to_ascii_uppercase()
    }

    /// Its other linker symbols: those of [`LOGICALS`] that it serves, and the spellings of other compilers and options.
    pub fn aliases(&self) -> Vec<String> {
        let specific = LOGICALS
            .iter()
            .filter(|logical| self.pattern == logical.1 && self.kind.is_some_and(|kind| kind.name == logical.2));
        let specific = specific.flat_map(|logical| (0..=RANKS).map(|rank| logical_get(logical.0, rank) + "_"));
        let specific = specific.flat_map(|symbol| [other_spellings(&symbol), vec![symbol]].concat());
        other_spellings(&self.symbol).into_iter().chain(specific).collect()
    }

    /// The statement that uses it, as a Fortran programmer writes it.
    pub fn usage(&self) -> String {
        // The compiler passes a string's length as a further argument.
        let visible = self.prototype.parameters.iter().filter(|parameter| parameter.ctype.ends_with('*'));
        let names: Vec<&str> = visible.map(|parameter| parameter.name.as_str()).collect();
        let call = format!("{}({})", self.name(), names.join(", "));
        if self.prototype.result == "void" { format!("CALL {call}") } else { format!("r = {call}") }
    }
}
