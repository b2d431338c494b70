//! The method of one kernel, as an invocation of a macro of `cuda-launch`. That macro decides which methods there are and
//! how they look, because it knows the crate's features.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::{BinOp, Expr, ExprBinary, GenericParam, Ident, Path};

use super::asynchronous::{self, Owned};
use super::check::primitive;
use super::element::trait_name;
use super::entry::Entry;
use super::parameter::{Kind, Parameter};
use super::parse::{Kernel, Module};
use super::spans;

pub(super) fn method(kernel: &Kernel, module: &Module, path: &Path, open: &[TokenStream]) -> TokenStream {
    let Kernel { attributes, visibility, ident, options, .. } = kernel;
    let unsafety = (!kernel.safe).then(|| quote!(unsafe));
    let names = asynchronous::names(ident);
    let taken = asynchronous::taken(kernel, module);
    let (generics, bounds) = generics(kernel, path);
    let owned = Owned::of(kernel, &generics, path);
    let parameters =
        kernel.parameters.iter().zip(&owned.types).map(|(p, owned)| argument(p, owned.as_ref(), path));
    // With the macro's hygiene, so that they cannot be confused with parameters of the kernel.
    let [this, stream, config] =
        ["self", "stream", "config"].map(|name| Ident::new(name, Span::mixed_site()));
    let function = match &kernel.entry {
        Entry::One(_) => quote!(&#this.functions.#ident),
        Entry::PerType { parameters, .. } => {
            let (key, element) = (key(parameters), trait_name(kernel));
            quote!(<#key as #element>::__function(&#this.functions))
        }
    };
    let checks = checks(kernel, path, &config);
    let fields = fields(kernel, path);
    let attributes_ = &options.attributes;
    let docs = docs(kernel);
    quote! {
        #path::__cuda_module_kernel! {
            { #(#attributes)* #(#[doc = #docs])* } [#visibility] [#unsafety] [#ident #(#names)* { #taken }]
            [#(#generics),*] [#(#bounds),*]
            [#this #stream #config]
            [#(#parameters)*]
            [#owned]
            { #function }
            { #(const { #open };)* #checks }
            [#fields] [#(#attributes_),*]
        }
    }
}

/// `(name kind [type of the kernel's] [types of the methods': for now, borrowed for later, owned])`
fn argument(parameter: &Parameter, owned: Option<&Ident>, path: &Path) -> TokenStream {
    let ident = &parameter.ident;
    // With the span of the type as written: the compiler points there if the caller passes something else.
    let (first, last) = spans::ends(&parameter.ty);
    let bound = |open: TokenStream, inside: TokenStream| {
        let (open, close) = (spans::at(first, &open), spans::at(last, &quote!(>)));
        quote!(#open #inside #close)
    };
    let value = |ty: TokenStream| {
        let argument = bound(quote!(impl #path::launch::KernelArgument<), ty.clone());
        quote!((#ident value [#ty] [#argument] [#argument + 'launch] [#argument + 'static]))
    };
    match &parameter.kind {
        Kind::Slice { element, mutable } | Kind::Pointer { element, mutable } => {
            let kind = match (&parameter.kind, *mutable) {
                (Kind::Slice { .. }, false) => quote!(slice),
                (Kind::Slice { .. }, true) => quote!(slice_mut),
                (_, false) => quote!(ptr),
                (_, true) => quote!(ptr_mut),
            };
            let (reference, of) = if *mutable {
                (quote!(mut), quote!(DeviceSliceMut))
            } else {
                (quote!(), quote!(DeviceSlice))
            };
            let memory = bound(quote!(impl #path::#of<Element =), element.to_token_stream());
            let any = quote!((#memory + ?::core::marker::Sized));
            quote!((#ident #kind [#element] [& #reference #any] [&'launch #reference #any] [#owned]))
        }
        Kind::Rows { ty, element, mutable } => {
            let (kind, reference) =
                if *mutable { (quote!(pitched_mut), quote!(mut)) } else { (quote!(pitched), quote!()) };
            quote!((#ident #kind [#element] [& #reference #ty] [&'launch #reference #ty] [#owned]))
        }
        Kind::Object { ty, mutable } => {
            let (kind, reference) =
                if *mutable { (quote!(object_mut), quote!(mut)) } else { (quote!(object), quote!()) };
            quote!((#ident #kind [#ty] [& #reference #ty] [&'launch #reference #ty] [#owned]))
        }
        Kind::Value(ty) => value(ty.to_token_stream()),
        Kind::Open(ty) => quote!((#ident open [#ty] [#ty] [#ty] [#ty])),
    }
}

/// The trait bound of the argument for a slice or an address.
pub(super) fn memory(element: &syn::Type, mutable: bool, path: &Path) -> TokenStream {
    if mutable {
        quote!(#path::DeviceSliceMut<Element = #element>)
    } else {
        quote!(#path::DeviceSlice<Element = #element>)
    }
}

/// The parameters of the method and their bounds.
fn generics(kernel: &Kernel, path: &Path) -> (Vec<TokenStream>, Vec<TokenStream>) {
    let parameters = kernel.generics.params.iter().filter(|p| !matches!(p, GenericParam::Lifetime(_)));
    let written = kernel.generics.where_clause.iter().flat_map(|clause| &clause.predicates);
    let mut bounds: Vec<TokenStream> = written.map(ToTokens::to_token_stream).collect();
    if let Entry::PerType { parameters, .. } = &kernel.entry {
        let (key, element) = (key(parameters), trait_name(kernel));
        bounds.push(quote!(#key: #element));
        // For a single type parameter, the trait requires it.
        let several = parameters.iter().filter(|_| parameters.len() > 1);
        bounds.extend(several.map(|p| quote!(#p: #path::DeviceCopy)));
    }
    for parameter in &kernel.parameters {
        // For a type that only the compiler knows: the rest of the generated code assumes it, so that the error is
        // reported once.
        let memory = match &parameter.kind {
            Kind::Slice { element, .. } | Kind::Rows { element, .. } | Kind::Pointer { element, .. } => {
                Some(element)
            }
            _ => None,
        };
        if let (Some(element), Entry::One(_)) = (memory, &kernel.entry)
            && primitive(element).is_none()
        {
            let plain = spans::at(spans::ends(element).1, &quote!(: #path::DeviceCopy));
            bounds.push(quote!(#element #plain));
        }
        if let Kind::Object { ty, mutable } = &parameter.kind {
            // Assumed, too.
            let of = if *mutable { quote!(KernelObjectMut) } else { quote!(KernelObject) };
            let object = spans::at(spans::ends(ty).1, &quote!(: #path::launch::#of));
            bounds.push(quote!(#ty #object));
        }
        if let Kind::Open(ty) = &parameter.kind {
            // Plain, and no borrow: the device cannot follow an address of the host.
            bounds.push(quote!(#ty: ::core::marker::Copy + 'static));
        }
    }
    (parameters.map(ToTokens::to_token_stream).collect(), bounds)
}

/// The type that the trait of a generic kernel is implemented for.
fn key(parameters: &[Ident]) -> TokenStream {
    match parameters {
        [one] => one.to_token_stream(),
        several => quote!((#(#several),*)),
    }
}

fn fields(kernel: &Kernel, path: &Path) -> TokenStream {
    let cluster = kernel
        .options
        .cluster
        .map(|([x, y, z], _)| quote!(#path::Attribute::cluster_dimension((#x, #y, #z)),));
    let cooperative = kernel.options.cooperative.then(|| quote!(#path::Attribute::cooperative(true),));
    quote!(#cluster #cooperative)
}

fn checks(kernel: &Kernel, path: &Path, config: &Ident) -> TokenStream {
    let typed = quote!(#path::__private::typed);
    let name = kernel.ident.unraw().to_string();
    let contract = &kernel.options.contract;
    let bounds = kernel.options.bounds.as_ref().map(|bounds| {
        let max = bounds.max_threads;
        quote!(#typed::max_threads(#name, #config, #max)?;)
    });
    let block = contract.block.as_ref().map(|e| quote!(#typed::block(#name, #config, #e)?;));
    let grid = contract.grid.as_ref().map(|e| quote!(#typed::grid(#name, #config, #e)?;));
    let shared = contract.dynamic_shared.as_ref().map(|e| match e {
        Expr::Range(_) => quote!(#typed::dynamic_shared(#name, #config, &(#e))?;),
        _ => {
            let bytes = Ident::new("bytes", Span::mixed_site());
            quote!(let #bytes: u32 = #e; #typed::dynamic_shared(#name, #config, &(#bytes ..= #bytes))?;)
        }
    });
    let requires = contract.requires.iter().map(|e| requirement(&name, e, &typed));
    let slices = (!contract.requires.is_empty()).then(|| {
        quote! { #[allow(unused_imports)] use #path::DeviceSlice as _; }
    });
    let apart = apart(&name, &kernel.parameters, &typed);
    quote!(#bounds #block #grid #shared { #slices #(#requires)* } #apart)
}

/// The check that no object reaches memory that is written through another argument, or the reverse.
fn apart(name: &str, parameters: &[Parameter], typed: &TokenStream) -> Option<TokenStream> {
    if !parameters.iter().any(|parameter| matches!(parameter.kind, Kind::Object { .. })) {
        return None;
    }
    let arguments = parameters.iter().filter_map(|Parameter { ident, kind, .. }| {
        let (of, mutable) = match kind {
            Kind::Slice { mutable, .. } | Kind::Pointer { mutable, .. } => (quote!(of_slice), mutable),
            Kind::Rows { mutable, .. } => (quote!(of_rows), mutable),
            Kind::Object { mutable, .. } => (quote!(of_object), mutable),
            _ => return None,
        };
        let name = ident.unraw().to_string();
        Some(quote!(#typed::#of(#name, &*#ident, #mutable)))
    });
    Some(quote!(#typed::apart(#name, &[#(#arguments),*])?;))
}

/// A condition; if a comparison fails, the error shows both sides.
fn requirement(name: &str, condition: &Expr, typed: &TokenStream) -> TokenStream {
    let text = quote!(::core::stringify!(#condition));
    match condition {
        Expr::Binary(ExprBinary { left, op, right, .. }) if is_comparison(op) => {
            let [l, r] = ["left", "right"].map(|name| Ident::new(name, Span::mixed_site()));
            quote! {
                match (&(#left), &(#right)) {
                    (#l, #r) => if !(*#l #op *#r) {
                        return ::core::result::Result::Err(#typed::requirement(#name, #text, &[#l, #r]));
                    }
                }
            }
        }
        condition => {
            let holds = Ident::new("holds", Span::mixed_site());
            quote! {
                let #holds: bool = #condition;
                if !#holds {
                    return ::core::result::Result::Err(#typed::requirement(#name, #text, &[]));
                }
            }
        }
    }
}

fn is_comparison(op: &BinOp) -> bool {
    matches!(op, BinOp::Eq(_) | BinOp::Ne(_) | BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_))
}

/// What the caller of a kernel that is not `safe` owes: the duties of `cuda_launch!`, by their numbers.
pub(super) const DUTIES: [&str; 6] = [
    "1. Types: the image was compared as far as it tells them; what it does not tell is right.",
    "2. Bounds: the kernel accesses only memory that it is passed, or that its module owns, and only inside it.",
    "3. Lifetime: memory from elsewhere, such as behind an address, stays allocated until the kernel is done.",
    "4. Aliasing: until then nothing else writes what it reads, or uses what it writes; buffers and views are ordered for you.",
    "5. Validity: it writes only valid values of a buffer's element type.",
    "6. Termination: it terminates, and its blocks do not wait for each other unless the launch is cooperative.",
];

/// The generated documentation.
fn docs(kernel: &Kernel) -> Vec<String> {
    let own = kernel.attributes.iter().any(|a| a.path().is_ident("doc"));
    let mut lines = Vec::new();
    if !own {
        lines.push(format!(" Launches the kernel `{}`.", kernel.ident));
    }
    lines.push(String::new());
    lines.push(" # Errors".into());
    lines.push(" The dimensions, a context or the launch contract do not match, or any error returned by the driver; nothing was launched.".into());
    if !kernel.safe {
        lines.push(String::new());
        lines.push(" # Safety".into());
        lines.extend(DUTIES.iter().map(|line| format!(" {line}")));
    }
    lines
}
