//! The calls of the race detector: each routine once more, around the library's, with what the detector has to know.

mod hooks;

use crate::expand::{CallForm, Symbol, symbols};
use crate::fortran::{self, FortranEntry};
use crate::generate::race::hooks::hooks;
use crate::prototype::{Parameter, Prototype};

/// One routine to be written.
struct Routine {
    prototype: Prototype,
    /// The runtime's function.
    function: String,
    /// C for the size of an element.
    size: String,
    /// Whether the elements are floating-point numbers.
    floating: bool,
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

/// The routines in C, which the detector's build compiles. They are long and not meant to be read, so they are not
/// checked in.
pub fn calls() -> String {
    let symbols = symbols();
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
        floating: matches!(symbol.form, CallForm::Typed(element) if is_floating(element.c)),
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
        floating: entry.kind.is_some_and(|kind| is_floating(kind.c)),
        ctx: "SHMEM_CTX_DEFAULT",
        name: entry.name(),
        target: "NEXT".into(),
        aliases: entry.aliases(),
        fortran: true,
    }
}

fn is_floating(c: &str) -> bool {
    ["float", "double", "long double"].contains(&c)
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
        text += &format!(
            "\n{{\n    if (race_depth++ == 0 && __atomic_load_n(&race_threaded, __ATOMIC_RELAXED))\n        race_called(AT({number}));\n"
        );
        for statements in [&self.fill(&before, number), &call, &self.fill(&after, number)] {
            if !statements.is_empty() {
                text += &format!("    {statements}\n");
            }
        }
        text += "    race_depth--;\n";
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
        text = text.replace("$floating", if self.floating { "RACE_FLOATING" } else { "0" });
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_the_heap_in_fortran_are_meetings_and_tell_of_blocks_that_there_are() {
        let text = calls();
        let heap = [("shpalloc_", "*errcode == 0"), ("shpclmove_", "*status >= 0"), ("shpdeallc_", "*errcode == 0")];
        for (name, succeeded) in heap {
            // Its declaration comes first.
            let start = text.rfind(&format!("void ({name})(")).expect("the routine is told to the detector");
            let body = text[start..].split("\n}").next().unwrap_or_default();
            assert!(body.contains("race_enter_world(1)"), "{body}");
            assert!(body.contains(&format!("race_leave(meeting); if ({succeeded}) ")), "{body}");
        }
    }
}
