//! The routines that have a size, and the calls of them in C.

use oxshmem_api::expand::{CallForm, symbols};
use oxshmem_api::prototype::{Parameter, Prototype};

/// The work of a routine, as the program compares it, which knows these names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// This number of elements, one after the other.
    Move,
    Spread,
    SetSpread,
    Gather,
    Exchange,
    ExchangeStrided,
    Strided,
    Reduce,
    Places,
    Packed,
    Wait,
    Heap,
    /// The count says how long a list is that the call need not read.
    None,
}

impl Kind {
    /// The kind of the runtime's function which executes a row of the table.
    fn of(function: &str) -> Kind {
        let (chapter, name) = function.split_once("::").expect("a function of a chapter");
        match (chapter, name) {
            ("rma", "put" | "get" | "put_nbi" | "get_nbi") | ("signal", "put_signal" | "put_signal_nbi") => Kind::Move,
            ("counting", "putmem" | "getmem") => Kind::Move,
            ("rma", "iput" | "iget" | "ibput" | "ibget") => Kind::Strided,
            ("active_set", "broadcast") => Kind::SetSpread,
            (_, "broadcast") => Kind::Spread,
            (_, "collect" | "fcollect") => Kind::Gather,
            (_, "alltoall") => Kind::Exchange,
            (_, "alltoalls") => Kind::ExchangeStrided,
            (_, "alltoallv") => Kind::Places,
            (_, "alltoallv_packed") => Kind::Packed,
            ("p2p", _) => Kind::Wait,
            ("memory", _) => Kind::Heap,
            ("order", "pe_quiet") => Kind::None,
            (_, "sum_inscan" | "sum_exscan") => Kind::Reduce,
            _ if name.ends_with("_reduce") || name.ends_with("_to_all") => Kind::Reduce,
            _ => panic!("{function} has a size, and the test does not know what it does"),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Routine {
    pub(crate) name: String,
    /// Its name without type and size, which some messages have.
    pub(crate) generic: String,
    /// Rows of the table, with and without a context, are families.
    pub(crate) family: usize,
    pub(crate) kind: Kind,
    /// Bytes of an element, as the compiler says.
    pub(crate) element: usize,
    /// Whether the count is an `int`.
    pub(crate) counts_in_int: bool,
    /// Whether it has blocks, or another second size.
    pub(crate) second: Option<String>,
    prototype: Prototype,
    size_in_c: String,
}

impl Routine {
    /// Whether it answers with NULL.
    pub(crate) fn allocates(&self) -> bool {
        self.kind == Kind::Heap
    }
}

/// Whether a parameter of a row is a size: not so an element whose type is `size_t`, which a row calls T.
fn is_size(parameter: &Parameter) -> bool {
    ["size_t", "ptrdiff_t", "size_t *"].contains(&&*parameter.ctype) || parameter.name == "nreduce"
}

pub(crate) fn routines() -> Vec<Routine> {
    let mut families: Vec<(&str, bool)> = Vec::new();
    let mut routines = Vec::new();
    for symbol in symbols() {
        let row = Prototype::parse(symbol.family.prototype);
        if !row.parameters.iter().any(is_size) {
            continue;
        }
        let key = (symbol.family.prototype, symbol.ctx);
        let family = families.iter().position(|other| *other == key).unwrap_or_else(|| {
            families.push(key);
            families.len() - 1
        });
        let size_in_c = match symbol.form {
            CallForm::Typed(element) => format!("sizeof({})", element.c),
            CallForm::Sized(bits) => (bits / 8).to_string(),
            CallForm::Mem | CallForm::Alone => "1".into(),
        };
        let has = |name: &&str| row.parameters.iter().any(|parameter| parameter.name == *name);
        routines.push(Routine {
            kind: Kind::of(symbol.family.function()),
            generic: symbol.family.generic_name(),
            family,
            element: 0,
            counts_in_int: has(&"nreduce") && row.parameters.iter().any(|p| p.name == "nreduce" && p.ctype == "int"),
            second: ["bsize", "count", "alignment", "target_len"]
                .iter()
                .find(|name| has(name))
                .map(|name| name.to_string()),
            name: symbol.name,
            prototype: symbol.prototype,
            size_in_c,
        });
    }
    routines.sort_by_key(|routine| routine.family);
    routines
}

/// The argument that the program passes for a parameter.
fn argument(routine: &str, Parameter { ctype, name }: &Parameter) -> &'static str {
    match &**name {
        "ctx" => "context",
        "team" => "SHMEM_TEAM_WORLD",
        "ct" => "counter",
        "dest" | "target" | "ivars" => "(void *)call->dest",
        "source" | "cmp_values" => "(void *)call->source",
        "nreduce" if ctype == "int" => "(int)call->n",
        "nelems" | "nblocks" | "nreduce" | "len" | "npes" | "size" => "call->n",
        "bsize" | "count" | "alignment" | "target_len" => "call->second",
        "dst" => "call->dst",
        "sst" => "call->sst",
        "pe" => "next",
        "PE_root" | "PE_start" | "logPE_stride" | "hints" | "cmp_value" => "0",
        "PE_size" => "pes",
        "pSync" => "sync_array",
        "pWrk" => "(void *)work",
        "sig_addr" => "&signal_word",
        "signal" => "1",
        "sig_op" => "SHMEM_SIGNAL_SET",
        "cmp" => "SHMEM_CMP_EQ",
        "indices" => "indices",
        "status" => "NULL",
        "request" => "&request",
        "t_offsets" => "target_offsets",
        "t_sizes" => "target_sizes",
        "s_offsets" => "source_offsets",
        "s_sizes" => "source_sizes",
        "t_size" => "&total",
        "target_pes" => "target_list",
        "ptr" => "shmem_malloc(64)",
        _ => panic!("{routine}: the test does not know the parameter {name}"),
    }
}

/// A function for each routine, and their table, in C.
pub(crate) fn header(routines: &[Routine]) -> String {
    let (mut functions, mut table) = (String::new(), String::new());
    for (i, routine) in routines.iter().enumerate() {
        let list: Vec<&str> =
            routine.prototype.parameters.iter().map(|parameter| argument(&routine.name, parameter)).collect();
        let (before, after) = if routine.allocates() {
            ("allocated = ", "")
        } else if list.contains(&"&request") {
            ("shmem_req_h request; ", " shmem_req_wait(&request);")
        } else {
            ("", "")
        };
        let Routine { name, size_in_c, .. } = routine;
        functions += &format!(
            "static void call_{i}(const struct call *call) {{ {before}{name}({});{after} }}\n",
            list.join(", ")
        );
        let padded = u8::from(name.contains("longdouble"));
        table += &format!("    {{\"{name}\", call_{i}, {size_in_c}, {padded}}},\n");
    }
    format!(
        "{functions}\nstatic const struct {{\n    const char *name;\n    void (*call)(const struct call *);\n    size_t element;\n    \
         int padded;\n}} routines[] = {{\n{table}}};\n"
    )
}
