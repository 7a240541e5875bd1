//! The calls of the race detector: each routine once more, around the library's, with what the detector has to know.

use crate::expand::{CallForm, Symbol, exported};
use crate::fortran::{self, FortranEntry};
use crate::prototype::{Parameter, Prototype};

/// One routine to be written.
struct Routine {
    prototype: Prototype,
    /// The runtime's function.
    function: String,
    /// C for the size of an element.
    size: String,
    /// C for the context.
    ctx: &'static str,
    /// The name in messages.
    name: String,
    /// C for the routine of the library, and names that mean the same.
    target: String,
    aliases: Vec<String>,
    /// Arguments are addresses.
    fortran: bool,
}

/// The statements around the library's routine. `$name` is the value of an argument, `&name` the address that it holds; `$size`,
/// `$ctx` and `$result` say themselves, `AT` is the call site.
const HOOKS: &[(&str, &str, &str)] = &[
    ("init::init", "race_prepare();", "race_begin();"),
    ("init::init_thread", "race_prepare();", "if ($result == 0) race_begin();"),
    ("init::start_pes", "race_prepare();", "race_begin();"),
    ("init::finalize", "uint64_t meeting = race_ending();", "race_ended(meeting);"),
    ("memory::malloc", ENTER_IF_SIZE, "race_leave(meeting); race_allocated($result, $bytes, AT);"),
    ("memory::malloc_with_hints", ENTER_IF_SIZE, "race_leave(meeting); race_allocated($result, $bytes, AT);"),
    ("memory::align", ENTER_IF_SIZE, "race_leave(meeting); race_allocated($result, $bytes, AT);"),
    (
        "memory::calloc",
        "uint64_t meeting = $count && $bytes ? race_enter_world(1) : 0;",
        "race_leave(meeting); race_allocated($result, $count * $bytes, AT);",
    ),
    (
        "memory::realloc",
        "uint64_t meeting = &ptr || $bytes ? race_enter_world(1) : 0; int lone = !&ptr;",
        "race_leave(meeting); if ($result || $bytes == 0) race_freed(lone ? 0 : &ptr); race_allocated($result, $bytes, AT);",
    ),
    ("memory::free", "uint64_t meeting = &ptr ? race_enter_world(1) : 0;", "race_leave(meeting); race_freed(&ptr);"),
    (
        "fortran::shpalloc",
        "uint64_t meeting = race_enter_world(1);",
        "race_leave(meeting); race_allocated(*addr, (size_t)*length * 4, AT);",
    ),
    (
        "fortran::shpdeallc",
        "uint64_t meeting = race_enter_world(1); void *old = *addr;",
        "race_leave(meeting); race_freed(old);",
    ),
    ("rma::p", "race_put($ctx, &dest, 0, $size, $pe, 0, AT);", ""),
    ("rma::g", "race_get($ctx, 0, &source, $size, $pe, 0, AT);", ""),
    ("rma::put", "race_put($ctx, &dest, &source, $nelems * $size, $pe, 0, AT);", ""),
    ("rma::get", "race_get($ctx, &dest, &source, $nelems * $size, $pe, 0, AT);", ""),
    ("rma::put_nbi", "race_put($ctx, &dest, &source, $nelems * $size, $pe, 1, AT);", ""),
    ("rma::get_nbi", "race_get($ctx, &dest, &source, $nelems * $size, $pe, 1, AT);", ""),
    (
        "rma::iput",
        "race_blocks($ctx, &dest, &source, $dst * (long)$size, $sst * (long)$size, $size, $nelems, $pe, 1, AT);",
        "",
    ),
    (
        "rma::iget",
        "race_blocks($ctx, &dest, &source, $dst * (long)$size, $sst * (long)$size, $size, $nelems, $pe, 0, AT);",
        "",
    ),
    (
        "rma::ibput",
        "race_blocks($ctx, &dest, &source, $dst * (long)$size, $sst * (long)$size, $bsize * $size, $nblocks, $pe, 1, AT);",
        "",
    ),
    (
        "rma::ibget",
        "race_blocks($ctx, &dest, &source, $dst * (long)$size, $sst * (long)$size, $bsize * $size, $nblocks, $pe, 0, AT);",
        "",
    ),
    ("signal::put_signal", "race_put_signal($ctx, &dest, &source, $nelems * $size, &sig_addr, $pe, 0, AT);", ""),
    ("signal::put_signal_nbi", "race_put_signal($ctx, &dest, &source, $nelems * $size, &sig_addr, $pe, 1, AT);", ""),
    ("signal::signal_set", "race_update($ctx, &sig_addr, 8, $pe, AT);", ""),
    ("signal::signal_add", "race_update($ctx, &sig_addr, 8, $pe, AT);", ""),
    ("signal::signal_fetch", "", "race_wait(&sig_addr, 8);"),
    ("signal::signal_wait_until", "", "race_wait(&sig_addr, 8);"),
    ("amo::set", UPDATE, ""),
    ("amo::add", UPDATE, ""),
    ("amo::inc", UPDATE, ""),
    ("amo::and", UPDATE, ""),
    ("amo::or", UPDATE, ""),
    ("amo::xor", UPDATE, ""),
    ("amo::fetch", "race_fetch($ctx, &source, $size, $pe, 0, AT);", "race_fetched($ctx, &source, $size, $pe);"),
    ("amo::swap", FETCH, FETCHED),
    ("amo::compare_swap", FETCH, FETCHED),
    ("amo::fetch_add", FETCH, FETCHED),
    ("amo::fetch_inc", FETCH, FETCHED),
    ("amo::fetch_and", FETCH, FETCHED),
    ("amo::fetch_or", FETCH, FETCHED),
    ("amo::fetch_xor", FETCH, FETCHED),
    (
        "amo::fetch_nbi",
        "race_fetch($ctx, &source, $size, $pe, 0, AT); race_fill($ctx, &fetch, $size, AT);",
        "race_fetched($ctx, &source, $size, $pe);",
    ),
    ("amo::swap_nbi", FETCH_NBI, FETCHED),
    ("amo::compare_swap_nbi", FETCH_NBI, FETCHED),
    ("amo::fetch_add_nbi", FETCH_NBI, FETCHED),
    ("amo::fetch_inc_nbi", FETCH_NBI, FETCHED),
    ("amo::fetch_and_nbi", FETCH_NBI, FETCHED),
    ("amo::fetch_or_nbi", FETCH_NBI, FETCHED),
    ("amo::fetch_xor_nbi", FETCH_NBI, FETCHED),
    ("p2p::wait", "", "race_wait(&ivar, $size);"),
    ("p2p::wait_until", "", "race_wait(&ivar, $size);"),
    ("p2p::wait_until_all", "", WAIT_ALL),
    ("p2p::wait_until_all_vector", "", WAIT_ALL),
    ("p2p::wait_until_any", "", WAIT_ANY),
    ("p2p::wait_until_any_vector", "", WAIT_ANY),
    ("p2p::wait_until_some", "", WAIT_SOME),
    ("p2p::wait_until_some_vector", "", WAIT_SOME),
    ("p2p::test", "", "if ($result) race_wait(&ivar, $size);"),
    ("p2p::test_all", "", TEST_ALL),
    ("p2p::test_all_vector", "", TEST_ALL),
    ("p2p::test_any", "", WAIT_ANY),
    ("p2p::test_any_vector", "", WAIT_ANY),
    ("p2p::test_some", "", WAIT_SOME),
    ("p2p::test_some_vector", "", WAIT_SOME),
    ("order::fence", "race_fence($ctx);", ""),
    ("order::quiet", "", "race_quiet($ctx);"),
    ("order::pe_quiet", "", "race_pe_quiet($ctx, target_pes, npes);"),
    ("extension::pe_quiet", "", "race_pe_quiet(SHMEM_CTX_DEFAULT, (int[]){$target_pe}, 1);"),
    ("extension::quiet_test", "", "if ($result) race_quiet($ctx);"),
    ("extension::thread_quiet", "", "race_quiet(SHMEM_CTX_DEFAULT);"),
    ("extension::thread_fence", "race_fence(SHMEM_CTX_DEFAULT);", ""),
    ("context::destroy", "", "race_quiet(ctx);"),
    ("lock::set_lock", "", "race_locked(&lock);"),
    ("lock::clear_lock", "race_unlocking(&lock);", ""),
    ("lock::test_lock", "", "if ($result == 0) race_locked(&lock);"),
    ("fortran::set_lock", "", "race_locked(&lock);"),
    ("fortran::clear_lock", "race_unlocking(&lock);", ""),
    ("fortran::test_lock", "", "if ($result == 0) race_locked(&lock);"),
    ("order::barrier_all", "uint64_t meeting = race_enter_world(1);", LEAVE),
    ("order::sync_all", "uint64_t meeting = race_enter_world(0);", LEAVE),
    ("team::sync", "uint64_t meeting = race_enter_team(team, 0, -1);", LEAVE),
    ("team_extension::barrier", "uint64_t meeting = race_enter_team(team, 1, -1);", LEAVE),
    ("active_set::barrier", "uint64_t meeting = race_enter_set($PE_start, $logPE_stride, $PE_size, 1, -1);", LEAVE),
    ("active_set::sync", "uint64_t meeting = race_enter_set($PE_start, $logPE_stride, $PE_size, 0, -1);", LEAVE),
    (
        "collective::broadcast",
        "uint64_t meeting = race_enter_team(team, 0, PE_root); \
         race_use(&dest, $nelems * $size, &source, pshmem_team_my_pe(team) == PE_root ? $nelems * $size : 0, AT);",
        LEAVE,
    ),
    ("collective::collect", TEAM_PLAIN, LEAVE),
    (
        "collective::fcollect",
        "uint64_t meeting = race_enter_team(team, 0, -1); \
         race_use(&dest, $nelems * $size * race_size(team), &source, $nelems * $size, AT);",
        LEAVE,
    ),
    (
        "collective::alltoall",
        "uint64_t meeting = race_enter_team(team, 0, -1); \
         race_use(&dest, $nelems * $size * race_size(team), &source, $nelems * $size * race_size(team), AT);",
        LEAVE,
    ),
    (
        "collective::alltoalls",
        "uint64_t meeting = race_enter_team(team, 0, -1); \
         race_use_strided(&dest, $dst * (long)$size, &source, $sst * (long)$size, $size, $nelems * race_size(team), AT);",
        LEAVE,
    ),
    ("collective::sum_inscan", TEAM_PLAIN, LEAVE),
    ("collective::sum_exscan", TEAM_PLAIN, LEAVE),
    (
        "active_set::broadcast",
        "uint64_t meeting = race_enter_set($PE_start, $logPE_stride, $PE_size, 0, $PE_root); \
         int root = race_is_root($PE_start, $logPE_stride, $PE_root); \
         race_use(&dest, root ? 0 : $nelems * $size, &source, root ? $nelems * $size : 0, AT);",
        LEAVE,
    ),
    ("active_set::collect", SET_PLAIN, LEAVE),
    (
        "active_set::fcollect",
        "uint64_t meeting = race_enter_set($PE_start, $logPE_stride, $PE_size, 0, -1); \
         race_use(&dest, $nelems * $size * (size_t)$PE_size, &source, $nelems * $size, AT);",
        LEAVE,
    ),
    (
        "active_set::alltoall",
        "uint64_t meeting = race_enter_set($PE_start, $logPE_stride, $PE_size, 0, -1); \
         race_use(&dest, $nelems * $size * (size_t)$PE_size, &source, $nelems * $size * (size_t)$PE_size, AT);",
        LEAVE,
    ),
    (
        "active_set::alltoalls",
        "uint64_t meeting = race_enter_set($PE_start, $logPE_stride, $PE_size, 0, -1); \
         race_use_strided(&dest, $dst * (long)$size, &source, $sst * (long)$size, $size, $nelems * (size_t)$PE_size, AT);",
        LEAVE,
    ),
];

const ENTER_IF_SIZE: &str = "uint64_t meeting = $bytes ? race_enter_world(1) : 0;";
const LEAVE: &str = "race_leave(meeting);";
const UPDATE: &str = "race_update($ctx, &dest, $size, $pe, AT);";
const FETCH: &str = "race_fetch($ctx, &dest, $size, $pe, 1, AT);";
const FETCH_NBI: &str = "race_fetch($ctx, &dest, $size, $pe, 1, AT); race_fill($ctx, &fetch, $size, AT);";
const FETCHED: &str = "race_fetched($ctx, &dest, $size, $pe);";
const WAIT_ALL: &str = "race_wait_all(ivars, $nelems, status, $size);";
const TEST_ALL: &str = "if ($result) race_wait_all(ivars, $nelems, status, $size);";
const WAIT_ANY: &str = "race_wait_some(ivars, &$result, $result != SIZE_MAX, $size);";
const WAIT_SOME: &str = "race_wait_some(ivars, indices, $result, $size);";
const TEAM_PLAIN: &str = "uint64_t meeting = race_enter_team(team, 0, -1); \
                          race_use(&dest, $nelems * $size, &source, $nelems * $size, AT);";
const SET_PLAIN: &str = "uint64_t meeting = race_enter_set($PE_start, $logPE_stride, $PE_size, 0, -1); \
                         race_use(&dest, $nelems * $size, &source, $nelems * $size, AT);";

/// The hooks of a routine; reductions are alike.
fn hooks(function: &str) -> Option<(&'static str, &'static str)> {
    if let Some((_, before, after)) = HOOKS.iter().find(|(name, ..)| *name == function) {
        return Some((before, after));
    }
    match function {
        _ if function.starts_with("collective::") && function.ends_with("_reduce") => Some((TEAM_PLAIN, LEAVE)),
        _ if function.starts_with("team_extension::") && function.ends_with("_to_all") => Some((TEAM_PLAIN, LEAVE)),
        _ if function.ends_with("_to_all") => Some((SET_PLAIN, LEAVE)),
        _ => None,
    }
}

/// The routines in C, which the detector's build compiles. They are long, and nobody reads them: they are not checked in.
pub fn calls() -> String {
    let symbols = exported();
    let c = symbols.iter().map(of_symbol);
    let entries = fortran::entries();
    let all: Vec<Routine> =
        c.chain(entries.iter().map(of_entry)).filter(|routine| hooks(&routine.function).is_some()).collect();
    let mut text = String::from("#include \"race.h\"\n\n");
    // The first two numbers are those of the program's own loads and stores.
    for (number, routine) in all.iter().enumerate() {
        text += &routine.to_c(number + 2);
    }
    text += "\nconst char *const race_calls[] = {\n    \"a load\", \"a store\",\n";
    all.iter().for_each(|routine| text += &format!("    \"{}\",\n", routine.name));
    text += &format!("}};\nconst size_t race_call_count = {};\n", all.len() + 2);
    text
}

fn of_symbol(symbol: &Symbol) -> Routine {
    let size = match symbol.form {
        CallForm::Typed(element) => format!("sizeof({})", element.c),
        CallForm::Sized(bits) => format!("(size_t){}", bits / 8),
        CallForm::Mem => "(size_t)1".into(),
        CallForm::Alone => "sizeof(long)".into(),
    };
    Routine {
        prototype: symbol.prototype.clone(),
        function: symbol.family.function().into(),
        size,
        ctx: if symbol.ctx { "ctx" } else { "SHMEM_CTX_DEFAULT" },
        name: symbol.name.clone(),
        target: symbol.twin().unwrap_or_else(|| "NEXT".into()),
        aliases: Vec::new(),
        fortran: false,
    }
}

fn of_entry(entry: &FortranEntry) -> Routine {
    let bytes = entry.kind.map_or(4, |kind| kind.bytes);
    Routine {
        prototype: entry.prototype.clone(),
        function: entry.call.into(),
        size: format!("(size_t){bytes}"),
        ctx: "SHMEM_CTX_DEFAULT",
        name: entry.name(),
        target: "NEXT".into(),
        aliases: entry.aliases(),
        fortran: true,
    }
}

impl Routine {
    fn to_c(&self, number: usize) -> String {
        let (before, after) = hooks(&self.function).expect("the caller asked");
        let Prototype { result, name, .. } = &self.prototype;
        let target = if self.target == "NEXT" { format!("NEXT({name})") } else { self.target.clone() };
        let call = format!("{target}({})", self.prototype.arguments());
        let returns = result != "void";
        let call = if returns { format!("{result} result = {call};") } else { format!("{call};") };
        // In parentheses, because some names are macros too.
        let declaration = self.prototype.to_c().replacen(&format!("{name}("), &format!("({name})("), 1);
        let mut text = String::new();
        if self.target == "NEXT" {
            text += &format!("{declaration}\n");
        }
        text += declaration.trim_end_matches(';');
        text += "\n{\n";
        for statements in [&self.fill(before, number), &call, &self.fill(after, number)] {
            if !statements.is_empty() {
                text += &format!("    {statements}\n");
            }
        }
        if returns {
            text += "    return result;\n";
        }
        text += "}\n";
        for alias in &self.aliases {
            let alias = Prototype { name: alias.clone(), ..self.prototype.clone() };
            let alias = alias.to_c();
            text += &format!("{} __attribute__((alias(\"{name}\")));\n", alias.trim_end_matches(';'));
        }
        text
    }

    /// Puts arguments into the statements.
    fn fill(&self, statements: &str, number: usize) -> String {
        let mut text = statements.replace("AT)", &format!("AT({number}))"));
        text = text.replace("$result", "result").replace("$size", &self.size).replace("$ctx", self.ctx);
        // Names that the table spells in two ways.
        let present = |name: &str| self.prototype.parameters.iter().any(|parameter| parameter.name == name);
        for (one, other) in [("nelems", "nreduce"), ("bytes", "size"), ("nelems", "len")] {
            if !present(one) && present(other) {
                text = text.replace(&format!("${one}"), &format!("${other}"));
            }
        }
        for Parameter { name, ctype } in &self.prototype.parameters {
            let value = match (self.fortran, name.as_str()) {
                (true, _) => format!("(*{name})"),
                _ if matches!(name.as_str(), "dst" | "sst") => format!("(long){name}"),
                _ if ctype == "int" && matches!(name.as_str(), "nreduce") => format!("(size_t){name}"),
                _ => name.clone(),
            };
            let value = match name.as_str() {
                "nelems" | "nreduce" if self.fortran => format!("(size_t){value}"),
                _ => value,
            };
            text = text.replace(&format!("${name}"), &value).replace(&format!("&{name},"), &format!("{name},"));
            text = text
                .replace(&format!("&{name})"), &format!("{name})"))
                .replace(&format!("&{name} "), &format!("{name} "));
            text = text.replace(&format!("&{name};"), &format!("{name};"));
        }
        text
    }
}
