//! The types of elements that Fortran has, and the routines that serve them.

use crate::expand::{CallForm, Symbol};

/// A type of elements.
#[derive(Clone, Copy, Debug)]
pub(super) struct FortranType {
    /// How names of specific procedures spell it.
    pub(super) name: &'static str,
    pub(super) declaration: &'static str,
    /// Its name in the routine table, empty if C has no such type.
    c: &'static str,
    /// A number of the same size, where it only matters how many bits move; empty if there is none.
    number: &'static str,
    /// The size in the names of routines that move elements of any type.
    bits: Option<u32>,
}

const fn numeric(name: &'static str, declaration: &'static str, c: &'static str, bits: Option<u32>) -> FortranType {
    FortranType { name, declaration, c, number: "", bits }
}

const fn moved(name: &'static str, declaration: &'static str, number: &'static str, bits: u32) -> FortranType {
    FortranType { name, declaration, c: "", number, bits: Some(bits) }
}

/// All of them.
pub(super) const TYPES: &[FortranType] = &[
    numeric("int8", "integer(c_int8_t)", "int8", Some(8)),
    numeric("int16", "integer(c_int16_t)", "int16", Some(16)),
    numeric("int32", "integer(c_int32_t)", "int32", Some(32)),
    numeric("int64", "integer(c_int64_t)", "int64", Some(64)),
    numeric("real32", "real(c_float)", "float", Some(32)),
    numeric("real64", "real(c_double)", "double", Some(64)),
    numeric("longdouble", "real(c_long_double)", "longdouble", None),
    FortranType { number: "int64", ..numeric("complex32", "complex(c_float_complex)", "complexf", Some(64)) },
    numeric("complex64", "complex(c_double_complex)", "complexd", Some(128)),
    moved("logical8", "logical(1)", "int8", 8),
    moved("logical16", "logical(2)", "int16", 16),
    moved("logical32", "logical(4)", "int32", 32),
    moved("logical64", "logical(8)", "int64", 64),
    FortranType { name: "character", declaration: "character(len=*)", c: "", number: "", bits: None },
];

/// A routine of C for a type of Fortran.
pub(super) struct ServingRoutine<'a> {
    pub(super) symbol: &'a Symbol,
    /// `None` where a routine has one form, or takes elements of any type and counts bytes.
    pub(super) element: Option<FortranType>,
    /// Whether the routine counts bytes and the program counts elements.
    pub(super) in_bytes: bool,
    /// Whether the count is a `c_size_t`: the data of a routine that counts bytes have no size of their own, so that a count of the
    /// default kind would limit them.
    pub(super) is_long: bool,
}

impl<'a> ServingRoutine<'a> {
    fn of(symbol: &'a Symbol, element: Option<FortranType>, in_bytes: bool) -> Self {
        Self { symbol, element, in_bytes, is_long: false }
    }
}

/// For every family the routines that serve Fortran's types, and its routine of bytes under the name of its own.
pub(super) fn chosen(routines: &[Symbol]) -> Vec<ServingRoutine<'_>> {
    let mut forms = Vec::new();
    let mut done = Vec::new();
    for symbol in routines {
        match symbol.form {
            CallForm::Alone => forms.push(ServingRoutine::of(symbol, None, false)),
            CallForm::Typed(_) | CallForm::Sized(_) | CallForm::Mem => {
                let family = (symbol.family.prototype, symbol.ctx);
                if done.contains(&family) {
                    continue;
                }
                let members: Vec<&Symbol> =
                    routines.iter().filter(|other| (other.family.prototype, other.ctx) == family).collect();
                forms.extend(TYPES.iter().filter_map(|element| serving(&members, *element)));
                let bytes = members.iter().find(|member| member.form == CallForm::Mem);
                if let Some(symbol) = bytes {
                    let plain = ServingRoutine::of(symbol, None, false);
                    forms.extend([ServingRoutine { is_long: true, ..plain }, plain]);
                }
                done.push(family);
            }
        }
    }
    forms
}

/// The routine of a family for a type: the type's own, one for its size, or the one of bytes. Elements that lie apart cannot be
/// counted in bytes, and only routines that move data do not mind the type.
fn serving<'a>(members: &[&'a Symbol], element: FortranType) -> Option<ServingRoutine<'a>> {
    let typed = |name: &str| {
        let named = |form| matches!(form, CallForm::Typed(own) if own.name == name);
        members.iter().copied().find(|member| named(member.form))
    };
    let of_form = |form| members.iter().copied().find(|member| member.form == form);
    let bytes = of_form(CallForm::Mem);
    let is_moving = bytes.is_some() || members.iter().any(|member| matches!(member.form, CallForm::Sized(_)));
    let alike = || typed(element.number).filter(|_| is_moving);
    let own = typed(element.c).or_else(|| of_form(CallForm::Sized(element.bits?))).or_else(alike);
    if let Some(symbol) = own {
        return Some(ServingRoutine::of(symbol, Some(element), false));
    }
    let is_apart = |symbol: &&Symbol| symbol.prototype.parameters.iter().any(|parameter| parameter.name == "dst");
    let symbol = bytes.filter(|symbol| !is_apart(symbol))?;
    Some(ServingRoutine::of(symbol, Some(element), true))
}
