//! `#[derive(Plain)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Error, Result};

pub(crate) fn derive(item: &DeriveInput) -> Result<TokenStream> {
    let name = &item.ident;
    let Data::Struct(data) = &item.data else {
        return Err(Error::new_spanned(name, "only a struct is plain; an enum without fields can be `oxshmem::Coded`"));
    };
    if !item.generics.params.is_empty() {
        return Err(Error::new_spanned(
            &item.generics,
            "a plain struct has no parameters: its padding depends on them",
        ));
    }
    let words = crate::reprs(&item.attrs)?;
    if !words.iter().any(|word| word == "C" || word == "transparent") {
        return Err(Error::new_spanned(name, "a plain struct is `#[repr(C)]` or `#[repr(transparent)]`"));
    }
    let types: Vec<_> = data.fields.iter().map(|field| &field.ty).collect();
    let members: Vec<_> = data.fields.members().collect();
    Ok(quote! {
        const _: () = {
            const fn size<T: ::oxshmem::Plain>() -> usize {
                ::core::mem::size_of::<T>()
            }
            ::core::assert!(::core::mem::size_of::<#name>() == 0 #(+ size::<#types>())*, "the struct has padding: make it a field");

            // And these are the fields, of these types: an attribute below the derive could have changed them.
            #[allow(dead_code)]
            fn fields(value: #name) -> (#(#types,)*) {
                let #name { #(#members: _,)* } = value;
                (#(value.#members,)*)
            }
        };

        // SAFETY: each field is plain and there is nothing between them: the compiler has checked both above.
        unsafe impl ::oxshmem::Resident for #name {}
        // SAFETY: each field is plain, and a struct adds no promise of its own.
        unsafe impl ::oxshmem::Plain for #name {}
    })
}
