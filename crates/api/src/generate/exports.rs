//! The exported functions, in Rust: one line into the runtime each.

use super::{EXPORTS, File, NOTE};
use crate::constants::value;
use crate::expand::{CallForm, Symbol, symbols};
use crate::prototype::Parameter;
use crate::table::Category;
use crate::types::rust_type;

const PRELUDE: &str = r#"#![allow(unused_unsafe, reason = "a few of the runtime's functions ask for no promises")]

use core::arch::global_asm;
use core::ffi::{c_char, c_void};

IMPORTS
/// The effect of a put's signal when the call does not name one.
const SIGNAL_SET: i32 = VALUE;

/// A routine under its profiling name, and its usual name as a weak alias that a tool may define itself.
macro_rules! routine {
    ($twin:ident = $name:literal ($($argument:ident: $type:ty),*) $(-> $result:ty)? { $call:expr }) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $twin($($argument: $type),*) $(-> $result)? {
            // SAFETY: OpenSHMEM asks the C caller for exactly the promises that the runtime's function needs.
            unsafe { $call }
        }
        global_asm!(concat!(".weak ", $name, "\n.type ", $name, ", @function\n.set ", $name, ", ", stringify!($twin)));
    };
}

/// A routine without a profiling name.
macro_rules! extension {
    ($name:ident ($($argument:ident: $type:ty),*) $(-> $result:ty)? { $call:expr }) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) $(-> $result)? {
            // SAFETY: the C caller makes the promises that the runtime's function needs: the standard demands them of every caller.
            unsafe { $call }
        }
    };
}
"#;

/// The runtime's types that signatures and calls may mention.
const TYPES: [&str; 6] = ["Complex", "ContextHandle", "InWorld", "LongDouble", "On", "TeamHandle"];

/// `exports/mod.rs` and one file per category.
pub(super) fn files() -> Vec<File> {
    let symbols = symbols();
    let mut files = Vec::new();
    let mut modules = Vec::new();
    for category in Category::all() {
        let lines: String =
            symbols.iter().filter(|symbol| symbol.family.category == category && !symbol.in_c()).map(routine).collect();
        if lines.is_empty() {
            continue;
        }
        let name = category.name();
        modules.push(format!("mod {name};\n"));
        let text = format!("//! {NOTE}\n//!\n//! {}\n\nuse super::*;\n\n{lines}", category.summary());
        files.push(File { path: format!("{EXPORTS}/{name}.rs"), text });
    }
    modules.push("mod fortran;\n".into());
    modules.sort();
    let mentioned = |word: &&str| {
        let is_word = |text: &str| text.split(|c: char| !c.is_alphanumeric()).any(|part| part == *word);
        files.iter().any(|file| is_word(&file.text))
    };
    let imports: String = TYPES
        .into_iter()
        .filter(mentioned)
        .chain(["calls"])
        .map(|name| format!("use oxshmem_runtime::{name};\n"))
        .collect();
    let prelude = PRELUDE.replace("IMPORTS", &imports).replace("VALUE", value("SIGNAL_SET"));
    let text = format!("//! {NOTE}\n//!\n//! The exported functions by category.\n{prelude}\n{}", modules.concat());
    files.push(File { path: format!("{EXPORTS}/mod.rs"), text });
    files
}

fn routine(symbol: &Symbol) -> String {
    let Symbol { name, prototype, .. } = symbol;
    let parameters: Vec<String> = prototype
        .parameters
        .iter()
        .map(|Parameter { ctype, name }| {
            let unused = if forwarded(symbol, name) { "" } else { "_" };
            format!("{unused}{}: {}", snake(name), rust_type(ctype))
        })
        .collect();
    let result = match prototype.result.as_str() {
        "void" if symbol.family.function() == "init::global_exit" => " -> !".to_string(),
        "void" => String::new(),
        result => format!(" -> {}", rust_type(result)),
    };
    let head = match symbol.twin() {
        Some(twin) => format!("routine!({twin} = \"{name}\""),
        None => format!("extension!({name}"),
    };
    format!("{head} ({}){result} {{ {} }});\n", parameters.join(", "), call(symbol))
}

/// Whether the runtime gets to see the parameter.
fn forwarded(symbol: &Symbol, parameter: &str) -> bool {
    let list = symbol.family.call.split_once('(').map(|(_, list)| list.trim_end_matches(')'));
    list.is_none_or(|list| list.split(", ").any(|argument| argument == parameter)) || parameter == "ctx"
}

/// The call into the runtime.
fn call(symbol: &Symbol) -> String {
    let Symbol { name, family, ctx, prototype, .. } = symbol;
    let mut arguments = Vec::new();
    if family.via {
        arguments.push(if *ctx { format!("On(ctx, \"{name}\")") } else { format!("InWorld(\"{name}\")") });
    }
    if takes_name(family.function()) {
        arguments.push(format!("\"{name}\""));
    }
    let own = &prototype.parameters[usize::from(*ctx)..];
    match family.call.split_once('(') {
        Some((_, list)) => {
            for argument in list.trim_end_matches(')').split(", ") {
                let parameter = own.iter().find(|parameter| parameter.name == argument);
                arguments.push(parameter.map_or(argument.to_string(), |parameter| pass(symbol, parameter)));
            }
        }
        None => arguments.extend(own.iter().map(|parameter| pass(symbol, parameter))),
    }
    format!("calls::{}({})", family.function(), arguments.join(", "))
}

/// Whether the runtime's function is told the name of the routine, which several have in common, for its messages.
pub(super) fn takes_name(function: &str) -> bool {
    let beginnings = [
        "collective::",
        "active_set::",
        "team_extension::",
        "team::get_config",
        "context::team_create_ctx",
        "context::get_team",
        "memory::malloc",
        "memory::align",
        "memory::realloc",
        "memory::free",
        "request::test",
        "request::wait",
        "fortran::complex_xor_to_all",
        "fortran::team_destroy",
        "fortran::wait",
    ];
    beginnings.iter().any(|beginning| function.starts_with(beginning))
}

/// One argument; untyped buffers get the element type of their size.
fn pass(symbol: &Symbol, Parameter { ctype, name }: &Parameter) -> String {
    let name = snake(name);
    let bits = match symbol.form {
        CallForm::Sized(bits) => bits,
        CallForm::Mem => 8,
        CallForm::Alone | CallForm::Typed(_) => return name,
    };
    if ctype.ends_with("void *") { format!("{name}.cast::<u{bits}>()") } else { name }
}

/// The standard's `PE_start`, `logPE_stride` and `pSync` in Rust's spelling.
pub(super) fn snake(name: &str) -> String {
    match name {
        "logPE_stride" => "log_pe_stride".into(),
        "pSync" => "p_sync".into(),
        "pWrk" => "p_wrk".into(),
        _ => name.to_ascii_lowercase(),
    }
}
