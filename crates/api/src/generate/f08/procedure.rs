//! One specific procedure: an interface of the C routine, or a body that calls it.

use super::argument::{Argument, argument, deciding, is_exchange};
use super::kinds::ServingRoutine;
use super::wrapped;
use crate::expand::CallForm;

/// A type to which procedures are bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holder {
    Context,
    Team,
    Request,
}

/// One of them.
pub(super) struct Procedure {
    /// The name that programs use.
    pub(super) generic: String,
    /// Its own name.
    pub(super) specific: String,
    /// Whether others have the same generic name.
    pub(super) is_generic: bool,
    /// The type that it is bound to, and its name there.
    pub(super) bound: Option<(Holder, String)>,
    /// The interface, for a routine that needs no body.
    pub(super) interface: Option<String>,
    pub(super) body: Option<String>,
    pub(super) usage: ProcedureUsage,
}

/// Arguments and result, for readers of the manual.
pub(super) struct ProcedureUsage {
    /// Names, types without attributes but with the shape, and whether the argument may be left out.
    pub(super) arguments: Vec<(String, String, bool)>,
    pub(super) result: Option<&'static str>,
}

impl ProcedureUsage {
    fn of(arguments: &[Argument], outcome: &ResultUse) -> ProcedureUsage {
        let mut told: Vec<(String, String, bool)> = arguments
            .iter()
            .map(|Argument { name, declaration, shape, .. }| {
                let kind = declaration.split(", ").next().unwrap_or_default().replacen("class(", "type(", 1);
                (name.clone(), format!("{kind} :: {name}{shape}"), declaration.contains("optional"))
            })
            .collect();
        if matches!(outcome, ResultUse::Status) {
            told.push(("ierr".into(), "integer :: ierr".into(), true));
        }
        ProcedureUsage { arguments: told, result: outcome.fortran() }
    }
}

impl Procedure {
    /// The procedure for a routine and a type.
    pub(super) fn new(form: &ServingRoutine<'_>) -> Procedure {
        let symbol = form.symbol;
        let is_typed = form.element.is_some();
        let generic = match symbol.form {
            CallForm::Alone => symbol.family.generic_name(),
            _ if is_typed => symbol.family.generic_name(),
            _ => symbol.name.replacen("shmem_ctx_", "shmem_", 1),
        };
        let is_generic = is_typed || symbol.family.ctx || symbol.form == CallForm::Mem;
        let specific = specific(form, &generic, is_generic);
        let bound = bound(form, &generic);
        let parameters = &symbol.prototype.parameters;
        let arguments: Vec<Argument> = parameters
            .iter()
            .enumerate()
            .map(|(at, parameter)| argument(form, parameter, at == 0 && bound.is_some()))
            .collect();
        let outcome = ResultUse::of(form);
        let is_direct = outcome.is_direct() && arguments.iter().all(Argument::is_direct);
        let (interface, body) = if is_direct {
            (Some(routine(&specific, form, &arguments, &outcome, 8)), None)
        } else {
            (None, Some(body(&generic, &specific, form, &arguments, &outcome)))
        };
        let usage = ProcedureUsage::of(&arguments, &outcome);
        Procedure { generic, specific, is_generic, bound, interface, body, usage }
    }
}

fn specific(form: &ServingRoutine<'_>, generic: &str, is_generic: bool) -> String {
    let name = if form.symbol.ctx { generic.replacen("shmem_", "shmem_ctx_", 1) } else { generic.into() };
    match form.element {
        Some(element) => format!("{name}_{}", element.name),
        None if form.is_long => format!("{name}_long"),
        None if is_generic && !form.symbol.ctx => format!("{name}_plain"),
        None => name,
    }
}

fn bound(form: &ServingRoutine<'_>, generic: &str) -> Option<(Holder, String)> {
    let first = form.symbol.prototype.parameters.first()?;
    let (holder, own) = match first.ctype.as_str() {
        "shmem_ctx_t" => (Holder::Context, "shmem_ctx_"),
        "shmem_team_t" => (Holder::Team, "shmem_team_"),
        "shmem_req_h *" if form.symbol.name.starts_with("shmem_req") => (Holder::Request, "shmem_req_"),
        _ => return None,
    };
    let name = [own, "shmemx_", "shmem_"].iter().find_map(|prefix| generic.strip_prefix(prefix));
    Some((holder, name.expect("every routine has one of these prefixes").into()))
}

/// The use of the C routine's result.
enum ResultUse {
    Nothing,
    /// Zero, or an error that the program may look at.
    Status,
    Value(&'static str),
    /// Nonzero is true.
    Truth,
    /// An index from zero, or the largest number; Fortran counts from one, and zero says that there is none.
    Position,
    /// How many indices were written.
    Indices,
}

impl ResultUse {
    fn of(form: &ServingRoutine<'_>) -> ResultUse {
        let generic = form.symbol.family.generic_name();
        match form.symbol.prototype.result.as_str() {
            "void" => ResultUse::Nothing,
            "void *" => ResultUse::Value("type(c_ptr)"),
            "double" if form.element.is_none() => ResultUse::Value("real(c_double)"),
            "uint64_t" => ResultUse::Value("integer(c_int64_t)"),
            "size_t" if generic.contains("_some") => ResultUse::Indices,
            "size_t" => ResultUse::Position,
            "int" if generic.ends_with("_test_lock") || generic == "shmem_req_test" => {
                ResultUse::Value("integer(c_int)")
            }
            "int" if generic.contains("_accessible") || generic.starts_with("shmem_test") => ResultUse::Truth,
            "int" if ["_pe", "_pes"].iter().any(|ending| generic.ends_with(ending)) => {
                ResultUse::Value("integer(c_int)")
            }
            "int" => ResultUse::Status,
            _ => ResultUse::Value(form.element.expect("the result is an element").declaration),
        }
    }

    fn is_direct(&self) -> bool {
        matches!(self, ResultUse::Nothing | ResultUse::Value(_))
    }

    /// The type of the C routine's result.
    fn c(&self) -> Option<&'static str> {
        match self {
            ResultUse::Nothing => None,
            ResultUse::Value(kind) => Some(kind),
            ResultUse::Status | ResultUse::Truth => Some("integer(c_int)"),
            ResultUse::Position | ResultUse::Indices => Some("integer(c_size_t)"),
        }
    }

    /// The type of the procedure's result.
    fn fortran(&self) -> Option<&'static str> {
        match self {
            ResultUse::Nothing | ResultUse::Status => None,
            ResultUse::Value(kind) => Some(kind),
            ResultUse::Truth => Some("logical"),
            ResultUse::Position | ResultUse::Indices => Some("integer"),
        }
    }
}

/// The interface of the C routine, under the given name.
fn routine(
    name: &str,
    form: &ServingRoutine<'_>,
    arguments: &[Argument],
    outcome: &ResultUse,
    indent: usize,
) -> String {
    let space = " ".repeat(indent);
    let sort = if outcome.c().is_some() { "function" } else { "subroutine" };
    let names: Vec<&str> = arguments.iter().map(|argument| argument.name.as_str()).collect();
    let mut text = head(&format!("{space}{sort} {name}("), &names, ") &");
    text += &format!("{space}        bind(c, name='{}')\n{space}    import\n", form.symbol.name);
    for argument in arguments {
        text += &format!("{space}    {} :: {}{}\n", argument.c, argument.name, argument.c_shape);
    }
    if let Some(kind) = outcome.c() {
        text += &format!("{space}    {kind} :: {name}\n");
    }
    text + &format!("{space}end {sort}\n")
}

/// A procedure that calls the C routine. Messages name it by its generic name.
fn body(generic: &str, name: &str, form: &ServingRoutine<'_>, arguments: &[Argument], outcome: &ResultUse) -> String {
    let sort = if outcome.fortran().is_some() { "function" } else { "subroutine" };
    let is_status = matches!(outcome, ResultUse::Status);
    let mut names: Vec<&str> = arguments.iter().map(|argument| argument.name.as_str()).collect();
    if is_status {
        names.push("ierr");
    }
    let ending = if sort == "function" { ") result(answer)" } else { ")" };
    let mut text = head(&format!("    {sort} {name}("), &names, ending);
    for argument in arguments {
        text += &format!("        {} :: {}{}\n", argument.declaration, argument.name, argument.shape);
    }
    if is_status {
        text += "        integer, intent(out), optional :: ierr\n";
    }
    if let Some(kind) = outcome.fortran() {
        text += &format!("        {kind} :: answer\n");
    }
    text += "        interface\n";
    text += &routine("routine", form, arguments, outcome, 12);
    text += "        end interface\n";
    if is_status {
        text += "        integer(c_int) :: status\n";
    }
    for Argument { name, .. } in arguments.iter().filter(|argument| argument.is_block()) {
        text += &format!("        if (.not. is_contiguous({name})) call lies_apart('{generic}', '{name}', {name})\n");
    }
    text += &number_check(generic, form, arguments).unwrap_or_default();
    text += &length_check(generic, form, arguments).unwrap_or_default();
    let passed: Vec<&str> = arguments.iter().map(|argument| argument.passed.as_str()).collect();
    let call = |before: &str, behind: &str| head(&format!("        {before}routine("), &passed, &format!("){behind}"));
    text += &match outcome {
        ResultUse::Nothing => call("call ", ""),
        ResultUse::Status => call("status = ", "") + "        if (present(ierr)) ierr = status\n",
        ResultUse::Value(_) => call("answer = ", ""),
        ResultUse::Truth => call("answer = ", " /= 0"),
        ResultUse::Position => call("answer = int(", " + 1)"),
        ResultUse::Indices => call("answer = int(", ")") + "        indices(:answer) = indices(:answer) + 1\n",
    };
    if form.symbol.name.ends_with("_destroy") {
        text += &format!("        {}%handle = 0\n", names[0]);
    }
    text + &format!("    end {sort}\n")
}

/// The check of a call without a number of elements: the array that decides the number has one, and in an exchange an equal part for each
/// PE. A dummy argument whose last dimension is `*` has no length that anybody knows.
fn number_check(generic: &str, form: &ServingRoutine<'_>, arguments: &[Argument]) -> Option<String> {
    let count = &arguments.iter().find(|argument| argument.passed.starts_with("count_of("))?.name;
    let deciding = deciding(form);
    if !arguments.iter().any(|argument| argument.name == deciding && argument.is_block()) {
        return None;
    }
    let (check, pes) =
        if is_exchange(form) { ("check_parts", ", shmem_team_n_pes(team)") } else { ("check_number", "") };
    Some(format!(
        "        if (.not. present({count})) call {check}('{generic}', '{deciding}', '{count}', &\n            \
         size({deciding}, kind=c_size_t){pes})\n"
    ))
}

/// The check of a call without a number of elements: the array that does not decide the number is as long. A scalar there is the first
/// element of what the call accesses. The sizes of a collect differ between its members.
fn length_check(generic: &str, form: &ServingRoutine<'_>, arguments: &[Argument]) -> Option<String> {
    let count = &arguments.iter().find(|argument| argument.passed.starts_with("count_of("))?.name;
    let is_block = |name: &str| arguments.iter().any(|argument| argument.name == name && argument.is_block());
    if generic.contains("_collect") || !is_block("dest") || !is_block("source") {
        return None;
    }
    let (deciding, other) = if generic.starts_with("shmem_get") { ("dest", "source") } else { ("source", "dest") };
    let members = if generic.contains("_fcollect") { " * shmem_team_n_pes(team)" } else { "" };
    let has = match form.element {
        // The strings of the two arrays may have different lengths.
        Some(element) if element.name == "character" => {
            format!("strings_in(size({other}, kind=c_size_t), len({other}, c_size_t), len({deciding}, c_size_t))")
        }
        _ => format!("size({other}, kind=c_size_t)"),
    };
    Some(format!(
        "        if (.not. present({count}) .and. rank({other}) > 0) &\n            \
         call check_length('{generic}', '{other}', '{deciding}', '{count}', &\n                \
         {has}, &\n                size({deciding}, kind=c_size_t){members})\n"
    ))
}

/// The first line of a procedure, or a call, in as many lines as it needs.
fn head(before: &str, names: &[&str], behind: &str) -> String {
    let mut text = wrapped(before, names);
    text.truncate(text.trim_end().len());
    text + behind + "\n"
}
