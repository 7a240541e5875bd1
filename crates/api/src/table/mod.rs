//! The table: one row per family of routines.
//!
//! A row's prototype is C with place-holders. `<T>` in the name is an element type and `<N>` a size in bits, `mem`
//! or, in typed forms, nothing; `T` among the parameters is the element, `void` in sized and `mem` forms. A family
//! with [`Family::ctx`] exists once more with `ctx_` in its name and a context as first parameter.

mod amo;
mod collective;
mod control;
mod extension;
mod nonblocking;
mod p2p;
mod rma;

use Category::*;

use crate::prototype::Prototype;

/// The part of the library that a routine belongs to; each has an exports file and a section in the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the names are the documentation")]
pub enum Category {
    Setup,
    Thread,
    Memory,
    Rma,
    Amo,
    Signal,
    P2p,
    Ordering,
    Context,
    Session,
    Lock,
    Cache,
    Sync,
    Team,
    Collective,
    Profiling,
    Extension,
}

/// All categories in the order of the header, which is that of [`Category`]: the name used in lists and for the exports file, and one
/// sentence for the header.
const CATEGORIES: [(Category, &str, &str); 17] = [
    (Setup, "setup", "Start and end of the library, PE numbers, what can be reached."),
    (Thread, "thread", "Start with a thread level."),
    (Memory, "memory", "The symmetric heap; all calls are collective over the world."),
    (Rma, "rma", "Put and get: one element, blocks, strided and block-strided, blocking and nonblocking."),
    (Amo, "amo", "Atomic updates of one element."),
    (Signal, "signal", "Puts that announce themselves, and signals alone."),
    (P2p, "p2p", "Waiting for and testing symmetric variables of the calling PE."),
    (Ordering, "ordering", "Order (fence) and completion (quiet) of earlier operations."),
    (Context, "context", "Contexts: streams of operations that complete on their own."),
    (Session, "session", "Hints about the operations to come on a context."),
    (Lock, "lock", "Locks, first come first served."),
    (Cache, "cache", "Cache control of old machines; these do nothing."),
    (Sync, "sync", "Barriers and synchronisation."),
    (Team, "team", "Teams: subsets of the PEs with numbers of their own."),
    (Collective, "collective", "Broadcast, collect, exchange, reductions and scans."),
    (Profiling, "profiling", "Control of profiling tools."),
    (Extension, "extension", "Extensions."),
];

impl Category {
    /// All categories in the order of the header.
    pub fn all() -> impl Iterator<Item = Category> {
        CATEGORIES.into_iter().map(|(category, ..)| category)
    }

    /// The name used in lists and for the exports file.
    pub fn name(self) -> &'static str {
        CATEGORIES[self as usize].1
    }

    /// One sentence for the header.
    pub fn summary(self) -> &'static str {
        CATEGORIES[self as usize].2
    }
}

/// How a symbol stands to the standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// In OpenSHMEM 1.6.
    Current,
    /// In OpenSHMEM 1.6, but on its way out.
    Deprecated,
    /// Dropped by an earlier edition; kept for old programs.
    Removed,
    /// Never in the standard, at least not on this type; kept for programs written for other libraries.
    Compat,
    /// A vendor extension, declared in shmemx.h.
    Extension,
}

/// Some forms of a family that share their history.
#[derive(Debug)]
pub struct FamilyPart {
    /// Edition of the standard that brought them, `-` for none.
    pub since: &'static str,
    /// Their standing.
    pub status: Status,
    /// Element type names, sizes in bits and `mem`, separated by blanks; empty for a routine with one form only.
    pub forms: &'static [&'static str],
}

/// One row.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// Its category.
    pub category: Category,
    /// C prototype with place-holders.
    pub prototype: &'static str,
    /// The runtime's function, `module::name`, with an argument list only where it differs from the prototype's.
    pub call: &'static str,
    /// The forms.
    pub parts: &'static [FamilyPart],
    /// Whether the runtime's function wants to know how PE numbers are meant.
    pub via: bool,
    /// Whether the family also exists with a context.
    pub ctx: bool,
    /// Position of the argument that decides the type in the C11 macro, counted from 1 in the plain form.
    pub generic: Option<usize>,
    /// Numbers of the behaviour items that describe it.
    pub clauses: &'static str,
}

const fn since(since: &'static str, forms: &'static [&'static str]) -> FamilyPart {
    FamilyPart { since, status: Status::Current, forms }
}

const fn deprecated(since: &'static str, forms: &'static [&'static str]) -> FamilyPart {
    FamilyPart { since, status: Status::Deprecated, forms }
}

const fn compat(forms: &'static [&'static str]) -> FamilyPart {
    FamilyPart { since: "-", status: Status::Compat, forms }
}

const fn extension(forms: &'static [&'static str]) -> FamilyPart {
    FamilyPart { since: "-", status: Status::Extension, forms }
}

/// The only form there is.
const ALONE: &[&str] = &[""];

impl Family {
    const fn new(
        category: Category,
        call: &'static str,
        prototype: &'static str,
        parts: &'static [FamilyPart],
    ) -> Family {
        Family { category, prototype, call, parts, via: false, ctx: false, generic: None, clauses: "" }
    }

    /// The runtime wants a `Via`.
    const fn via(mut self) -> Family {
        self.via = true;
        self
    }

    /// Both plain and with a context.
    const fn ctx(mut self) -> Family {
        self.ctx = true;
        self.via()
    }

    /// Has a C11 macro and C++ overloads; argument `position` decides.
    const fn generic(mut self, position: usize) -> Family {
        self.generic = Some(position);
        self
    }

    const fn clauses(mut self, clauses: &'static str) -> Family {
        self.clauses = clauses;
        self
    }

    /// Its name with place-holders, as in `shmem_<T>_put<N>`: no other row has it.
    pub fn pattern(&self) -> String {
        Prototype::parse(self.prototype).name
    }

    /// Its name without place-holders: that of its C11 macro, where it has one.
    pub fn generic_name(&self) -> String {
        self.pattern().replace("<T>_", "").replace("<N>", "")
    }

    /// The runtime's function without arguments.
    pub fn function(&self) -> &'static str {
        self.call.split_once('(').map_or(self.call, |(function, _)| function)
    }
}

/// All rows in the order of the header.
pub fn families() -> impl Iterator<Item = &'static Family> {
    [control::ROWS, rma::ROWS, amo::ROWS, p2p::ROWS, collective::ROWS, extension::ROWS, nonblocking::ROWS]
        .into_iter()
        .flatten()
}

// The standard's groups of element types, as its editions introduced them.
const ORIGINAL_TYPES: &str = "float double longdouble short int long longlong";
const TYPES_ADDED_LATER: &str =
    "schar uchar ushort uint ulong ulonglong int8 int16 int32 int64 uint8 uint16 uint32 uint64 size ptrdiff";
const ATOMIC: &str = "int long longlong uint ulong ulonglong int32 int64 uint32 uint64 size ptrdiff";
const FLOATING: &str = "float double";
const SIZES: &str = "8 16 32 64 128";
