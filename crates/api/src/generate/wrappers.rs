//! The wrappers of the profile's library, in C: one function of every routine's name that calls the library's own and records
//! the call. C, because only C knows to which address a call returns and passes `long double` by value.

use crate::expand::{CallForm, Symbol, symbols};
use crate::fortran::{FortranEntry, entries};
use crate::prototype::Prototype;
use crate::table::Category;

/// The wrappers.
#[derive(Debug)]
pub struct Wrappers {
    /// C, to be compiled behind the declarations of `crates/interpose/src/wrappers.h`.
    pub source: String,
    /// The names that the library shows.
    pub names: Vec<String>,
}

/// Makes all wrappers.
pub fn profile_wrappers() -> Wrappers {
    let mut wrappers = Wrappers { source: String::new(), names: Vec::new() };
    let mut routines = String::new();
    let mut count = 0;
    let mut add = |shown: &str, prototype: &Prototype, aliases: &[String], recorded: &Recorded| {
        let name = &prototype.name;
        routines += &format!("    {{\"{name}\", \"{shown}\", {}, 0}},\n", recorded.category);
        wrappers.source += &function(prototype, count, recorded);
        wrappers.names.push(name.clone());
        for alias in aliases {
            let same = prototype.to_c().replacen(name, alias, 1);
            wrappers.source += &same.replace(';', &format!(" __attribute__((alias(\"{name}\")));\n"));
            wrappers.names.push(alias.clone());
        }
        count += 1;
    };
    for symbol in symbols() {
        add(&symbol.name, &symbol.prototype, &[], &Recorded::of_symbol(&symbol));
    }
    for entry in entries() {
        add(&entry.name(), &entry.prototype, &entry.aliases(), &Recorded::of_fortran(&entry));
    }
    wrappers.source = format!(
        "struct oxprof_routine oxprof_routines[] = {{\n{routines}}};\n\
         const size_t oxprof_count = {count};\n\
         void *oxprof_real[{count}];\n\n{}",
        wrappers.source
    );
    wrappers
}

/// The numbers of `oxshmem_profile::layout::RoutineKind`.
const OTHER: u32 = 0;
const TRANSFER: u32 = 1;
const ATOMIC: u32 = 2;
const ORDERING: u32 = 3;
const WAITING: u32 = 4;
const COLLECTIVE: u32 = 5;

/// The record of a routine.
struct Recorded {
    category: u32,
    what: RecordedPart,
    /// The handles of teams that the call makes, as expressions of C.
    born: Vec<String>,
}

/// The part of the arguments that is recorded, as expressions of C.
enum RecordedPart {
    /// That it was called.
    Call,
    /// That it was called with this many bytes. Collectives that return at once are no meetings.
    Bytes { bytes: String },
    /// The PE, the bytes, where they go, and the word that the PE may wait for.
    Transfer { context: String, pe: String, way: u32, bytes: String, word: String },
    /// The team, and the bytes.
    Team { team: String, bytes: String },
    /// The active set, and the bytes.
    Set { start: String, stride: String, size: String, bytes: String },
    /// A meeting of the world, with the bytes, if there is one for these arguments, and the address of the block that it has made.
    World { bytes: String, address: Option<&'static str>, meets: Option<&'static str> },
    /// The address that is waited for; null if it is not known which one of several has ended the wait.
    Wait { address: String },
    /// A handle that is no longer valid behind the call.
    Forget { handle: String },
    /// The start of the library.
    Begin,
    /// Its end.
    End,
    /// A call that does not return.
    Exit,
    /// The program switches recording on and off.
    Control,
}

/// How the arguments of one routine are written.
struct Arguments<'a> {
    prototype: &'a Prototype,
    /// Fortran passes addresses.
    by_address: bool,
    /// The size of an element.
    element: String,
}

impl Arguments<'_> {
    fn has(&self, name: &str) -> bool {
        self.prototype.parameters.iter().any(|parameter| parameter.name == name)
    }

    /// The first of these names that the routine has, as a value.
    fn value(&self, names: &[&str]) -> String {
        let found = names.iter().find(|name| self.has(name));
        match found {
            None => "0".into(),
            Some(name) if self.by_address => format!("*{name}"),
            Some(name) => (*name).to_string(),
        }
    }

    /// The first of these names, as an address.
    fn address(&self, names: &[&str]) -> String {
        names.iter().find(|name| self.has(name)).map_or("NULL".into(), |name| format!("(const void *){name}"))
    }

    /// The bytes of all elements.
    fn bytes(&self) -> String {
        let count = ["nelems", "nreduce", "len"].into_iter().find(|name| self.has(name));
        match count {
            _ if self.has("s_sizes") && self.has("team") => {
                format!("oxprof_sum(s_sizes, oxprof_members({}))", self.team(&["team"]))
            }
            _ if self.has("s_sizes") => format!("oxprof_sum(s_sizes, {})", self.value(&["PE_size"])),
            _ if self.has("nblocks") => {
                format!(
                    "(uint64_t){} * (uint64_t){} * {}",
                    self.value(&["nblocks"]),
                    self.value(&["bsize"]),
                    self.element
                )
            }
            Some(name) => format!("(uint64_t){} * {}", self.value(&[name]), self.element),
            None => "0".into(),
        }
    }

    /// A handle of a team; Fortran's are integers.
    fn team(&self, names: &[&str]) -> String {
        let value = self.value(names);
        if self.by_address { format!("oxprof_fortran_team({value})") } else { value }
    }

    /// The handles of the teams that a routine of this name makes.
    fn born(&self, name: &str) -> Vec<String> {
        let makes = name.starts_with("split") || name == "create_strided";
        let results = ["new_team", "newteam", "xaxis_team", "yaxis_team", "zaxis_team"];
        let handle = |result| if self.by_address { self.team(&[result]) } else { format!("*{result}") };
        results.into_iter().filter(|result| makes && self.has(result)).map(handle).collect()
    }

    fn context(&self) -> String {
        if self.has("ctx") && !self.by_address { "ctx".into() } else { "NULL".into() }
    }
}

impl Recorded {
    fn of_symbol(symbol: &Symbol) -> Recorded {
        let element = match symbol.form {
            CallForm::Typed(element) => format!("sizeof({})", element.c),
            CallForm::Sized(bits) => (bits / 8).to_string(),
            CallForm::Mem => "1".into(),
            CallForm::Alone => alone(symbol.family.function()).into(),
        };
        let arguments = Arguments { prototype: &symbol.prototype, by_address: false, element };
        recorded(symbol.family.function(), &arguments, symbol.family.category == Category::Extension)
    }

    fn of_fortran(entry: &FortranEntry) -> Recorded {
        let element = entry.kind.map_or("4".into(), |kind| kind.bytes.to_string());
        recorded(entry.call, &Arguments { prototype: &entry.prototype, by_address: true, element }, false)
    }
}

/// The size of what a routine without forms moves.
fn alone(function: &str) -> &'static str {
    match function {
        "counting::putmem" | "counting::getmem" => "1",
        _ => "8",
    }
}

/// The record of the runtime's function. `extension` tells the older meanings of names.
fn recorded(function: &str, of: &Arguments<'_>, extension: bool) -> Recorded {
    let (module, name) = function.split_once("::").unwrap_or(("", function));
    let bytes = of.bytes();
    let born = of.born(name);
    let is = |category, what| Recorded { category, what, born: born.clone() };
    let transfer = |category, way, bytes, word| {
        is(category, RecordedPart::Transfer { context: of.context(), pe: of.value(&["pe"]), way, bytes, word })
    };
    let world = |bytes| is(COLLECTIVE, RecordedPart::World { bytes, address: None, meets: None });
    let team = |name, bytes| is(COLLECTIVE, RecordedPart::Team { team: of.team(&[name]), bytes });
    let wait = |name| is(WAITING, RecordedPart::Wait { address: of.address(&[name]) });
    let forget = |handle| is(OTHER, RecordedPart::Forget { handle });
    let one = || of.element.clone();
    let put = || {
        // A put of a word may be what its target waits for. One of nothing is not: zero less one is the largest number.
        format!("({bytes}) - 1 < 8 ? {} : NULL", of.address(&["dest"]))
    };
    match (module, name) {
        ("init", "init" | "init_thread" | "start_pes") => is(COLLECTIVE, RecordedPart::Begin),
        ("init", "finalize") => is(COLLECTIVE, RecordedPart::End),
        ("init", "global_exit") => is(OTHER, RecordedPart::Exit),
        ("init", "pcontrol") => is(OTHER, RecordedPart::Control),
        ("rma", "p") => transfer(TRANSFER, 0, one(), of.address(&["dest"])),
        ("rma", "g") => transfer(TRANSFER, 1, one(), "NULL".into()),
        ("rma", name) if name.contains("put") => transfer(TRANSFER, 0, bytes.clone(), put()),
        ("rma", _) => transfer(TRANSFER, 1, bytes, "NULL".into()),
        // A get counts at the PE that it reads from.
        ("counting", "putmem") => transfer(TRANSFER, 0, bytes, of.address(&["ct"])),
        ("counting", "getmem") => transfer(TRANSFER, 1, bytes, of.address(&["ct"])),
        ("counting", "create") => {
            is(COLLECTIVE, RecordedPart::World { bytes: "8".into(), address: Some("*ct"), meets: None })
        }
        ("counting", "free") => world(bytes),
        ("signal", "put_signal" | "put_signal_nbi") => transfer(TRANSFER, 0, bytes, of.address(&["sig_addr"])),
        ("signal", "signal_set" | "signal_add") => transfer(ATOMIC, 2, "8".into(), of.address(&["sig_addr"])),
        ("amo", "fetch" | "fetch_nbi") => transfer(ATOMIC, 2, one(), "NULL".into()),
        ("amo", _) => transfer(ATOMIC, 2, one(), of.address(&["dest"])),
        ("signal", "signal_wait_until") => wait("sig_addr"),
        ("p2p", name) if name.starts_with("wait") => is(WAITING, RecordedPart::Wait { address: awaited(name, of) }),
        ("lock" | "fortran", "set_lock") => wait("lock"),
        ("lock" | "fortran", "clear_lock" | "test_lock") => is(WAITING, RecordedPart::Call),
        ("counting", "wait") => wait("ct"),
        ("request", "wait" | "test") => is(WAITING, RecordedPart::Call),
        ("request", _) => is(COLLECTIVE, RecordedPart::Bytes { bytes }),
        ("order", "barrier_all" | "sync_all") => world(bytes),
        ("order", _) => is(ORDERING, RecordedPart::Call),
        (
            "extension",
            "pe_quiet" | "local_complete" | "quiet_test" | "fence_test" | "thread_quiet" | "thread_fence",
        ) => is(ORDERING, RecordedPart::Call),
        ("memory", _) => {
            let address = of.prototype.result.ends_with('*').then_some("result");
            let bytes = if of.has("count") {
                format!("(uint64_t){} * (uint64_t){}", of.value(&["count"]), of.value(&["size"]))
            } else {
                of.value(&["size"])
            };
            // A call that fails has no bytes.
            let bytes = if address.is_some() { format!("result ? {bytes} : 0") } else { bytes };
            // Without bytes or a block such a call does nothing, and one PE alone may make it.
            let meets = match name {
                "free" => "ptr",
                "realloc" => "ptr || size",
                "calloc" => "count && size",
                _ => "size",
            };
            is(COLLECTIVE, RecordedPart::World { bytes, address, meets: Some(meets) })
        }
        ("fortran", "shpalloc" | "shpclmove") => {
            // Lengths count words of 32 bits. A call that fails leaves the address what it was.
            let allocated =
                if name == "shpalloc" { "*errcode == 0 ? *addr : NULL" } else { "*status >= 0 ? *addr : NULL" };
            let bytes = format!("({allocated}) ? (uint64_t)*length * 4 : 0");
            let meets = Some("*length > 0");
            is(COLLECTIVE, RecordedPart::World { bytes, address: Some(allocated), meets })
        }
        ("fortran", "shpdeallc") => world("0".into()),
        ("active_set", _) | ("fortran", "complex_xor_to_all") => {
            let [start, stride, size] = ["PE_start", "logPE_stride", "PE_size"].map(|name| of.value(&[name]));
            is(COLLECTIVE, RecordedPart::Set { start, stride, size, bytes })
        }
        ("collective", _) | ("team", "sync") | ("team_extension", "barrier") => team("team", bytes),
        ("team_extension", name) if name.ends_with("to_all") => team("team", bytes),
        // The members of the new team alone need call: no meeting of the parent.
        ("team_extension", "split_strided" | "create_strided") => is(COLLECTIVE, RecordedPart::Call),
        ("team" | "team_extension", name) if name.starts_with("split") => team("parent_team", "0".into()),
        ("fortran", "team_destroy") => forget(of.team(&["newteam"])),
        ("team_extension", "destroy") if extension => forget("*team".into()),
        ("team", "destroy") => forget("team".into()),
        ("context", "destroy") => forget("ctx".into()),
        _ => is(OTHER, RecordedPart::Call),
    }
}

/// The address of the variable that has ended a wait. Calls that wait for one or some of several variables tell it; those that
/// wait for all do not.
fn awaited(name: &str, of: &Arguments<'_>) -> String {
    match name.trim_end_matches("_vector") {
        "wait_until_all" => "nelems == 1 ? (const void *)ivars : NULL".into(),
        "wait_until_any" => "result == SIZE_MAX ? NULL : (const void *)(ivars + result)".into(),
        "wait_until_some" => "result == 0 ? NULL : (const void *)(ivars + indices[0])".into(),
        _ => of.address(&["ivar"]),
    }
}

/// One wrapper.
fn function(prototype: &Prototype, number: usize, Recorded { category, what, born }: &Recorded) -> String {
    let head = prototype.to_c().replace(';', "");
    let types: Vec<&str> = prototype.parameters.iter().map(|parameter| parameter.ctype.as_str()).collect();
    let types = if types.is_empty() { "void".into() } else { types.join(", ") };
    let result = &prototype.result;
    let real = format!("(({result} (*)({types}))oxprof_real[{number}])({})", prototype.arguments());
    let (keep, back) = match result.as_str() {
        "void" => (String::new(), ""),
        result => (format!("{result} const result = "), "    return result;\n"),
    };
    let (before, after) = around(*category, what);
    let open = match what {
        RecordedPart::Begin => format!(
            "    const struct oxprof_begun call = oxprof_open(oxprof_mine, &oxprof_routines[{number}], __builtin_return_address(0));\n"
        ),
        _ => format!("    OXPROF_BEGIN({number});\n"),
    };
    let born: String = born.iter().map(|team| format!("    oxprof_born(mine, {team});\n")).collect();
    format!("{head} {{\n{open}{before}    {keep}{real};\n{after}{born}{back}}}\n\n")
}

/// The statements before the call of the library and behind it.
fn around(category: u32, what: &RecordedPart) -> (String, String) {
    let behind = |text: String| (String::new(), format!("    {text};\n"));
    match what {
        RecordedPart::Call => behind(format!("oxprof_call(mine, call, {category}, 0)")),
        RecordedPart::Bytes { bytes } => behind(format!("oxprof_call(mine, call, {category}, {bytes})")),
        RecordedPart::Transfer { context, pe, way, bytes, word } => {
            behind(format!("oxprof_transfer(mine, call, {context}, {pe}, {way}, {bytes}, {word})"))
        }
        RecordedPart::Team { team, bytes } => behind(format!("oxprof_team(mine, call, {team}, {bytes})")),
        RecordedPart::Set { start, stride, size, bytes } => {
            behind(format!("oxprof_set(mine, call, {start}, {stride}, {size}, {bytes})"))
        }
        RecordedPart::World { bytes, address, meets } => {
            let address = address.unwrap_or("NULL");
            let meeting = format!("oxprof_world(mine, call, {bytes}, {address})");
            behind(match meets {
                None => meeting,
                Some(meets) => format!("if ({meets}) {meeting}; else oxprof_call(mine, call, {category}, 0)"),
            })
        }
        RecordedPart::Wait { address } => behind(format!("oxprof_wait(mine, call, {address})")),
        RecordedPart::Forget { handle } => {
            (format!("    oxprof_forget({handle});\n"), format!("    oxprof_call(mine, call, {category}, 0);\n"))
        }
        RecordedPart::Begin => behind("oxprof_mine = oxprof_begin_life(oxprof_mine, call)".into()),
        RecordedPart::End => behind("oxprof_end_life(mine, call)".into()),
        RecordedPart::Exit => ("    oxprof_exit(mine, call);\n".into(), String::new()),
        RecordedPart::Control => {
            ("    oxprof_control(level);\n".into(), format!("    oxprof_call(mine, call, {category}, 0);\n"))
        }
    }
}

#[cfg(test)]
mod tests;
