//! One argument of a procedure: how Fortran declares it, how the C routine does, and what is passed on.

use super::kinds::ServingRoutine;
use crate::prototype::Parameter;

/// An argument on its way from the program to C.
pub(super) struct Argument {
    pub(super) name: String,
    /// Type and attributes.
    pub(super) declaration: String,
    /// The part of declarations behind the name.
    pub(super) shape: &'static str,
    /// The same of the C routine.
    pub(super) c: String,
    pub(super) c_shape: &'static str,
    /// The expression that the C routine gets.
    pub(super) passed: String,
}

impl Argument {
    /// Whether it is data that must lie together.
    pub(super) fn is_block(&self) -> bool {
        self.shape == "(..)"
    }

    /// Whether C can be given the program's argument as it is.
    pub(super) fn is_direct(&self) -> bool {
        self.passed == self.name && self.shape != "(:)" && !self.declaration.starts_with("class")
    }
}

/// The argument for a parameter of C; `first` says whether it is the one to which a procedure is bound.
pub(super) fn argument(form: &ServingRoutine<'_>, parameter: &Parameter, first: bool) -> Argument {
    let Parameter { ctype, name } = parameter;
    let element = form.element.map_or("type(*)", |element| element.declaration);
    let intent = if ctype.starts_with("const ") { "in" } else { "inout" };
    let by_reference = |kind: &str| like(name, &format!("{kind}, intent({intent})"), "");
    let holder = if first { "class" } else { "type" };
    match (ctype.as_str(), name.as_str()) {
        ("shmem_ctx_t" | "shmem_team_t", _) => {
            let (kind, ends) = (ctype.trim_end_matches("_t"), form.symbol.name.ends_with("_destroy"));
            let intent = if ends { "inout" } else { "in" };
            let declaration = format!("{holder}({kind}), intent({intent})");
            converted(name, &declaration, "", "integer(c_intptr_t), value", format!("{kind}_address({name})"))
        }
        ("shmem_ctx_t *" | "shmem_team_t *" | "shmem_req_h *", _) => {
            let kind = ctype.trim_end_matches("_t *").trim_end_matches("_h *");
            // A team whose intent is out is invalid when the call begins, also where its parent has the same variable.
            let intent = if kind == "shmem_ctx" { "out" } else { "inout" };
            let declaration = format!("{holder}({kind}), intent({intent})");
            converted(
                name,
                &declaration,
                "",
                &format!("integer(c_intptr_t), intent({intent})"),
                format!("{name}%handle"),
            )
        }
        (_, "config" | "xaxis_config" | "yaxis_config") => {
            let kind = ctype.trim_start_matches("const ").trim_end_matches(" *").trim_end_matches("_t");
            let optional = if intent == "in" { ", optional" } else { "" };
            like(name, &format!("type({kind}), intent({intent}){optional}"), "")
        }
        ("long", "config_mask" | "xaxis_mask" | "yaxis_mask") => mask(form, name),
        ("long", _) => {
            converted(name, "integer, intent(in)", "", "integer(c_long), value", format!("int({name}, c_long)"))
        }
        ("int", _) => plain(name, "integer(c_int)"),
        ("int *", _) => like(name, "integer(c_int), intent(out)", ""),
        ("const int *", "status") => like(name, "integer(c_int), intent(in), optional", "(*)"),
        ("const int *", _) => Argument {
            c_shape: "(*)",
            shape: "(:)",
            ..converted(name, "integer(c_int), intent(in), contiguous", "", "integer(c_int), intent(in)", name.clone())
        },
        ("size_t *", _) => like(name, "integer(c_size_t), intent(inout)", "(*)"),
        ("long *", _) => by_reference("integer(c_long)"),
        ("uint64_t *" | "const uint64_t *", _) => by_reference("integer(c_int64_t)"),
        ("uint64_t", _) => plain(name, "integer(c_int64_t)"),
        ("size_t", _) => count(form, name),
        ("ptrdiff_t", _) => number(name, format!("int({name}, c_size_t)")),
        (_, "cmp_values") => like(name, &format!("{element}, intent(in)"), "(*)"),
        // It gets its value behind the return. Without these attributes a compiler may load a local variable before the quiet.
        (_, "fetch") => like(name, &format!("{element}, intent({intent}), asynchronous, target"), ""),
        (pointer, _) if pointer.ends_with('*') && is_block(form) => block(form, name, element, intent),
        (pointer, _) if pointer.ends_with('*') => by_reference(element),
        _ => plain(name, element),
    }
}

/// The same in both languages.
fn like(name: &str, declaration: &str, shape: &'static str) -> Argument {
    converted(name, declaration, shape, declaration, name.into())
}

/// A value that C gets as it is.
fn plain(name: &str, kind: &str) -> Argument {
    converted(name, &format!("{kind}, intent(in)"), "", &format!("{kind}, value"), name.into())
}

/// A number that is of another size in C.
fn number(name: &str, passed: String) -> Argument {
    converted(name, "integer, intent(in)", "", "integer(c_size_t), value", passed)
}

fn converted(name: &str, declaration: &str, shape: &'static str, c: &str, passed: String) -> Argument {
    Argument { name: name.into(), declaration: declaration.into(), shape, c: c.into(), c_shape: shape, passed }
}

/// Whether the routine works on many elements, or on memory without a type.
fn is_block(form: &ServingRoutine<'_>) -> bool {
    let parameters = &form.symbol.prototype.parameters;
    form.element.is_none()
        || parameters.iter().any(|parameter| ["nelems", "nreduce", "bsize"].contains(&&*parameter.name))
}

/// Data of any rank. With the attribute `contiguous` a compiler may copy what lies together already, and a copy is not symmetric;
/// so the procedure looks itself. A nonblocking routine uses it behind its return.
fn block(form: &ServingRoutine<'_>, name: &str, element: &str, intent: &str) -> Argument {
    let pending = ["_nbi", "_nb"].iter().any(|ending| form.symbol.name.ends_with(ending));
    let asynchronous = if pending { ", asynchronous" } else { "" };
    let declaration = format!("{element}, intent({intent}), target{asynchronous}");
    Argument { c_shape: "", ..converted(name, &declaration, "(..)", "type(c_ptr), value", format!("c_loc({name})")) }
}

/// A bit for each field of a configuration, by default all of a configuration that is there.
fn mask(form: &ServingRoutine<'_>, name: &str) -> Argument {
    let config = name.replace("mask", "config").replace("config_config", "config");
    let is_result = form
        .symbol
        .prototype
        .parameters
        .iter()
        .any(|parameter| parameter.name == config && !parameter.ctype.starts_with("const "));
    let there = if is_result { ".true.".into() } else { format!("present({config})") };
    converted(name, "integer, intent(in), optional", "", "integer(c_long), value", format!("mask_of({name}, {there})"))
}

fn has(form: &ServingRoutine<'_>, wanted: &str) -> bool {
    form.symbol.prototype.parameters.iter().any(|parameter| parameter.name == wanted)
}

/// The array whose size is the number of elements of a call without one.
pub(super) fn deciding(form: &ServingRoutine<'_>) -> &'static str {
    match form.symbol.family.generic_name() {
        generic if generic.starts_with("shmem_get") => "dest",
        _ if has(form, "target_pes") => "target_pes",
        _ if has(form, "ivars") => "ivars",
        _ => "source",
    }
}

/// Whether each PE gets a part of the array.
pub(super) fn is_exchange(form: &ServingRoutine<'_>) -> bool {
    form.symbol.family.generic_name().contains("_alltoall")
}

/// A number of elements. Its default is the size of the data where that has one meaning.
fn count(form: &ServingRoutine<'_>, name: &str) -> Argument {
    if form.is_long {
        return plain(name, "integer(c_size_t)");
    }
    let data = deciding(form);
    if has(form, "dst") || form.element.is_none() && data != "target_pes" {
        return number(name, format!("int({name}, c_size_t)"));
    }
    let all = format!("size({data}, kind=c_size_t)");
    let all = if is_exchange(form) { format!("{all} / shmem_team_n_pes(team)") } else { all };
    let scale = match form.element.filter(|_| form.in_bytes) {
        Some(element) if element.name == "character" => format!(" * len({data}, c_size_t)"),
        Some(_) => format!(" * (storage_size({data}, c_size_t) / 8)"),
        None => String::new(),
    };
    let passed = format!("count_of({name}, {all}){scale}");
    Argument { declaration: "integer, intent(in), optional".into(), ..number(name, passed) }
}
