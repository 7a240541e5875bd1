//! `#[derive(Coded)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Error, Fields, Result};

const INTEGERS: [&str; 10] = ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "isize", "usize"];

pub(crate) fn derive(item: &DeriveInput) -> Result<TokenStream> {
    let name = &item.ident;
    let Data::Enum(data) = &item.data else {
        return Err(Error::new_spanned(name, "only an enum has codes; a struct can be `oxshmem::Plain`"));
    };
    if let Some(variant) = data.variants.iter().find(|variant| !matches!(variant.fields, Fields::Unit)) {
        return Err(Error::new_spanned(variant, "a variant with fields is more than its integer"));
    }
    let words = crate::reprs(&item.attrs)?;
    let Some(code) = words.iter().find(|word| INTEGERS.iter().any(|integer| word == integer)) else {
        return Err(Error::new_spanned(name, "the integer by which the enum travels is not named: `#[repr(u8)]`, say"));
    };
    let variants = data.variants.iter().map(|variant| &variant.ident);
    Ok(quote! {
        impl ::oxshmem::Coded for #name {
            type Code = #code;

            fn code(self) -> #code {
                self as #code
            }

            fn of_code(code: #code) -> ::core::option::Option<Self> {
                #(if code == Self::#variants as #code {
                    return ::core::option::Option::Some(Self::#variants);
                })*
                ::core::option::Option::None
            }
        }
    })
}
