//! `static` items: variables of the image.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::{Error, Ident, Path, Type};

use super::check::Known;
use super::describe::bytes;
use super::parameter::{plain, show};
use super::parse::{Variable, cfgs};
use super::spans;

impl Variable {
    fn name(&self) -> (String, Span) {
        match &self.entry {
            Some(name) => (name.value(), name.span()),
            None => (self.ident.unraw().to_string(), self.ident.span()),
        }
    }

    /// The element: of an array its own.
    fn element(&self) -> &Type {
        match plain(&self.ty) {
            Type::Array(array) => &array.elem,
            ty => ty,
        }
    }
}

pub(super) fn variable(variable: &Variable, known: &[Known], path: &Path) -> TokenStream {
    let (findings, methods) = (findings(variable, known, path), methods(variable, path));
    quote!(#findings #methods)
}

/// The variable against every image that lists its variables.
fn findings(variable: &Variable, known: &[Known], path: &Path) -> TokenStream {
    let cfgs = cfgs(&variable.attributes);
    let (name, span) = variable.name();
    let mut found = TokenStream::new();
    for image in known {
        let Some(list) = &image.facts.variables else { continue };
        let Some(declared) = list.iter().find(|v| v.name == name) else {
            let names: Vec<&str> = list.iter().map(|v| v.name.as_str()).collect();
            let nearest = cuda_ptx::nearest(&name, &names);
            let help = if nearest.is_empty() {
                let list: Vec<String> = names.iter().take(8).map(|n| format!("`{n}`")).collect();
                if list.is_empty() { "; it has none".into() } else { format!("; it has {}", list.join(", ")) }
            } else {
                format!("\nhelp: did you mean `{}`?", nearest.join("` or `"))
            };
            let message = format!("{} has no variable `{name}`{help}", image.shown);
            let error = Error::new(span, message).into_compile_error();
            found.extend(quote!(#cfgs const _: () = { #error };));
            continue;
        };
        let place = format!("line {} of {}", declared.line, image.shown);
        if declared.constant == variable.mutable {
            let (space, write) =
                if declared.constant { (".const", "static") } else { (".global", "static mut") };
            let message = format!(
                "variable `{name}` is `{space}` ({place})\nhelp: declare it as `{write} {}`",
                variable.ident
            );
            let error = Error::new(span, message).into_compile_error();
            found.extend(quote!(#cfgs const _: () = { #error };));
        }
        let size = usize::try_from(declared.size).unwrap_or(usize::MAX);
        let (ty, given) = (&variable.ty, show(&variable.ty));
        let what = format!("variable `{name}` is {} ({place})", bytes(size));
        let expect = quote!(#path::__private::typed::expect);
        let help = format!("\nhelp: declare a type of {}", bytes(size));
        let assertion = spans::call(&expect, ty, spans::ends(ty), quote!(#what, #given, #size, 0, #help));
        found.extend(quote!(#cfgs const _: () = #assertion;));
    }
    found
}

/// The same comparison with the size that the driver reports, in `from_module`.
pub(super) fn load_check(variable: &Variable, path: &Path) -> TokenStream {
    let (cfgs, (name, _), ty) = (cfgs(&variable.attributes), variable.name(), &variable.ty);
    quote!(#cfgs { #path::__private::typed::check_variable::<#ty>(&module, #name)?; })
}

fn methods(variable: &Variable, path: &Path) -> TokenStream {
    let Variable { attributes, visibility, ident, mutable, ty, .. } = variable;
    let (name, _) = variable.name();
    let element = variable.element();
    let lower = ident.unraw().to_string().to_lowercase();
    let handle = Ident::new(&lower, ident.span());
    let (get, set) = (format_ident!("get_{lower}"), format_ident!("set_{lower}"));
    let (of, method) = if *mutable { ("ModuleGlobal", "global") } else { ("ModuleConstant", "constant") };
    let (of, method) = (format_ident!("{of}"), format_ident!("{method}"));
    let cfgs = cfgs(attributes);
    let about = format!(" A handle to the variable `{name}`; there can be one at a time.");
    let (about_get, about_set) = (
        format!(" The value of the variable `{name}`, after the work submitted to `stream` so far."),
        format!(
            " Sets the variable `{name}`, after the work submitted to `stream` so far; returns when the value has been written."
        ),
    );
    quote! {
        #cfgs
        #[allow(dead_code)]
        impl Module {
            #(#attributes)*
            #[doc = ""]
            #[doc = #about]
            ///
            /// # Errors
            /// Another handle of it is alive, or any error returned by the driver.
            #visibility fn #handle(&self) -> ::core::result::Result<#path::module::#of<#element>, #path::Error> {
                self.module.#method::<#element>(#name)
            }

            #[doc = #about_get]
            ///
            /// # Errors
            /// A handle of it is alive, the stream belongs to another context, or any error returned by the driver.
            #visibility fn #get(&self, stream: &#path::CudaStream) -> ::core::result::Result<#ty, #path::Error> {
                #path::__private::typed::get(&self.module.#method::<#ty>(#name)?.view(), stream)
            }

            #[doc = #about_set]
            ///
            /// # Errors
            /// A handle of it is alive, the stream belongs to another context, or any error returned by the driver.
            #visibility fn #set(&self, stream: &#path::CudaStream, value: #ty) -> ::core::result::Result<(), #path::Error> {
                self.module.#method::<#ty>(#name)?.copy_from_host(stream, ::core::slice::from_ref(&value))
            }
        }
    }
}
