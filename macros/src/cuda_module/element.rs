//! The sealed trait of a generic kernel: the types that it was compiled for.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::{Ident, Path};

use super::entry::Entry;
use super::expand::fields;
use super::parse::{Kernel, cfgs};

/// `ScaleElement` for the kernel `scale`.
pub(super) fn trait_name(kernel: &Kernel) -> Ident {
    let name = kernel.ident.unraw().to_string();
    let camel: String = name
        .split('_')
        .flat_map(|word| {
            let mut letters = word.chars();
            letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect::<Vec<_>>()
        })
        .collect();
    Ident::new(&format!("{camel}Element"), kernel.ident.span())
}

pub(super) fn element(kernel: &Kernel, path: &Path) -> TokenStream {
    let Entry::PerType { parameters, choices } = &kernel.entry else { return TokenStream::new() };
    let cfgs = cfgs(&kernel.attributes);
    let visibility = &kernel.visibility;
    let (name, sealed) = (trait_name(kernel), format_ident!("__sealed_{}", kernel.ident.unraw()));
    let one = if parameters.len() == 1 { "types" } else { "combinations of types" };
    let doc = format!("The {one} that the kernel `{}` was compiled for.", kernel.ident);
    let list: Vec<String> = choices.iter().map(|c| format!("`{}`", super::parameter::show(&c.key))).collect();
    let message = format!("the kernel `{}` was not compiled for `{{Self}}`", kernel.ident);
    let note = format!("it was for {}", list.join(", "));
    let implementations = choices.iter().zip(fields(kernel)).map(|(choice, field)| {
        let key = &choice.key;
        quote! {
            #cfgs
            impl #sealed::Sealed for #key {}
            #cfgs
            impl #name for #key {
                #[inline(always)]
                fn __function(functions: &Functions) -> &#path::CudaFunction {
                    &functions.#field
                }
            }
        }
    });
    // The bounds for every element. For tuples they are required where the kernel is launched.
    let plain = (parameters.len() == 1).then(|| quote!(+ #path::DeviceCopy));
    quote! {
        #cfgs
        mod #sealed {
            pub trait Sealed {}
        }
        #cfgs
        #[doc = #doc]
        #[allow(dead_code)]
        #[diagnostic::on_unimplemented(message = #message, label = "no kernel for this type", note = #note)]
        #visibility trait #name: #sealed::Sealed #plain {
            #[doc(hidden)]
            fn __function(functions: &Functions) -> &#path::CudaFunction;
        }
        #(#implementations)*
    }
}
