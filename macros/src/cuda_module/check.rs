//! Checks the Rust signatures against the images: here as far as the tokens of the types decide it, the rest by assertions
//! that the compiler evaluates.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use std::sync::Arc;
use syn::{Error, Path, Type};

use super::describe::{class_mismatch, count_mismatch, describe, help, words};
use super::entry::Name;
use super::image::{Facts, Kernel as ImageKernel, Parameter as ImageParameter};
use super::parameter::{Kind, Parameter, mentions, plain, show, substitute};
use super::parse::Kernel;
use super::source::Headers;
use super::spans;

/// An image that was read, and its name in messages.
pub(super) struct Known {
    pub(super) shown: String,
    pub(super) facts: Arc<Facts>,
    /// The headers of a CUDA C++ source.
    pub(super) headers: Headers,
}

/// The result of the checks of one kernel.
#[derive(Default)]
pub(super) struct Verdict {
    pub(super) problems: Vec<Error>,
    /// `const` items that the compiler evaluates: sizes and alignments of known types.
    pub(super) assertions: Vec<TokenStream>,
    /// The same for types that the caller chooses: expressions in the method's body.
    pub(super) open: Vec<TokenStream>,
}

/// Compares one kernel with every image.
pub(super) fn check(kernel: &Kernel, images: &[Known], path: &Path) -> Verdict {
    let mut verdict = Verdict::default();
    for (name, types) in kernel.entry.instances() {
        let mut first = None;
        for image in images {
            let Some(known) = &image.facts.kernels else { continue };
            let Some(found) = known.iter().find(|k| k.name == name.text) else {
                verdict.problems.push(unknown(name, image, known));
                continue;
            };
            if let Some(difference) = super::describe::disagreement(first, (image, found)) {
                verdict.problems.push(Error::new(name.span, difference));
                continue;
            }
            first = first.or(Some((image, found)));
            let check = Check { kernel, name, types: &types, image, found, path };
            check.parameters(&mut verdict);
            super::bounds::check(kernel, image, found, &mut verdict.problems);
        }
    }
    verdict
}

fn unknown(name: &Name, image: &Known, known: &[ImageKernel]) -> Error {
    let names: Vec<&str> = known.iter().map(|k| k.name.as_str()).collect();
    let mut message = format!("{} has no kernel `{}`", image.shown, name.text);
    let nearest = cuda_ptx::nearest(&name.text, &names);
    if nearest.is_empty() {
        let list: Vec<String> = names.iter().take(8).map(|n| format!("`{n}`")).collect();
        let more = if names.len() > list.len() { ", .." } else { "" };
        message.push_str(&match list.len() {
            0 => "; it has none at all".to_string(),
            _ => format!("; it has {}{more}", list.join(", ")),
        });
    } else {
        let list: Vec<String> = nearest.iter().map(|n| format!("`{n}`")).collect();
        message.push_str(&format!("\nhelp: did you mean {}?", list.join(" or ")));
        if nearest.iter().any(|n| n.starts_with("_Z") || n.starts_with("_R")) {
            message.push_str(
                "\nhelp: a mangled name is given as `#[entry(\"_Z..\")]`, or the kernel declared `extern \"C\"` in its source",
            );
        }
    }
    Error::new(name.span, message)
}

/// The check of one kernel against one entry of one image.
struct Check<'a> {
    kernel: &'a Kernel,
    name: &'a Name,
    types: &'a [(Ident, TokenStream)],
    image: &'a Known,
    found: &'a ImageKernel,
    path: &'a Path,
}

impl Check<'_> {
    fn parameters(&self, verdict: &mut Verdict) {
        let Some(wanted) = &self.found.parameters else { return };
        let given: usize = self.kernel.parameters.iter().map(|p| p.kind.count()).sum();
        // A closure that captures nothing is no parameter.
        let is_open = |parameter: &Parameter| matches!(parameter.kind, Kind::Open(_));
        let open = self.kernel.parameters.iter().filter(|p| is_open(p)).count();
        let without = open != 0 && given == wanted.len() + open;
        if given != wanted.len() && !without {
            let message =
                count_mismatch(&self.name.text, &self.kernel.parameters, wanted, self.image, self.found);
            verdict.problems.push(Error::new(self.kernel.ident.span(), message));
            return;
        }
        let mut place = 0;
        for parameter in &self.kernel.parameters {
            if without && is_open(parameter) {
                let line = self.found.line.map_or(String::new(), |line| format!("line {line} of "));
                let (name, ident, image) = (&self.name.text, &parameter.ident, &self.image.shown);
                let what = format!("kernel `{name}` has no parameter for `{ident}` ({line}{image})");
                let ty = parameter.ty.to_token_stream();
                let help = "\nhelp: pass a closure that captures nothing";
                verdict.open.push(self.expectation(parameter, (&ty, &show(&ty)), &what, (0, 0), help));
                continue;
            }
            let count = parameter.kind.count();
            let own = wanted.get(place..place + count).unwrap_or_default();
            self.parameter(place, parameter, own, verdict);
            place += count;
        }
    }

    fn parameter(
        &self,
        place: usize,
        parameter: &Parameter,
        wanted: &[ImageParameter],
        verdict: &mut Verdict,
    ) {
        let mut fixed = |place: usize, wanted: &ImageParameter, what: &str, size: usize, float: bool| {
            let problem = self.difference(place, &parameter.ident, wanted, what, size, float);
            verdict.problems.extend(problem.map(|difference| self.refuse(parameter, &difference, wanted)));
        };
        match (&parameter.kind, wanted) {
            (Kind::Slice { element, .. } | Kind::Rows { element, .. }, [address, second]) => {
                // Both parameters of a slice are wrong together: the kernel does not take a slice here.
                let (of, word, help) = match &parameter.kind {
                    Kind::Slice { .. } => (
                        format!("`[{}]`", show(element)),
                        "length",
                        "a slice is passed as an address and a length",
                    ),
                    _ => (
                        format!("`{}`", show(&parameter.ty)),
                        "pitch",
                        "rows are passed as an address and a pitch",
                    ),
                };
                let half = |place, wanted: &ImageParameter, word: &str| {
                    self.difference(place, &parameter.ident, wanted, &format!("the {word} of {of}"), 8, false)
                };
                let problem = half(place, address, "address").or_else(|| half(place + 1, second, word));
                verdict.problems.extend(problem.map(|difference| {
                    let both = format!("{} and {}", words(address), words(second));
                    let help =
                        format!("{help}, both of 8 bytes; the kernel takes {both}: declare them separately");
                    Error::new_spanned(&parameter.ty, format!("{difference}\nhelp: {help}"))
                }));
            }
            (Kind::Pointer { .. }, [address]) => {
                fixed(place, address, &format!("`{}`", show(&parameter.ty)), 8, false);
            }
            (Kind::Object { ty, .. }, [handle]) => {
                let ty = substitute(ty.to_token_stream(), self.types);
                let handle_type = object_handle(&ty, self.path);
                let shown = show(&ty);
                let assertion = self.assertion_shown(place, parameter, (&handle_type, &shown), handle);
                verdict.assertions.push(quote! { const _: () = #assertion; });
            }
            (Kind::Value(ty), [value]) => {
                let ty = substitute(ty.to_token_stream(), self.types);
                match syn::parse2::<Type>(ty.clone()).ok().and_then(|ty| primitive(&ty)) {
                    Some((size, float)) if !is_bytes(value) => {
                        fixed(place, value, &format!("`{}`", show(&ty)), size, float);
                    }
                    _ => {
                        let assertion = self.assertion(place, parameter, &ty, value);
                        verdict.assertions.push(quote! { const _: () = #assertion; });
                    }
                }
            }
            (Kind::Open(ty), [value]) => {
                let ty = ty.to_token_stream();
                verdict.open.push(self.assertion(place, parameter, &ty, value));
            }
            _ => {}
        }
    }

    /// An error at the type; for a generic kernel, at the entry name for these types.
    fn refuse(&self, parameter: &Parameter, difference: &str, wanted: &ImageParameter) -> Error {
        let generic = |(name, _): &&(Ident, TokenStream)| mentions(parameter.ty.to_token_stream(), name);
        match self.types.iter().find(generic) {
            Some((name, ty)) => {
                let help =
                    format!("this is the name for `{name} = {}`: give that of the kernel for it", show(ty));
                Error::new(self.name.span, format!("{difference}\nhelp: {help}"))
            }
            None => Error::new_spanned(&parameter.ty, format!("{difference}{}", help(wanted))),
        }
    }

    /// The mismatch of a type whose size is known here.
    fn difference(
        &self,
        place: usize,
        ident: &Ident,
        wanted: &ImageParameter,
        what: &str,
        size: usize,
        float: bool,
    ) -> Option<String> {
        let difference = if wanted.size != size {
            format!("{what} has {}", super::describe::bytes(size))
        } else {
            class_mismatch(wanted, what, float)?
        };
        let start = self.start(place, ident, wanted);
        Some(format!("{start}; {difference}"))
    }

    fn start(&self, place: usize, ident: &Ident, wanted: &ImageParameter) -> String {
        let description = describe(wanted, &self.image.shown);
        format!("kernel `{}` parameter {place} `{ident}` is {description}", self.name.text)
    }

    /// The assertion for a type that only the compiler knows.
    fn assertion(
        &self,
        place: usize,
        parameter: &Parameter,
        ty: &TokenStream,
        wanted: &ImageParameter,
    ) -> TokenStream {
        self.assertion_shown(place, parameter, (ty, &show(ty)), wanted)
    }

    /// The same for a type that is displayed under another name.
    fn assertion_shown(
        &self,
        place: usize,
        parameter: &Parameter,
        ty: (&TokenStream, &str),
        wanted: &ImageParameter,
    ) -> TokenStream {
        let what = self.start(place, &parameter.ident, wanted);
        // Only for parameters declared as bytes: other types are aligned to their size.
        let align = wanted.text.filter(|text| text.array).map_or(0, |text| text.align);
        self.expectation(parameter, ty, &what, (wanted.size, align), &help(wanted))
    }

    fn expectation(
        &self,
        parameter: &Parameter,
        (ty, given): (&TokenStream, &str),
        what: &str,
        (size, align): (usize, usize),
        help: &str,
    ) -> TokenStream {
        let path = self.path;
        // Over the type as it was written: in a generic kernel `ty` is another.
        let (first, last) = spans::ends(&parameter.ty);
        spans::call(
            &quote!(#path::__private::typed::expect),
            ty,
            (first, last),
            quote!(#what, #given, #size, #align, #help),
        )
    }
}

/// The value that the kernel receives for an object of this type.
pub(super) fn object_handle(ty: &TokenStream, path: &Path) -> TokenStream {
    let (first, last) = spans::ends(ty);
    let (open, close) =
        (spans::at(first, &quote!(<)), spans::at(last, &quote!(as #path::launch::KernelObject>::Handle)));
    quote!(#open #ty #close)
}

/// Declared as an array of bytes, as structs are.
fn is_bytes(parameter: &ImageParameter) -> bool {
    parameter.text.is_some_and(|text| text.array)
}

/// Size, and whether it is a float, of the numbers of the language.
pub(super) fn primitive(ty: &Type) -> Option<(usize, bool)> {
    let Type::Path(path) = plain(ty) else { return None };
    let name = path.path.get_ident()?.to_string();
    Some(match name.as_str() {
        "u8" | "i8" => (1, false),
        "u16" | "i16" => (2, false),
        "u32" | "i32" => (4, false),
        "u64" | "i64" | "usize" | "isize" => (8, false),
        "u128" | "i128" => (16, false),
        "f32" => (4, true),
        "f64" => (8, true),
        _ => return None,
    })
}
