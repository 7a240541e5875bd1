//! The C11 type-generic macros, and the program that uses each of them on every type.

use std::collections::BTreeSet;

use crate::expand::{CallForm, Symbol, expand};
use crate::prototype::Parameter;
use crate::table::{Category, Family, Status, families};
use crate::types::{self, ElementType};

/// A macro: the family behind it, and one element of each distinct C type.
pub(super) struct Generic {
    pub(super) family: &'static Family,
    /// Name of the macro.
    pub(super) name: String,
    /// Its elements; empty for a macro that only tells plain from context form.
    pub(super) elements: Vec<&'static ElementType>,
    /// Position of the argument that decides, counted from 1 in the plain form.
    pub(super) position: usize,
}

/// The macros of one header: those whose name begins with `prefix`.
pub(super) fn generics(prefix: &str) -> Vec<Generic> {
    let mut found = Vec::new();
    for family in families() {
        let Some(position) = family.generic else {
            continue;
        };
        let symbols = expand(family, false);
        let name = match symbols[0].form {
            CallForm::Typed(element) => symbols[0].name.replacen(&format!("{}_", element.name), "", 1),
            _ => symbols[0].name.clone(),
        };
        if name.starts_with(prefix) {
            found.push(Generic { family, name, elements: distinct(&symbols), position });
        }
    }
    found
}

/// One element per C type: the basic name when the family has it, else the first other name.
fn distinct(symbols: &[Symbol]) -> Vec<&'static ElementType> {
    let mut elements: Vec<&'static ElementType> = Vec::new();
    for symbol in symbols {
        let CallForm::Typed(element) = symbol.form else {
            continue;
        };
        match elements.iter_mut().find(|known| known.basic == element.basic) {
            Some(known) if element.name == element.basic => *known = element,
            Some(_) => {}
            None => elements.push(element),
        }
    }
    elements.sort_by_key(|element| types::ELEMENTS.iter().position(|known| known.basic == element.basic));
    elements
}

const SELECTORS: &str = r#"
/* Type-generic macros. The first argument (the second one after a context or a team) decides; it is not evaluated
 * for that. A type without such a routine ends in a complaint about the function named here, which does not exist. */
#ifdef __cplusplus
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#ifndef OXSHMEM_FIRST
void oxshmem_no_such_routine_for_this_type(void);
#define OXSHMEM_FIRST(a, ...) a
#define OXSHMEM_SECOND(a, b, ...) b
#define OXSHMEM_PLAIN(arms, head, tail, ...) _Generic((OXSHMEM_FIRST(__VA_ARGS__, 0)), \
    arms(, head, tail))(__VA_ARGS__)
#define OXSHMEM_PLAIN_CONST(arms, head, tail, ...) _Generic((OXSHMEM_FIRST(__VA_ARGS__, 0)), \
    arms(, head, tail), arms(const, head, tail))(__VA_ARGS__)
#define OXSHMEM_PLAIN_VOLATILE(arms, steady, head, tail, ivar, ...) _Generic((ivar), \
    arms(, head, tail), arms(volatile, head, tail))(steady(ivar), __VA_ARGS__)
#define OXSHMEM_TEAM(arms, head, tail, ...) _Generic((OXSHMEM_SECOND(__VA_ARGS__, 0, 0)), \
    arms(, head, tail))(__VA_ARGS__)
#define OXSHMEM_CTX(arms, head, tail, ...) _Generic((OXSHMEM_FIRST(__VA_ARGS__, 0)), \
    shmem_ctx_t: _Generic((OXSHMEM_SECOND(__VA_ARGS__, 0, 0)), arms(, head##ctx_, tail), \
        default: oxshmem_no_such_routine_for_this_type), \
    arms(, head, tail))(__VA_ARGS__)
#define OXSHMEM_CTX_CONST(arms, head, tail, ...) _Generic((OXSHMEM_FIRST(__VA_ARGS__, 0)), \
    shmem_ctx_t: _Generic((OXSHMEM_SECOND(__VA_ARGS__, 0, 0)), arms(, head##ctx_, tail), arms(const, head##ctx_, tail), \
        default: oxshmem_no_such_routine_for_this_type), \
    arms(, head, tail), arms(const, head, tail))(__VA_ARGS__)
#endif
"#;

/// How the older nonblocking transfers are chosen. Cray's programs pass one argument more than the routine has, so that
/// the plain form with it has as many arguments as the form with a context.
const WITH_UNUSED_HANDLE: &str = r#"
/* The last argument, a handle of former days, may be there or not; it is not evaluated. */
#define OXSHMEM_NB(arms, head, tail, ...) OXSHMEM_SEVENTH(__VA_ARGS__, OXSHMEM_NB_SIX, OXSHMEM_NB_FIVE, \
    OXSHMEM_CTX, OXSHMEM_CTX, 0, 0, 0)(arms, head, tail, __VA_ARGS__)
#define OXSHMEM_SEVENTH(a, b, c, d, e, f, g, ...) g
#define OXSHMEM_IF_CTX(a, yes, no) _Generic((a), shmem_ctx_t: (yes), default: (no))
#define OXSHMEM_NB_FIVE(arms, head, tail, a, b, c, d, e) _Generic((a), \
    shmem_ctx_t: _Generic((b), arms(, head##ctx_, tail), default: oxshmem_no_such_routine_for_this_type), \
    arms(, head##ctx_, tail))(OXSHMEM_IF_CTX(a, a, SHMEM_CTX_DEFAULT), OXSHMEM_IF_CTX(a, b, a), \
        OXSHMEM_IF_CTX(a, c, b), OXSHMEM_IF_CTX(a, d, c), OXSHMEM_IF_CTX(a, e, d))
#define OXSHMEM_NB_SIX(arms, head, tail, a, b, c, d, e, f) OXSHMEM_CTX(arms, head, tail, a, b, c, d, e)
"#;

/// The macros' definitions for one header.
pub(super) fn macros(prefix: &str) -> String {
    let mut text = String::from(SELECTORS);
    let mut lists: Vec<(Vec<&'static ElementType>, String)> = Vec::new();
    let generics = generics(prefix);
    if generics.iter().any(|generic| has_unused_handle(generic.family)) {
        text += WITH_UNUSED_HANDLE;
    }
    for generic in generics {
        let Generic { name, elements, .. } = &generic;
        if elements.is_empty() {
            text += &format!(
                "#define {name}(...) _Generic((OXSHMEM_FIRST(__VA_ARGS__, 0)), \
                 shmem_ctx_t: {}, default: {name})(__VA_ARGS__)\n",
                name.replacen('_', "_ctx_", 1)
            );
            continue;
        }
        let arms = match lists.iter().find(|(known, _)| known == elements) {
            Some((_, arms)) => arms.clone(),
            None => {
                let arms = format!("OXSHMEM_ARMS_{name}");
                text += &arms_macro(&arms, elements);
                lists.push((elements.clone(), arms.clone()));
                arms
            }
        };
        let tail = name.strip_prefix(prefix).expect("the prefix chose the macro");
        let mut choices = arms.clone();
        if takes_volatile(&generic) {
            let steady = arms.replace("ARMS", "STEADY");
            if !text.contains(&format!("{steady}(")) {
                text += &steady_macro(&steady, elements);
            }
            choices = format!("{arms}, {steady}");
        }
        text += &format!("#define {name}(...) {}({choices}, {prefix}, _{tail}, __VA_ARGS__)\n", selector(&generic));
    }
    if prefix == "shmem_" {
        text += "/* A team, or the older active set. */\n\
                 #define shmem_sync(...) _Generic((OXSHMEM_FIRST(__VA_ARGS__, 0)), shmem_team_t: shmem_team_sync, \
                 default: shmem_sync)(__VA_ARGS__)\n";
    }
    if prefix == "shmemx_" {
        let arms = lists.iter().find(|(known, _)| *known == broadcast_on_teams());
        text += &older_broadcast(&arms.expect("the older transfers have the same types").1);
    }
    text + "#endif\n"
}

/// The elements on which the generic `shmemx_broadcast` takes a team.
fn broadcast_on_teams() -> Vec<&'static ElementType> {
    let standard = generics("shmem_").into_iter().find(|generic| generic.name == "shmem_broadcast");
    standard.expect("the standard has a generic broadcast").elements
}

/// The elements on which the generic `shmemx_broadcast` takes an active set, with the routine of their size.
pub(super) fn broadcast_on_sets() -> impl Iterator<Item = (&'static ElementType, &'static str)> {
    let words = ["float", "int", "uint"];
    let long_words = ["double", "long", "longlong", "ulong", "ulonglong"];
    let named = |name| types::named(name).expect("a name of the table of types");
    let words = words.into_iter().map(move |name| (named(name), "shmem_broadcast32"));
    words.chain(long_words.into_iter().map(move |name| (named(name), "shmem_broadcast64")))
}

/// `shmemx_broadcast` of a team, with the arguments of `shmem_broadcast`, or of an active set, with those of
/// `shmem_broadcast32`.
fn older_broadcast(arms: &str) -> String {
    let sets: Vec<String> =
        broadcast_on_sets().map(|(element, routine)| format!("    {} *: {routine}", element.c)).collect();
    format!(
        "/* A team, or the older active set. */\n#define shmemx_broadcast(...) \
         _Generic((OXSHMEM_FIRST(__VA_ARGS__, 0)), \\\n    shmem_team_t: _Generic((OXSHMEM_SECOND(__VA_ARGS__, 0, 0)), \
         {arms}(, shmem_, _broadcast), \\\n        \
         default: oxshmem_no_such_routine_for_this_type), \\\n{})(__VA_ARGS__)\n",
        sets.join(", \\\n")
    )
}

/// Whether programs may pass a handle behind the arguments of this family.
pub(super) fn has_unused_handle(family: &Family) -> bool {
    let is_extension = family.parts.iter().all(|part| part.status == Status::Extension);
    is_extension && matches!(family.function(), "rma::put_nbi" | "rma::get_nbi")
}

/// Whether the macro takes pointers to volatile words, too: programs of the days when these calls did, and those whose loops read the
/// word between the calls.
pub(super) fn takes_volatile(generic: &Generic) -> bool {
    generic.family.category == Category::P2p && !generic.elements.is_empty()
}

fn selector(generic: &Generic) -> &'static str {
    if has_unused_handle(generic.family) {
        return "OXSHMEM_NB";
    }
    let pattern = expand(generic.family, false).swap_remove(0).prototype;
    let constant = pattern.parameters[generic.position - 1].ctype.starts_with("const ");
    match (generic.position, generic.family.ctx, constant) {
        (2, ..) => "OXSHMEM_TEAM",
        (_, true, false) => "OXSHMEM_CTX",
        (_, true, true) => "OXSHMEM_CTX_CONST",
        (_, false, false) if takes_volatile(generic) => "OXSHMEM_PLAIN_VOLATILE",
        (_, false, false) => "OXSHMEM_PLAIN",
        (_, false, true) => "OXSHMEM_PLAIN_CONST",
    }
}

fn arms_macro(name: &str, elements: &[&ElementType]) -> String {
    let arms: Vec<String> = elements
        .iter()
        .map(|element| format!("    q {} *: head##{}##tail", with_complex(element.c), element.name))
        .collect();
    format!("#define {name}(q, head, tail) \\\n{}\n", arms.join(", \\\n"))
}

/// The pointer that a routine takes, for one to a volatile word. Under `-Wcast-qual` compilers warn of a cast that has no integer between.
fn steady_macro(name: &str, elements: &[&ElementType]) -> String {
    let arms: Vec<String> =
        elements.iter().map(|element| format!("    volatile {0} *: ({0} *)(uintptr_t)(p)", element.c)).collect();
    format!("#define {name}(p) _Generic((p), \\\n{}, \\\n    default: (p))\n", arms.join(", \\\n"))
}

/// A program, and the routines it must end up calling.
#[derive(Debug)]
pub struct TestProgram {
    /// C11.
    pub text: String,
    /// Each routine that one of its macros chooses.
    pub calls: BTreeSet<String>,
}

/// A program that calls every macro on every type, plain and with a context, const and volatile and neither.
pub fn test_program() -> TestProgram {
    let mut program = TestProgram { text: String::from("#include <shmemx.h>\n"), calls: BTreeSet::new() };
    for generic in generics("shmem_").iter().chain(&generics("shmemx_")) {
        let contexts = if generic.family.ctx { &[false, true][..] } else { &[false] };
        for &ctx in contexts {
            let symbols = expand(generic.family, ctx);
            let typed = symbols.iter().filter(|symbol| matches!(symbol.form, CallForm::Typed(_) | CallForm::Alone));
            typed.for_each(|symbol| program.use_macro(generic, symbol));
        }
    }
    program
}

impl TestProgram {
    fn use_macro(&mut self, generic: &Generic, symbol: &Symbol) {
        let chosen = match symbol.form {
            CallForm::Typed(element) => {
                let known = generic.elements.iter().find(|known| known.basic == element.basic);
                let known = known.expect("the list has one name of each type");
                symbol.name.replacen(&format!("_{}_", element.name), &format!("_{}_", known.name), 1)
            }
            _ => symbol.name.clone(),
        };
        self.calls.insert(chosen);
        let mut parameters = symbol.prototype.parameters.clone();
        self.call(generic, &parameters);
        let decides = &mut parameters[generic.position - 1 + usize::from(symbol.ctx)];
        if let Some(target) = decides.ctype.strip_prefix("const ") {
            decides.ctype = target.into();
            self.call(generic, &parameters);
        }
        if takes_volatile(generic) {
            parameters[0].ctype = format!("volatile {}", parameters[0].ctype);
            self.call(generic, &parameters);
        }
    }

    fn call(&mut self, generic: &Generic, parameters: &[Parameter]) {
        let number = self.text.lines().count();
        let list: Vec<String> = parameters.iter().map(Parameter::to_c).collect();
        let arguments: Vec<&str> = parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        let (list, arguments) = (list.join(", "), arguments.join(", "));
        self.text += &format!("void test{number}({list}) {{ (void) {}({arguments}); }}\n", generic.name);
    }
}
/// C's complex types under names that C++ takes as well.
pub(super) fn with_complex(text: &str) -> String {
    text.replace("float _Complex", "oxshmem_complexf_t").replace("double _Complex", "oxshmem_complexd_t")
}
