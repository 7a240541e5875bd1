//! C++ overloads: what the C11 macros are for C.

use super::generics::{Generic, broadcast_on_sets, generics, has_unused_handle, takes_volatile, with_complex};
use crate::expand::{CallForm, Symbol, expand, symbols};
use crate::prototype::{Parameter, Prototype};
use crate::table::Family;
use crate::types::ElementType;

/// Refuses a template of one type that is no complex number. C++98 has no `static_assert`.
const TWO_PARTS: &str = "#define OXSHMEM_TWO_PARTS(complex, part) \\
    (void) sizeof(char[sizeof(complex) == 2 * sizeof(part) ? 1 : -1])
";

/// Profiles and reports of races know the address to which a call of the library returns. It lies in a line of the program
/// if the overload is inlined, and without this attribute compilers inline nothing unless they optimise.
pub(super) const INLINED: &str = "/* Inlined without optimisation too, so that tools find the line of the program. */
#ifdef __GNUC__
#define OXSHMEM_INLINE inline __attribute__((__always_inline__))
#else
#define OXSHMEM_INLINE inline
#endif
";

/// The overloads for one header: those whose name begins with `prefix`.
pub(super) fn functions(prefix: &str) -> String {
    let routines = symbols();
    let mut text = String::new();
    let mut lists: Vec<(Vec<&'static ElementType>, String)> = Vec::new();
    for mut generic in generics(prefix) {
        let name = generic.name.clone();
        let contexts = if generic.family.ctx { &[false, true][..] } else { &[false] };
        if generic.elements.is_empty() {
            // The plain function is an overload as it stands.
            let with_context = &expand(generic.family, true)[0];
            text += &inline(&with_context.prototype, &name, &with_context.name);
            continue;
        }
        if takes_volatile(&generic) {
            text += &for_volatile(&generic);
        }
        // So is a routine that has the macro's name, for its own type.
        if let Some(routine) = routines.iter().find(|routine| routine.name == name) {
            let own = &routine.prototype.parameters;
            generic.elements.retain(|element| &form(generic.family, element).prototype.parameters != own);
        }
        let each = match lists.iter().find(|(known, _)| *known == generic.elements) {
            Some((_, each)) => each.clone(),
            None => {
                let each = format!("OXSHMEM_EACH_{name}");
                let items: Vec<String> =
                    generic.elements.iter().map(|e| format!("F({}, {})", with_complex(e.c), e.name)).collect();
                text += &format!("#define {each}(F) {}\n", items.join(" "));
                lists.push((generic.elements.clone(), each.clone()));
                each
            }
        };
        let mut bodies: Vec<String> = contexts.iter().map(|&ctx| pattern(&generic, ctx)).collect();
        if has_unused_handle(generic.family) {
            let with_handle = |body: &String| body.replacen(", int pe)", ", int pe, void **)", 1);
            bodies.extend(bodies.iter().map(with_handle).collect::<Vec<_>>());
        }
        text += &format!("#define OXSHMEM_OVERLOAD(T, N) \\\n    {}\n", bodies.join(" \\\n    "));
        text += &format!("{each}(OXSHMEM_OVERLOAD)\n#undef OXSHMEM_OVERLOAD\n");
        text += &std_complex(&generic);
    }
    if prefix == "shmem_" {
        text += "OXSHMEM_INLINE int shmem_sync(shmem_team_t team) { return shmem_team_sync(team); }\n";
    }
    if prefix == "shmemx_" {
        text += &older_broadcast();
    }
    let undefine: String = lists.iter().map(|(_, each)| format!("#undef {each}\n")).collect();
    let parts = if text.contains("OXSHMEM_TWO_PARTS") { TWO_PARTS } else { "" };
    // Programs put `extern "C"` around headers of C, where there is no overload and no template.
    format!(
        "\n/* Overloads for C++. */\n#ifdef __cplusplus\nextern \"C++\" {{\n{INLINED}{parts}{text}{undefine}\
         #undef OXSHMEM_INLINE\n}}\n#endif\n"
    )
}

/// See the macro of that name.
fn older_broadcast() -> String {
    let team = "template <typename T> OXSHMEM_INLINE int shmemx_broadcast(shmem_team_t team, T *dest, \
                const T *source, size_t nelems, int PE_root) \
                { return shmem_broadcast(team, dest, source, nelems, PE_root); }\n";
    let sets = broadcast_on_sets().map(|(element, routine)| {
        let t = element.c;
        format!(
            "OXSHMEM_INLINE void shmemx_broadcast({t} *dest, const {t} *source, size_t nelems, int PE_root, \
             int PE_start, int logPE_stride, int PE_size, long *pSync) \
             {{ {routine}(dest, source, nelems, PE_root, PE_start, logPE_stride, PE_size, pSync); }}\n"
        )
    });
    team.to_string() + &sets.collect::<String>()
}

/// The overloads for pointers to volatile words.
fn for_volatile(generic: &Generic) -> String {
    let lines = generic.elements.iter().map(|element| {
        let Symbol { name: routine, prototype, .. } = form(generic.family, element);
        let (ivar, word) = (&prototype.parameters[0].name, &prototype.parameters[0].ctype);
        let steady = format!("const_cast<{word}>({ivar})");
        let arguments = prototype.arguments().replacen(ivar.as_str(), &steady, 1);
        let body = inline(&prototype, &generic.name, &routine).replacen(word, &format!("volatile {word}"), 1);
        body.replacen(&format!("{routine}({})", prototype.arguments()), &format!("{routine}({arguments})"), 1)
    });
    lines.collect()
}

/// The plain symbol of one element.
fn form(family: &'static Family, element: &ElementType) -> Symbol {
    let typed = |symbol: &Symbol| matches!(symbol.form, CallForm::Typed(own) if own == element);
    expand(family, false).into_iter().find(typed).expect("the element comes from this family")
}

/// An inline function with element type `T` that calls the routine with element name `N`.
fn pattern(generic: &Generic, ctx: bool) -> String {
    let mut prototype = Prototype::parse(generic.family.prototype);
    let mut target = prototype.name.replace("<T>", "##N##").replace("<N>", "");
    if ctx {
        target = target.replacen('_', "_ctx_", 1);
        prototype.parameters.insert(0, Parameter::new("shmem_ctx_t", "ctx"));
    }
    inline(&prototype, &generic.name, &target).trim_end().to_string()
}

fn inline(prototype: &Prototype, name: &str, target: &str) -> String {
    let mut prototype = prototype.clone();
    let arguments = prototype.arguments();
    let value = if prototype.result == "void" { "" } else { "return " };
    prototype.name = name.into();
    let head = prototype.to_c();
    format!("OXSHMEM_INLINE {} {{ {value}{target}({arguments}); }}\n", head.trim_end_matches(';'))
}

/// Lets `std::complex` through without its header: any template of that shape and size.
fn std_complex(generic: &Generic) -> String {
    let complex = generic.elements.iter().filter(|element| element.name.starts_with("complex"));
    let lines = complex.map(|element| {
        let symbol = form(generic.family, element);
        let part = element.c.trim_end_matches(" _Complex");
        let list: Vec<String> =
            symbol.prototype.parameters.iter().map(|p| p.to_c().replace(element.c, &format!("Z<{part}>"))).collect();
        let arguments: Vec<String> = symbol
            .prototype
            .parameters
            .iter()
            .map(|p| {
                if p.ctype.contains(element.c) {
                    format!("reinterpret_cast<{}>({})", with_complex(&p.ctype), p.name)
                } else {
                    p.name.clone()
                }
            })
            .collect();
        format!(
            "template <template <typename> class Z> OXSHMEM_INLINE int {}({}) {{ \
             OXSHMEM_TWO_PARTS(Z<{part}>, {part}); \
             return {}({}); }}\n",
            generic.name,
            list.join(", "),
            symbol.name,
            arguments.join(", ")
        )
    });
    lines.collect()
}
