//! Element types: how OpenSHMEM names them inside a routine's name, how C and Rust spell them.

/// One element type.
#[derive(Debug, PartialEq, Eq)]
pub struct ElementType {
    /// Name inside a routine's name, as in `shmem_<name>_put`.
    pub name: &'static str,
    /// C spelling.
    pub c: &'static str,
    /// Rust spelling, in the scope of the generated exports.
    pub rust: &'static str,
    /// The basic type that this one is another name of on LP64 Linux, or its own name.
    /// Two names of one type must not both stand in a `_Generic` or among C++ overloads.
    pub basic: &'static str,
}

const fn element(name: &'static str, c: &'static str, rust: &'static str, basic: &'static str) -> ElementType {
    ElementType { name, c, rust, basic }
}

/// Every element type of OpenSHMEM 1.6.
pub const ELEMENTS: [ElementType; 26] = [
    element("float", "float", "f32", "float"),
    element("double", "double", "f64", "double"),
    element("longdouble", "long double", "LongDouble", "longdouble"),
    element("char", "char", "c_char", "char"),
    element("schar", "signed char", "i8", "schar"),
    element("short", "short", "i16", "short"),
    element("int", "int", "i32", "int"),
    element("long", "long", "i64", "long"),
    element("longlong", "long long", "i64", "longlong"),
    element("uchar", "unsigned char", "u8", "uchar"),
    element("ushort", "unsigned short", "u16", "ushort"),
    element("uint", "unsigned int", "u32", "uint"),
    element("ulong", "unsigned long", "u64", "ulong"),
    element("ulonglong", "unsigned long long", "u64", "ulonglong"),
    element("int8", "int8_t", "i8", "schar"),
    element("int16", "int16_t", "i16", "short"),
    element("int32", "int32_t", "i32", "int"),
    element("int64", "int64_t", "i64", "long"),
    element("uint8", "uint8_t", "u8", "uchar"),
    element("uint16", "uint16_t", "u16", "ushort"),
    element("uint32", "uint32_t", "u32", "uint"),
    element("uint64", "uint64_t", "u64", "ulong"),
    element("size", "size_t", "usize", "ulong"),
    element("ptrdiff", "ptrdiff_t", "isize", "long"),
    element("complexd", "double _Complex", "Complex<f64>", "complexd"),
    element("complexf", "float _Complex", "Complex<f32>", "complexf"),
];

/// The element type of that name.
pub fn named(name: &str) -> Option<&'static ElementType> {
    ELEMENTS.iter().find(|element| element.name == name)
}

/// Rust spelling of a C parameter or result type.
///
/// # Panics
///
/// When the table uses a type that this function does not know.
pub fn rust_type(ctype: &str) -> String {
    if let Some(target) = ctype.strip_suffix('*') {
        let target = target.trim_end();
        let (pointer, target) = match target.strip_prefix("const ") {
            Some(target) => ("*const", target),
            None => ("*mut", target),
        };
        return format!("{pointer} {}", rust_type(target));
    }
    if let Some(element) = ELEMENTS.iter().find(|element| element.c == ctype) {
        return element.rust.into();
    }
    match ctype {
        "void" => "c_void",
        "real16_t" => "Quad",
        "void *" => "*mut c_void",
        "uint64_t (*)(void)" => r#"Option<unsafe extern "C" fn() -> u64>"#,
        "shmem_req_h" => "calls::request::RequestHandle",
        "shmemx_ct_t" => "calls::counting::CountingEvent",
        "shmemx_pcntr_t" => "calls::performance_counters::AllCounters",
        "shmem_ctx_t" => "ContextHandle",
        "shmem_team_t" => "TeamHandle",
        "shmem_team_config_t" => "calls::team::Config",
        "shmem_ctx_session_config_t" => "calls::session::SessionConfig",
        other => panic!("the C type `{other}` has no Rust spelling in the routine table"),
    }
    .into()
}

#[cfg(test)]
mod tests {
    use super::rust_type;

    #[test]
    fn pointers_keep_their_constness() {
        assert_eq!(rust_type("const long double *"), "*const LongDouble");
        assert_eq!(rust_type("void *"), "*mut c_void");
        assert_eq!(rust_type("void **"), "*mut *mut c_void");
        assert_eq!(rust_type("unsigned long long"), "u64");
    }
}
