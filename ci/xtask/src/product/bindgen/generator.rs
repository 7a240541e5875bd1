//! Runs bindgen.

use bindgen::callbacks::{IntKind, ParseCallbacks};
use bindgen::{Builder, EnumVariation, Formatter, RustEdition, RustTarget};

use super::libraries::{BoundLibrary, Macro};
use crate::{Outcome, top};

/// The text of `src/bindings.rs`.
pub(super) fn bindings(library: &'static BoundLibrary) -> Outcome<String> {
    let includes: String = library.headers.iter().map(|header| format!("#include <{header}>\n")).collect();
    let mut builder = Builder::default()
        .header_contents("all.h", &includes)
        .clang_args(library.flags())
        .parse_callbacks(Box::new(Macros(library)))
        .use_core()
        .rust_edition(RustEdition::Edition2024)
        .rust_target(RustTarget::stable(85, 0).map_err(|error| error.to_string())?)
        .default_enum_style(EnumVariation::Consts)
        .prepend_enum_name(false)
        .generate_comments(false)
        .layout_tests(true)
        .derive_default(false)
        .derive_debug(false)
        .allowlist_recursively(true)
        // The same file serves every processor: what differs between them is only ever pointed to.
        .blocklist_type(".*pthread.*")
        .raw_line("pub type pthread_mutex_t = ::core::ffi::c_void;")
        .raw_line("pub type pthread_cond_t = ::core::ffi::c_void;")
        .formatter(Formatter::Rustfmt)
        .rustfmt_configuration_file(Some(top().join("rustfmt.toml")));
    for name in library.types {
        builder = builder.allowlist_type(name);
    }
    for name in library.functions {
        builder = builder.allowlist_function(name);
    }
    for name in library.constants {
        builder = builder.allowlist_var(name);
    }
    for name in library.opaque {
        builder = builder.opaque_type(name);
    }
    builder.generate().map(|bindings| bindings.to_string()).map_err(|error| error.to_string())
}

/// Gives macros the type that the library uses them with.
#[derive(Debug)]
struct Macros(&'static BoundLibrary);

impl ParseCallbacks for Macros {
    fn int_macro(&self, name: &str, _value: i64) -> Option<IntKind> {
        let rule = self.0.macros.iter().find(|(prefix, _)| name.starts_with(prefix));
        rule.map(|(_, kind)| match kind {
            Macro::Int => IntKind::Int,
            Macro::U32 => IntKind::U32,
            Macro::U64 => IntKind::U64,
        })
    }
}
