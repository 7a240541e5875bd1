//! The Fortran interface: the set of OpenSHMEM 1.4, the last edition that had one, and what other libraries add.
//!
//! In Fortran every argument is an address and a name says what it is: `pe` is an integer everywhere. So a row lists
//! names only, and [`argument`] knows their C types; the odd ones are written out. `<K>` in a routine's name is a
//! kind and `T` its element; routines that move bytes have `void` elements.

use crate::prototype::{Parameter, Prototype};

/// One entry point.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Linker symbol: lower case with an underscore behind.
    pub symbol: String,
    /// Its standing.
    pub status: Status,
    /// C declaration; `real16_t` is the IEEE type of 128 bits.
    pub prototype: Prototype,
    /// The kind, for rows that have several.
    pub kind: Option<&'static Kind>,
}

/// How an entry point stands to the standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// In OpenSHMEM 1.4.
    Standard,
    /// In other libraries only.
    Compat,
    /// A vendor's extension, for shmemx.fh.
    Extension,
}

/// A Fortran type as routine names spell it.
#[derive(Debug, PartialEq, Eq)]
pub struct Kind {
    /// The spelling.
    pub name: &'static str,
    /// C element type; `void` where only the size matters.
    pub c: &'static str,
    /// Size of an element in bytes.
    pub bytes: u32,
}

const fn kind(name: &'static str, c: &'static str, bytes: u32) -> Kind {
    Kind { name, c, bytes }
}

const CHARACTER: &[Kind] = &[kind("character", "void", 1)];
/// The default types, in which blocks and strides are moved.
const DEFAULT: &[Kind] = &[
    kind("complex", "void", 8),
    kind("double", "void", 8),
    kind("integer", "void", 4),
    kind("logical", "void", 4),
    kind("real", "void", 4),
];
/// Sizes of elements: 4 and 8 are bytes, the others bits.
const WORDS: &[Kind] = &[
    kind("4", "void", 4),
    kind("8", "void", 8),
    kind("32", "void", 4),
    kind("64", "void", 8),
    kind("128", "void", 16),
];
const COLLECTED: &[Kind] = &[kind("4", "void", 4), kind("8", "void", 8), kind("32", "void", 4), kind("64", "void", 8)];
const EXCHANGED: &[Kind] = &[kind("32", "void", 4), kind("64", "void", 8)];
const BYTES: &[Kind] = &[kind("mem", "void", 1)];
const INT2: &[Kind] = &[kind("int2", "int16_t", 2)];
const INTEGERS: &[Kind] = &[kind("int4", "int32_t", 4), kind("int8", "int64_t", 8)];
const REALS: &[Kind] = &[kind("real4", "float", 4), kind("real8", "double", 8)];
const REAL16: &[Kind] = &[kind("real16", "real16_t", 16)];
const COMPLEXES: &[Kind] = &[kind("comp4", "float _Complex", 8), kind("comp8", "double _Complex", 16)];

struct Row {
    /// Result, name and arguments.
    routine: &'static str,
    kinds: &'static [&'static [Kind]],
    status: Status,
}

const fn standard(routine: &'static str, kinds: &'static [&'static [Kind]]) -> Row {
    Row { routine, kinds, status: Status::Standard }
}

const fn compat(routine: &'static str, kinds: &'static [&'static [Kind]]) -> Row {
    Row { routine, kinds, status: Status::Compat }
}

const fn extension(routine: &'static str) -> Row {
    Row { routine, kinds: &[], status: Status::Extension }
}

macro_rules! to_all {
    ($status:ident, $name:literal, $kinds:expr) => {
        $status(
            concat!(
                "void shmem_<K>_",
                $name,
                "_to_all(dest, source, nreduce, PE_start, logPE_stride, PE_size, pWrk, pSync)"
            ),
            $kinds,
        )
    };
}

const ROWS: &[Row] = &[
    // Start and end, memory, locality.
    standard("void shmem_init()", &[]),
    standard("void start_pes(npes)", &[]),
    standard("void shmem_finalize()", &[]),
    standard("void shmem_global_exit(status)", &[]),
    standard("int32_t shmem_my_pe()", &[]),
    standard("int32_t my_pe()", &[]),
    standard("int32_t shmem_n_pes()", &[]),
    standard("int32_t num_pes()", &[]),
    standard("void shmem_info_get_version(int32_t *major, int32_t *minor)", &[]),
    standard("void shmem_info_get_name(char *name, size_t name_len)", &[]),
    standard("int32_t shmem_pe_accessible(pe)", &[]),
    standard("int32_t shmem_addr_accessible(const void *addr, pe)", &[]),
    standard("void *shmem_ptr(const void *dest, pe)", &[]),
    standard("void shpalloc(void **addr, length, int32_t *errcode, abort)", &[]),
    standard("void shpclmove(void **addr, length, int32_t *status, abort)", &[]),
    standard("void shpdeallc(void **addr, int32_t *errcode, abort)", &[]),
    // Put and get.
    standard("void shmem_<K>_put(dest, source, nelems, pe)", &[CHARACTER, DEFAULT]),
    standard("void shmem_<K>_get(dest, source, nelems, pe)", &[CHARACTER, DEFAULT]),
    standard("void shmem_<K>_put_nbi(dest, source, nelems, pe)", &[CHARACTER, DEFAULT]),
    standard("void shmem_<K>_get_nbi(dest, source, nelems, pe)", &[CHARACTER, DEFAULT]),
    standard("void shmem_<K>_iput(dest, source, dst, sst, nelems, pe)", &[DEFAULT]),
    standard("void shmem_<K>_iget(dest, source, dst, sst, nelems, pe)", &[DEFAULT]),
    standard("void shmem_put<K>(dest, source, nelems, pe)", &[WORDS, BYTES]),
    standard("void shmem_get<K>(dest, source, nelems, pe)", &[WORDS, BYTES]),
    standard("void shmem_put<K>_nbi(dest, source, nelems, pe)", &[WORDS, BYTES]),
    standard("void shmem_get<K>_nbi(dest, source, nelems, pe)", &[WORDS, BYTES]),
    standard("void shmem_iput<K>(dest, source, dst, sst, nelems, pe)", &[WORDS]),
    standard("void shmem_iget<K>(dest, source, dst, sst, nelems, pe)", &[WORDS]),
    // Moves 8-byte elements, as it did before sizes were in the name.
    standard("void shmem_put(void *dest, const void *source, nelems, pe)", &[]),
    // Atomics.
    standard("void shmem_<K>_add(dest, value, pe)", &[INTEGERS]),
    standard("void shmem_<K>_inc(dest, pe)", &[INTEGERS]),
    standard("T shmem_<K>_fadd(dest, value, pe)", &[INTEGERS]),
    standard("T shmem_<K>_finc(dest, pe)", &[INTEGERS]),
    standard("T shmem_<K>_cswap(dest, cond, value, pe)", &[INTEGERS]),
    standard("T shmem_<K>_swap(dest, value, pe)", &[INTEGERS, REALS]),
    standard("T shmem_<K>_fetch(source, pe)", &[INTEGERS, REALS]),
    standard("void shmem_<K>_set(dest, value, pe)", &[INTEGERS, REALS]),
    standard("int32_t shmem_swap(int32_t *dest, const int32_t *value, pe)", &[]),
    // Waits, ordering, locks; variables are default integers of 4 bytes.
    standard("void shmem_<K>_wait(ivar, cmp_value)", &[INTEGERS]),
    standard("void shmem_<K>_wait_until(ivar, cmp, cmp_value)", &[INTEGERS]),
    standard("void shmem_wait(int32_t *ivar, const int32_t *cmp_value)", &[]),
    standard("void shmem_wait_until(int32_t *ivar, cmp, const int32_t *cmp_value)", &[]),
    standard("void shmem_fence()", &[]),
    standard("void shmem_quiet()", &[]),
    standard("void shmem_set_lock(lock)", &[]),
    standard("void shmem_clear_lock(lock)", &[]),
    standard("int32_t shmem_test_lock(lock)", &[]),
    // Collectives.
    standard("void shmem_barrier_all()", &[]),
    standard("void shmem_barrier(PE_start, logPE_stride, PE_size, pSync)", &[]),
    standard(
        "void shmem_broadcast<K>(dest, source, nelems, PE_root, PE_start, logPE_stride, PE_size, pSync)",
        &[COLLECTED],
    ),
    standard("void shmem_collect<K>(dest, source, nelems, PE_start, logPE_stride, PE_size, pSync)", &[COLLECTED]),
    standard("void shmem_fcollect<K>(dest, source, nelems, PE_start, logPE_stride, PE_size, pSync)", &[COLLECTED]),
    standard("void shmem_alltoall<K>(dest, source, nelems, PE_start, logPE_stride, PE_size, pSync)", &[EXCHANGED]),
    standard(
        "void shmem_alltoalls<K>(dest, source, dst, sst, nelems, PE_start, logPE_stride, PE_size, pSync)",
        &[EXCHANGED],
    ),
    to_all!(standard, "and", &[INTEGERS]),
    to_all!(standard, "or", &[INTEGERS]),
    to_all!(standard, "xor", &[INTEGERS]),
    to_all!(standard, "max", &[INTEGERS, REALS, REAL16]),
    to_all!(standard, "min", &[INTEGERS, REALS, REAL16]),
    to_all!(standard, "sum", &[INTEGERS, REALS, REAL16, COMPLEXES]),
    to_all!(standard, "prod", &[INTEGERS, REALS, REAL16, COMPLEXES]),
    to_all!(compat, "and", &[INT2]),
    to_all!(compat, "or", &[INT2]),
    to_all!(compat, "xor", &[INT2, COMPLEXES]),
    to_all!(compat, "max", &[INT2]),
    to_all!(compat, "min", &[INT2]),
    to_all!(compat, "sum", &[INT2]),
    to_all!(compat, "prod", &[INT2]),
    // Cache control of old machines.
    standard("void shmem_set_cache_inv()", &[]),
    standard("void shmem_set_cache_line_inv(void *dest)", &[]),
    standard("void shmem_clear_cache_inv()", &[]),
    compat("void shmem_clear_cache_line_inv(void *dest)", &[]),
    standard("void shmem_udcflush()", &[]),
    standard("void shmem_udcflush_line(void *dest)", &[]),
    // Extensions; team handles are integers of 8 bytes.
    extension(
        "void shmemx_team_split_strided(const int64_t *parent_team, PE_start, PE_stride, PE_size, int64_t *newteam)",
    ),
    extension("void shmemx_team_split(const int64_t *parent_team, color, key, int64_t *newteam)"),
    extension("void shmemx_team_destroy(int64_t *newteam)"),
    extension("int32_t shmemx_team_my_pe(const int64_t *newteam)"),
    extension("int32_t shmemx_team_n_pes(const int64_t *newteam)"),
    extension("int32_t shmemx_team_translate_pe(const int64_t *team1, team1_pe, const int64_t *team2)"),
    extension(
        "void shmemx_alltoallv(void *target, const int64_t *t_offsets, int64_t *t_sizes, const void *source, \
         const int64_t *s_offsets, const int64_t *s_sizes, PE_start, logPE_stride, PE_size, pSync)",
    ),
    extension(
        "void shmemx_alltoallv_packed(void *target, const int64_t *target_len, int64_t *t_size, const void *source, \
         const int64_t *s_offsets, const int64_t *s_sizes, PE_start, logPE_stride, PE_size, pSync)",
    ),
    extension("void shmemx_thread_register()"),
    extension("void shmemx_thread_unregister()"),
    extension("void shmemx_thread_quiet()"),
    extension("void shmemx_thread_fence()"),
    extension("double shmemx_wtime()"),
];

/// Every entry point.
pub fn entries() -> Vec<Entry> {
    ROWS.iter().flat_map(expand).collect()
}

fn expand(row: &'static Row) -> Vec<Entry> {
    let kinds: Vec<Option<&'static Kind>> = match row.kinds {
        [] => vec![None],
        groups => groups.iter().copied().flatten().map(Some).collect(),
    };
    kinds.into_iter().map(|kind| entry(row, kind)).collect()
}

fn entry(row: &'static Row, kind: Option<&'static Kind>) -> Entry {
    let (name, element) = kind.map_or(("", ""), |kind| (kind.name, kind.c));
    let (head, list) = row.routine.split_once('(').expect("a routine has an argument list");
    let list = list.trim_end_matches(')').split(", ").filter(|item| !item.is_empty());
    let mut prototype = Prototype::parse(&format!("{}(void)", head.replace("<K>", name)));
    prototype.parameters = list.map(|item| argument(item, element)).collect();
    if prototype.result == "T" {
        prototype.result = element.into();
    }
    prototype.name.push('_');
    Entry { symbol: prototype.name.clone(), status: row.status, prototype, kind }
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

impl Entry {
    /// The statement that uses it, as a Fortran programmer writes it.
    pub fn usage(&self) -> String {
        let name = self.symbol.trim_end_matches('_').to_ascii_uppercase();
        // A string's length is passed behind the programmer's back.
        let visible = self.prototype.parameters.iter().filter(|parameter| parameter.ctype.ends_with('*'));
        let names: Vec<&str> = visible.map(|parameter| parameter.name.as_str()).collect();
        let call = format!("{name}({})", names.join(", "));
        if self.prototype.result == "void" { format!("CALL {call}") } else { format!("r = {call}") }
    }
}
