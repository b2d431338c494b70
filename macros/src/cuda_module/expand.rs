//! The module that is written: images, `load`, `Module`, `Functions`.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt;
use syn::{AttrStyle, Attribute, Error, Ident, Path};

use super::arguments::ImagePath;
use super::check::{Known, Verdict, check, object_handle};
use super::entry::Entry;
use super::image::Code;
use super::parameter::{Kind, show, substitute};
use super::parse::{Kernel, Module, cfgs};
use super::{element, method, spans, variable};

pub(super) fn module(
    module: &Module,
    path: &Path,
    found: &[&ImagePath],
    known: &[Known],
    problems: Vec<Error>,
) -> TokenStream {
    let Module { attributes, visibility, ident, others, kernels, variables } = module;
    let (inner, outer): (Vec<&Attribute>, Vec<&Attribute>) =
        attributes.iter().partition(|a| matches!(a.style, AttrStyle::Inner(_)));
    let problems = problems.into_iter().map(Error::into_compile_error);
    let mut parts = Vec::new();
    for kernel in kernels {
        let verdict = check(kernel, known, path);
        parts.push(method::method(kernel, module, path, &verdict.open));
        parts.push(element::element(kernel, path));
        parts.push(findings(kernel, verdict));
        parts.push(safe_types(kernel, path));
    }
    parts.extend(variables.iter().map(|v| variable::variable(v, known, path)));
    let images = found.iter().zip(known).map(|(image, known)| artifact(image, known, path));
    let structs = structs(module, path);
    quote! {
        #(#outer)*
        #visibility mod #ident {
            #(#inner)*
            #(#others)*
            #(#problems)*
            static __IMAGES: &[#path::__private::typed::Artifact] = &[#(#images),*];
            #structs
            #(#parts)*
        }
    }
}

/// The errors and assertions of the check, under the kernel's own `cfg`.
fn findings(kernel: &Kernel, verdict: Verdict) -> TokenStream {
    let Verdict { problems, assertions, .. } = verdict;
    if problems.is_empty() && assertions.is_empty() {
        return TokenStream::new();
    }
    let cfgs = cfgs(&kernel.attributes);
    let errors = problems.into_iter().map(Error::into_compile_error);
    quote! {
        #(#cfgs const _: () = { #errors };)*
        #(#cfgs #assertions)*
    }
}

/// Checks for the compiler that no parameter of a `safe fn` is or contains an address.
fn safe_types(kernel: &Kernel, path: &Path) -> TokenStream {
    if !kernel.safe {
        return TokenStream::new();
    }
    let cfgs = cfgs(&kernel.attributes);
    let without_address = quote!(#path::__private::typed::without_address);
    let mut assertions = TokenStream::new();
    for (_, types) in kernel.entry.instances() {
        for parameter in &kernel.parameters {
            let Some(ty) = parameter.kind.data() else { continue };
            let assertion = spans::call(
                &without_address,
                &substitute(ty.to_token_stream(), &types),
                spans::ends(ty),
                quote!(),
            );
            assertions.extend(quote!(#cfgs const _: () = #assertion;));
        }
    }
    assertions
}

fn artifact(image: &ImagePath, known: &Known, path: &Path) -> TokenStream {
    let (shown, included) = (&image.shown, &image.included);
    if let Some(source) = known.facts.source {
        // A macro, because only `cuda-launch` knows whether its feature for this kind of file is on.
        let artifact = Ident::new(source.artifact_macro(), image.span);
        let headers = known.headers.iter().map(|(name, file)| {
            let file = file.to_string_lossy();
            quote!((#name, #file))
        });
        return quote!(#path::#artifact!(#shown, ::core::include_bytes!(#included), [#(#headers),*]));
    }
    let codes = known.facts.codes.iter().map(|&Code { machine, arch }| {
        let (sm, suffix) = arch.map_or((0, '\0'), |arch| (arch.sm, arch.suffix.unwrap_or('\0')));
        quote!(#path::__private::typed::Code { machine: #machine, sm: #sm, suffix: #suffix })
    });
    quote! {
        #path::__private::typed::Artifact {
            path: #shown,
            bytes: ::core::include_bytes!(#included),
            codes: &[#(#codes),*],
            source: ::core::option::Option::None,
        }
    }
}

/// The fields of `Functions` that a kernel has: its name, or one for each type.
pub(super) fn fields(kernel: &Kernel) -> Vec<Ident> {
    match &kernel.entry {
        Entry::One(_) => vec![kernel.ident.clone()],
        Entry::PerType { choices, .. } => {
            let field = |key: String| {
                let words = key.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
                let key = words.collect::<Vec<_>>().join("_").to_lowercase();
                format_ident!("{}_{key}", kernel.ident.unraw())
            };
            choices.iter().map(|choice| field(show(&choice.key))).collect()
        }
    }
}

fn structs(module: &Module, path: &Path) -> TokenStream {
    let (mut fields_, mut lookups) = (Vec::new(), Vec::new());
    for kernel in &module.kernels {
        let cfgs = cfgs(&kernel.attributes);
        for (field, (name, types)) in fields(kernel).iter().zip(kernel.entry.instances()) {
            let text = &name.text;
            let doc = format!("Kernel `{text}`.");
            fields_.push(quote!(#cfgs #[doc = #doc] pub #field: #path::CudaFunction));
            let list = list_type(kernel, &types, path);
            lookups.push(quote!(#cfgs #field: #path::__private::typed::#list(&module, #text)?));
        }
    }
    let constructors = constructors(module, &lookups, path);
    quote! {
        /// The loaded kernels, ready to be launched; handles are cheap to clone.
        #[allow(dead_code)]
        #[derive(Clone, Debug)]
        pub struct Module {
            functions: ::std::sync::Arc<Functions>,
            module: #path::CudaModule,
        }

        /// A handle of each kernel: its attributes, limits and occupancy, and launches by `cuda_launch!`.
        #[allow(dead_code)]
        #[derive(Clone, Debug)]
        pub struct Functions {
            #(#fields_,)*
        }

        #constructors

        #[allow(dead_code)]
        impl Module {
            /// A handle of each kernel, for inspection.
            pub fn functions(&self) -> &Functions {
                &self.functions
            }

            /// The image that was loaded, by the path that the attribute names.
            pub fn origin(&self) -> &str {
                self.module.origin()
            }

            /// The module in the form that `cuda_launch!` accepts.
            pub fn as_module(&self) -> &#path::CudaModule {
                &self.module
            }
        }
    }
}

fn constructors(module: &Module, lookups: &[TokenStream], path: &Path) -> TokenStream {
    let sizes = module.variables.iter().map(|v| variable::load_check(v, path));
    quote! {
        /// Loads the kernels from the best image of this module that the device can run.
        ///
        /// Each kernel is looked up and its parameters are compared with the driver's, once, by this call.
        ///
        /// # Errors
        /// None of the images is for this device, the driver rejects it, or a kernel differs from what it was when this
        /// program was compiled.
        #[allow(dead_code)]
        pub fn load(context: &#path::CudaContext) -> ::core::result::Result<Module, #path::Error> {
            let module = #path::__private::typed::load(context, __IMAGES)?;
            // SAFETY: 1: the module is one of the files that this attribute names, or was compiled from one; the
            // declarations were compared with the descriptions in those files. That kernels and variables match the
            // declarations otherwise is guaranteed by the author of the `unsafe extern` block.
            unsafe { from_module(module) }
        }

        #path::__cuda_module_load_async!();

        /// Takes the kernels from a module that was loaded in another way: by a library, from a file, with options.
        ///
        /// # Errors
        /// A kernel is missing, or its parameters differ.
        ///
        /// # Safety
        /// 1. The kernels and variables of `module` are those that were declared here: of the same meaning, not only of the
        ///    same name and sizes.
        #[allow(dead_code)]
        pub unsafe fn from_module(module: #path::CudaModule) -> ::core::result::Result<Module, #path::Error> {
            #(#sizes)*
            let functions = Functions { #(#lookups,)* };
            ::core::result::Result::Ok(Module { functions: ::std::sync::Arc::new(functions), module })
        }
    }
}

/// The look-up of a kernel, with the type of its argument list unless the caller chooses the types.
fn list_type(kernel: &Kernel, types: &[(Ident, TokenStream)], path: &Path) -> TokenStream {
    let launch = quote!(#path::__private);
    let mut list = quote!(#launch::Nil);
    for parameter in kernel.parameters.iter().rev() {
        let of = |ty: &syn::Type| substitute(ty.to_token_stream(), types);
        let (first, last) = spans::ends(&parameter.ty);
        let at = |tokens: TokenStream| spans::at(first, &tokens);
        let memory = |kind: TokenStream, element: &syn::Type, mutable: bool| {
            let (open, element) = (at(quote!(#launch::#kind<'static,)), of(element));
            let close = spans::at(last, &quote!(, #mutable>));
            quote!(#open #element #close)
        };
        let item = match &parameter.kind {
            Kind::Slice { element, mutable } => memory(quote!(Slice), element, *mutable),
            Kind::Rows { element, mutable, .. } => memory(quote!(Rows), element, *mutable),
            Kind::Pointer { element, mutable } => memory(quote!(Pointer), element, *mutable),
            Kind::Object { ty, mutable } => {
                let (object, handle) = (at(quote!(#launch::Object<'static,)), object_handle(&of(ty), path));
                let close = spans::at(last, &quote!(, #mutable>));
                quote!(#object #handle #close)
            }
            Kind::Value(ty) => {
                let (value, ty, close) =
                    (at(quote!(#launch::Value<'static,)), of(ty), spans::at(last, &quote!(>)));
                quote!(#value #ty #close)
            }
            Kind::Open(_) => return quote!(function),
        };
        list = quote!(#launch::Cons<#item, #list>);
    }
    quote!(checked_function::<#list>)
}
