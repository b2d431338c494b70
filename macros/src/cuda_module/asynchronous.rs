//! What the asynchronous methods of a kernel need in addition: their names, and the types of the buffers that they
//! own.
//!
//! Whether these methods exist depends on a feature of `cuda-launch`, so its own macro decides it.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt;
use syn::{Error, Ident, Path};

use super::method::memory;
use super::parameter::{Kind, Parameter};
use super::parse::{Kernel, Module, cfgs};

/// Borrowed, owned.
pub(super) fn names(kernel: &Ident) -> [Ident; 2] {
    ["async", "async_owned"].map(|suffix| format_ident!("{}_{suffix}", kernel.unraw(), span = kernel.span()))
}

/// The error if another item in the module has the name of a method; empty if there is none.
///
/// Items under a `cfg` may exclude each other; conflicts between them are left to the compiler.
pub(super) fn taken(kernel: &Kernel, module: &Module) -> TokenStream {
    let kernels = module.kernels.iter().map(|other| (&other.ident, &other.attributes, "kernel"));
    let variables = module.variables.iter().map(|other| (&other.ident, &other.attributes, "variable"));
    let mut others = kernels.chain(variables).filter(|(_, attributes, _)| cfgs(attributes).is_empty());
    let own = names(&kernel.ident);
    let same = others.find(|(other, ..)| own.iter().any(|name| other.unraw() == *name));
    let Some((other, _, what)) = same else { return TokenStream::new() };
    let message = format!(
        "the kernel `{}` has a method `{}` for asynchronous launches (feature `async` of cuda-launch), which is also the name of \
         this {what}\nhelp: give this {what} another name here; `#[entry(\"..\")]` says what it is called in the image",
        kernel.ident,
        other.unraw(),
    );
    Error::new(other.span(), message).into_compile_error()
}

/// The memory and objects that an owned launch keeps and returns, each of a type that the caller chooses.
pub(super) struct Owned {
    /// The type for each parameter, if it is owned.
    pub(super) types: Vec<Option<Ident>>,
    values: Vec<Ident>,
    /// The generic parameters of the kernel, then the types.
    generics: Vec<TokenStream>,
}

impl Owned {
    pub(super) fn of(kernel: &Kernel, generics: &[TokenStream], path: &Path) -> Self {
        let (mut taken, mut generics, mut values) = (Vec::new(), generics.to_vec(), Vec::new());
        let types = kernel.parameters.iter().map(|parameter| {
            let memory = match &parameter.kind {
                Kind::Slice { element, mutable } | Kind::Pointer { element, mutable } => {
                    memory(element, *mutable, path)
                }
                Kind::Rows { ty, mutable, .. } => {
                    let held = if *mutable { quote!(HeldObjectMut) } else { quote!(HeldObject) };
                    quote!(#path::__private::typed::#held<#ty>)
                }
                Kind::Object { ty, mutable: false } => quote!(#path::__private::typed::HeldObject<#ty>),
                Kind::Object { ty, mutable: true } => quote!(#path::__private::typed::HeldObjectMut<#ty>),
                _ => return None,
            };
            let name = type_name(parameter, &taken);
            generics.push(quote!(#name: #memory + ::core::marker::Send));
            values.push(parameter.ident.clone());
            taken.push(name.clone());
            Some(name)
        });
        Self { types: types.collect(), values, generics }
    }
}

/// `input_x` becomes `BufferInputX`: unlike the type of any element.
fn type_name(parameter: &Parameter, taken: &[Ident]) -> Ident {
    let name = parameter.ident.unraw().to_string();
    let mut camel = String::from("Buffer");
    for word in name.split('_') {
        let mut letters = word.chars();
        camel.extend(letters.next().into_iter().flat_map(char::to_uppercase));
        camel.push_str(letters.as_str());
    }
    while taken.iter().any(|other| *other == camel) {
        camel.push('_');
    }
    Ident::new(&camel, Span::call_site())
}

/// `[generic parameters] [type] [value]`: a tuple, or the only element itself.
impl ToTokens for Owned {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let (generics, types, values) = (&self.generics, self.types.iter().flatten(), &self.values);
        tokens.extend(match &**values {
            [one] => quote!([#(#generics),*] [#(#types)*] [#one]),
            _ => quote!([#(#generics),*] [(#(#types),*)] [(#(#values),*)]),
        });
    }
}
