//! What the asynchronous methods of a kernel need besides: their names, and the types of buffers that they own.
//!
//! Whether there are such methods is a feature of the crate, which decides it in its own macro.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt;
use syn::{Error, Ident};

use super::parameter::{Kind, Parameter};
use super::parse::{Kernel, Module, cfgs};

/// Borrowed, owned.
pub(super) fn names(kernel: &Ident) -> [Ident; 2] {
    ["async", "async_owned"].map(|suffix| format_ident!("{}_{suffix}", kernel.unraw(), span = kernel.span()))
}

/// The error for a method that something else in the module is named like; nothing if there is none.
///
/// Items under a `cfg` may never be there together: of these the compiler will tell.
pub(super) fn taken(kernel: &Kernel, module: &Module) -> TokenStream {
    let kernels = module.kernels.iter().map(|other| (&other.ident, &other.attributes, "kernel"));
    let variables = module.variables.iter().map(|other| (&other.ident, &other.attributes, "variable"));
    let mut others = kernels.chain(variables).filter(|(_, attributes, _)| cfgs(attributes).is_empty());
    let own = names(&kernel.ident);
    let same = others.find(|(other, ..)| own.iter().any(|name| other.unraw() == *name));
    let Some((other, _, what)) = same else { return TokenStream::new() };
    let message = format!(
        "the kernel `{}` has a method `{}` for asynchronous launches (feature `async` of cuda-launch), which is also the name of \
         this {what}\nhelp: give this {what} another name, and say `#[entry(\"{}\")]`",
        kernel.ident,
        other.unraw(),
        other.unraw(),
    );
    Error::new(other.span(), message).into_compile_error()
}

/// What an owned launch keeps and gives back: its slices, each of a type that the caller chooses.
pub(super) struct Owned {
    /// Of each parameter, if it is a slice.
    pub(super) types: Vec<Option<Ident>>,
    values: Vec<Ident>,
}

impl Owned {
    pub(super) fn of(kernel: &Kernel) -> Self {
        let mut taken: Vec<Ident> = Vec::new();
        let types = kernel.parameters.iter().map(|parameter| {
            let is_slice = matches!(parameter.kind, Kind::Slice { .. });
            is_slice.then(|| {
                let name = type_name(parameter, &taken);
                taken.push(name.clone());
                name
            })
        });
        let types: Vec<_> = types.collect();
        let slices = kernel.parameters.iter().filter(|p| matches!(p.kind, Kind::Slice { .. }));
        Self { types, values: slices.map(|p| p.ident.clone()).collect() }
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

/// `[type] [value]`: a tuple, or what there is one of.
impl ToTokens for Owned {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let (types, values) = (self.types.iter().flatten(), &self.values);
        tokens.extend(match &**values {
            [one] => quote!([#(#types)*] [#one]),
            _ => quote!([(#(#types),*)] [(#(#values),*)]),
        });
    }
}
