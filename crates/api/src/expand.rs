//! From rows to symbols: the table spelled out over types, sizes and contexts.

use crate::constants::{INTERNAL, OBJECTS};
use crate::fortran;
use crate::prototype::{Parameter, Prototype};
use crate::table::{Family, Status, families};
use crate::types::{self, ElementType};

/// One form of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallForm {
    /// The routine has one form only.
    Alone,
    /// On an element type.
    Typed(&'static ElementType),
    /// On elements of this many bits.
    Sized(u32),
    /// On bytes.
    Mem,
}

/// One routine of the C interface.
#[derive(Clone, Debug)]
pub struct Symbol {
    /// Its name, for example `shmem_ctx_int_put`.
    pub name: String,
    /// Edition of the standard that brought it, `-` for none.
    pub since: &'static str,
    /// Its standing.
    pub status: Status,
    /// The row it comes from.
    pub family: &'static Family,
    /// Which form of the family it is.
    pub form: CallForm,
    /// Whether it takes a context.
    pub ctx: bool,
    /// Its C declaration.
    pub prototype: Prototype,
}

impl Symbol {
    /// Name of the profiling twin; extensions have none.
    pub fn twin(&self) -> Option<String> {
        (self.status != Status::Extension).then(|| format!("p{}", self.name))
    }

    /// Whether the routine passes or returns `long double` by value, which Rust cannot: it is written in C.
    pub fn in_c(&self) -> bool {
        self.prototype.result == "long double"
            || self.prototype.parameters.iter().any(|parameter| parameter.ctype == "long double")
    }

    /// Whether 1.6 demands it.
    pub fn mandatory(&self) -> bool {
        matches!(self.status, Status::Current | Status::Deprecated)
    }
}

/// Every symbol of the table, in its order.
pub fn symbols() -> Vec<Symbol> {
    let mut symbols: Vec<Symbol> = families().flat_map(|family| expand(family, false)).collect();
    symbols.extend(families().filter(|family| family.ctx).flat_map(|family| expand(family, true)));
    symbols.sort_by_key(|symbol| symbol.family.category);
    symbols
}

/// Every name that a program may refer to: what the shared library shows, and nothing else.
pub fn public_names() -> Vec<String> {
    let mut names: Vec<String> = OBJECTS.iter().chain(INTERNAL).map(|name| name.to_string()).collect();
    for symbol in symbols() {
        names.extend(symbol.twin());
        names.push(symbol.name);
    }
    for entry in fortran::entries() {
        names.extend(entry.aliases());
        names.push(entry.symbol);
    }
    names
}

/// The plain or the context symbols of one family.
pub fn expand(family: &'static Family, ctx: bool) -> Vec<Symbol> {
    let pattern = Prototype::parse(family.prototype);
    let mut symbols = Vec::new();
    for part in family.parts {
        for form in part.forms.iter().flat_map(|forms| forms.split(' ')).map(CallForm::parse) {
            let since = if ctx && part.since != "-" { part.since.max("1.4") } else { part.since };
            let prototype = form.fill(&pattern, ctx);
            let name = prototype.name.clone();
            symbols.push(Symbol { name, since, status: part.status, family, form, ctx, prototype });
        }
    }
    symbols
}

impl CallForm {
    fn parse(text: &str) -> CallForm {
        match text {
            "" => CallForm::Alone,
            "mem" => CallForm::Mem,
            _ => match types::named(text) {
                Some(element) => CallForm::Typed(element),
                None => CallForm::Sized(text.parse().expect("a form is a type, a size or `mem`")),
            },
        }
    }

    fn fill(self, pattern: &Prototype, ctx: bool) -> Prototype {
        let (element, typed, size) = match self {
            CallForm::Alone => ("T", String::new(), String::new()),
            CallForm::Typed(element) => (element.c, format!("{}_", element.name), String::new()),
            CallForm::Sized(bits) => ("void", String::new(), bits.to_string()),
            CallForm::Mem => ("void", String::new(), "mem".to_string()),
        };
        let mut name = pattern.name.replace("<T>_", &typed).replace("<N>", &size);
        let mut parameters: Vec<Parameter> = pattern
            .parameters
            .iter()
            .map(|parameter| Parameter::new(&with_element(&parameter.ctype, element), &parameter.name))
            .collect();
        if ctx {
            let prefix = name.find('_').expect("names have a prefix") + 1;
            name.insert_str(prefix, "ctx_");
            parameters.insert(0, Parameter::new("shmem_ctx_t", "ctx"));
        }
        Prototype { result: with_element(&pattern.result, element), name, parameters, variadic: pattern.variadic }
    }
}

/// Puts the element type where the pattern says `T`.
fn with_element(ctype: &str, element: &str) -> String {
    let words: Vec<&str> = ctype.split(' ').map(|word| if word == "T" { element } else { word }).collect();
    words.join(" ")
}
