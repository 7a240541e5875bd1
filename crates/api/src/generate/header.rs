//! The C headers.

use super::generics::{has_unused_handle, with_complex};
use super::{NOTE, generics, overloads};
use crate::constants::{EXTENSIONS, GROUPS, HINTS, UNDERSCORED, value};
use crate::expand::{Symbol, symbols};
use crate::table::{Category, Status};

/// shmem4py chooses its code by names that the headers of the libraries which it knows happen to define. Of its branches
/// only the one for Sandia OpenSHMEM uses OpenSHMEM 1.5 as the standard has it; the default replaces all later routines
/// by code over active sets.
const SANDIA: &str = "
/* Python's shmem4py takes a library whose header has these two names of Sandia OpenSHMEM for one with all of
 * OpenSHMEM 1.5. Without them it builds for OpenSHMEM 1.3. */
#ifndef SHMEM_DEF_H
#define SHMEM_DEF_H
#endif
#ifndef SHMEM_FUNCTION_ATTRIBUTES
#define SHMEM_FUNCTION_ATTRIBUTES
#endif
";

const HANDLES: &str = "
/* Handles. The predefined ones are addresses of objects, so they work in static initialisers. */
struct oxshmem_context { void *reserved[8]; };
struct oxshmem_team { void *reserved[2]; };
typedef struct oxshmem_context *shmem_ctx_t;
typedef struct oxshmem_team *shmem_team_t;
typedef struct { int num_contexts; } shmem_team_config_t;
typedef struct { size_t total_ops; } shmem_ctx_session_config_t;

#if !defined(__cplusplus)
#define OXSHMEM_NO(handle) ((handle) 0)
#elif __cplusplus >= 201103L
#define OXSHMEM_NO(handle) static_cast<handle>(nullptr)
#else
#define OXSHMEM_NO(handle) static_cast<handle>(0)
#endif
#ifdef __cplusplus
extern \"C\" {
#endif
extern struct oxshmem_context oxshmem_context_default;
extern struct oxshmem_team oxshmem_team_world;
extern struct oxshmem_team oxshmem_team_shared;

/* The handles as objects, for tools that make bindings and cannot read the macros below. */
extern const shmem_ctx_t SHMEM_CTX_DEFAULT;
extern const shmem_ctx_t SHMEM_CTX_INVALID;
extern const shmem_team_t SHMEM_TEAM_WORLD;
extern const shmem_team_t SHMEM_TEAM_SHARED;
extern const shmem_team_t SHMEM_TEAM_INVALID;
#ifdef __cplusplus
}
#endif
#define SHMEM_CTX_DEFAULT (&oxshmem_context_default)
#define SHMEM_CTX_INVALID OXSHMEM_NO(shmem_ctx_t)
#define SHMEM_TEAM_WORLD (&oxshmem_team_world)
#define SHMEM_TEAM_SHARED (&oxshmem_team_shared)
#define SHMEM_TEAM_INVALID OXSHMEM_NO(shmem_team_t)

/* Complex elements without <complex.h>, which would take the names I and complex from the program. */
#ifdef __GNUC__
__extension__ typedef float _Complex oxshmem_complexf_t;
__extension__ typedef double _Complex oxshmem_complexd_t;
#else
typedef float _Complex oxshmem_complexf_t;
typedef double _Complex oxshmem_complexd_t;
#endif

#if !defined(__cplusplus) && defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define OXSHMEM_NORETURN _Noreturn
#elif defined(__GNUC__)
#define OXSHMEM_NORETURN __attribute__((__noreturn__))
#else
#define OXSHMEM_NORETURN
#endif
";

/// `shmem.h`: the standard, and what other libraries add to its families.
pub(super) fn shmem() -> String {
    let symbols = symbols();
    let mut body = String::from("#include <stddef.h>\n#include <stdint.h>\n");
    body += &constants();
    body += HANDLES;
    let mut routines = String::new();
    for category in Category::all() {
        let standard = |symbol: &&Symbol| {
            symbol.family.category == category && !matches!(symbol.status, Status::Compat | Status::Extension)
        };
        routines += &section(category.summary(), symbols.iter().filter(standard), Symbol::clone);
    }
    let compat = symbols.iter().filter(|symbol| symbol.status == Status::Compat);
    routines += &section("Never standard on these types, but common in other libraries.", compat, Symbol::clone);
    body += &extern_c(&routines);
    body += &generics::macros("shmem_");
    body += &overloads::functions("shmem_");
    guarded("SHMEM_H", "OpenSHMEM 1.6", &body)
}

/// `pshmem.h`: the profiling names.
pub(super) fn pshmem() -> String {
    let symbols = symbols();
    let twins = symbols.iter().filter(|symbol| symbol.twin().is_some());
    let routines = section("Each routine under the name that a profiling tool calls.", twins, |symbol| {
        let mut twin = symbol.clone();
        twin.prototype.name = symbol.twin().expect("filtered above");
        twin
    });
    guarded("PSHMEM_H", "OpenSHMEM 1.6, profiling interface", &format!("#include \"shmem.h\"\n{}", extern_c(&routines)))
}

const TEAM_EXTENSIONS: &str = "
#ifdef __cplusplus
extern \"C\" {
#endif
extern struct oxshmem_team oxshmem_team_node;
extern const shmem_team_t SHMEM_TEAM_NULL;
extern const shmem_team_t SHMEM_TEAM_NODE;
#ifdef __cplusplus
}
#endif
#define SHMEM_TEAM_NULL SHMEM_TEAM_INVALID
#define SHMEM_TEAM_NODE (&oxshmem_team_node)
#define SHMEMX_TEAM_NODE SHMEM_TEAM_NODE
CONSTANTS";

const TYPES: &str = "
/* A counting event of Sandia OpenSHMEM. */
typedef struct oxshmem_counter *shmemx_ct_t;

/* A collective that has been issued. */
typedef struct oxshmem_request *shmem_req_h;
#define SHMEM_REQ_INVALID OXSHMEM_NO(shmem_req_h)

/* Performance counters of Sandia OpenSHMEM. */
typedef struct {
    uint64_t pending_put;
    uint64_t pending_get;
    uint64_t completed_put;
    uint64_t completed_get;
    uint64_t target;
} shmemx_pcntr_t;
";

/// `shmemx.h`: extensions of other vendors.
pub(super) fn shmemx() -> String {
    let symbols = symbols();
    let mut body = String::from("#include \"shmem.h\"\n");
    let constants: String = EXTENSIONS.iter().map(|(name, value)| format!("#define SHMEM_{name} {value}\n")).collect();
    body += &TEAM_EXTENSIONS.replace("CONSTANTS", &constants);
    body += "\n/* Hints of Sandia OpenSHMEM. */\n";
    body += &HINTS.iter().map(|(name, value)| format!("#define SHMEMX_{name} {value}\n")).collect::<String>();
    body += TYPES;
    let extensions = symbols.iter().filter(|symbol| symbol.status == Status::Extension);
    body += &extern_c(&section("Calls of Cray OpenSHMEMX, Sandia OpenSHMEM and OSSS-UCX.", extensions, Symbol::clone));
    body += &generics::macros("shmemx_");
    body += &overloads::functions("shmemx_");
    body += &with_unused_handle();
    guarded("SHMEMX_H", "extensions to OpenSHMEM 1.6", &body)
}

/// Programs of the first days of `put_nb` and `get_nb` pass a handle as fifth argument, which never had a use: a macro
/// drops it in C, an overload in C++.
fn with_unused_handle() -> String {
    let routines = || symbols().into_iter().filter(|symbol| has_unused_handle(symbol.family) && !symbol.ctx);
    let overloads: String = routines()
        .map(|Symbol { prototype, .. }| {
            let head = prototype.to_c().replace(");", ", void **)");
            format!("OXSHMEM_INLINE {head} {{ {}({}); }}\n", prototype.name, prototype.arguments())
        })
        .collect();
    let macros: String = routines()
        .map(|Symbol { name, .. }| format!("#define {name}(...) OXSHMEM_FOUR({name}, __VA_ARGS__, 0)\n"))
        .collect();
    format!(
        "\n/* A fifth argument, the handle of former days, is dropped. */\n\
         #ifdef __cplusplus\nextern \"C++\" {{\n{}{overloads}#undef OXSHMEM_INLINE\n}}\n#else\n\
         #define OXSHMEM_FOUR(routine, dest, source, nelems, pe, ...) routine(dest, source, nelems, pe)\n{macros}#endif\n",
        overloads::INLINED
    )
}

/// `mpp/<name>.h`: where old programs look.
pub(super) fn forward(name: &str) -> String {
    format!("/* {NOTE} */\n#include \"../{name}.h\"\n")
}

fn guarded(guard: &str, title: &str, body: &str) -> String {
    format!(
        "/* oxshmem: {title}.\n * {NOTE}\n */\n#ifndef OXSHMEM_{guard}\n#define OXSHMEM_{guard}\n\n{body}\n#endif\n"
    )
}

fn extern_c(routines: &str) -> String {
    format!("\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n{routines}\n#ifdef __cplusplus\n}}\n#endif\n")
}

fn section<'a>(title: &str, symbols: impl Iterator<Item = &'a Symbol>, declared: impl Fn(&Symbol) -> Symbol) -> String {
    let lines: String = symbols.map(|symbol| declaration(&declared(symbol))).collect();
    if lines.is_empty() { lines } else { format!("\n/* {title} */\n{lines}") }
}

fn declaration(symbol: &Symbol) -> String {
    let ends_the_job = symbol.family.function() == "init::global_exit";
    let attribute = if ends_the_job { "OXSHMEM_NORETURN " } else { "" };
    format!("{attribute}{}\n", with_complex(&symbol.prototype.to_c()))
}

fn constants() -> String {
    let mut text = String::new();
    for group in GROUPS {
        text += &format!("\n/* {} */\n", group.title);
        for (name, value) in group.constants {
            text += &format!("#define SHMEM_{name} {value}\n");
        }
    }
    let number = |name| value(name).parse::<u32>().expect("versions are numbers");
    let version = 10_000 * number("MAJOR_VERSION") + 100 * number("MINOR_VERSION");
    text += "\n/* The version of the standard as one number, which many programs test. */\n";
    text += &format!("#define OSHMEM_SPEC_VERSION {version}\n");
    text += SANDIA;
    text += "\n/* Older spellings. */\n";
    for name in UNDERSCORED {
        text += &format!("#define _SHMEM_{name} SHMEM_{name}\n");
    }
    text
}
