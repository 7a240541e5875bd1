//! The derives of [oxshmem](https://docs.rs/oxshmem), which has them under its own name: `#[derive(oxshmem::Plain)]` and
//! `#[derive(oxshmem::Coded)]`.

#![forbid(unsafe_code)]

mod coded;
mod plain;

use proc_macro::TokenStream;
use syn::{Attribute, DeriveInput, Ident, parse_macro_input};

/// Makes a struct plain data, so that it can live in symmetric memory and travel.
///
/// The compiler refuses a struct that is neither `repr(C)` nor `repr(transparent)`, that has a field that is not plain, or that
/// has padding: name the padding, and it is a field. `Plain` types are `Copy`, so derive `Clone` and `Copy` as well.
#[proc_macro_derive(Plain)]
pub fn plain(item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as DeriveInput);
    plain::derive(&item).unwrap_or_else(|error| error.into_compile_error()).into()
}

/// Lets a field-less enum travel as its integer, in an `oxshmem::Code`, whose reading is checked.
///
/// The enum names the integer by a `repr`.
#[proc_macro_derive(Coded)]
pub fn coded(item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as DeriveInput);
    coded::derive(&item).unwrap_or_else(|error| error.into_compile_error()).into()
}

/// The words in the item's `repr` attributes.
fn reprs(attributes: &[Attribute]) -> syn::Result<Vec<Ident>> {
    let mut words = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        attribute.parse_nested_meta(|meta| {
            words.extend(meta.path.get_ident().cloned());
            if meta.input.peek(syn::token::Paren) {
                let number;
                syn::parenthesized!(number in meta.input);
                number.parse::<syn::LitInt>()?;
            }
            Ok(())
        })?;
    }
    Ok(words)
}
