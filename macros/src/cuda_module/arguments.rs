//! The arguments of `#[cuda_module(..)]`: images, then options.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use std::path::{Path, PathBuf};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Error, Expr, Ident, Lit, Macro, Result, Token, parse_quote};

const USAGE: &str = "`#[cuda_module]` takes the file that has the kernels, relative to the crate's folder: \
                     `#[cuda_module(\"kernels/vecadd.ptx\")]`, or `concat!(env!(\"OUT_DIR\"), \"/vecadd.ptx\")` for one that a build \
                     script makes; several files are separated by commas";

pub(super) struct Arguments {
    pub(super) images: Vec<ImagePath>,
    /// The path of the crate `cuda_launch`.
    pub(super) crate_path: syn::Path,
}

/// One image: the path as written, and the path of the file.
pub(super) struct ImagePath {
    /// For messages: as written, evaluated.
    pub(super) shown: String,
    /// The path, with the crate's folder prepended if it is relative.
    pub(super) full: PathBuf,
    /// For `include_bytes!`.
    pub(super) included: TokenStream,
    pub(super) span: Span,
}

impl Default for Arguments {
    fn default() -> Self {
        Self { images: Vec::new(), crate_path: parse_quote!(::cuda_launch) }
    }
}

impl Parse for Arguments {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let Self { mut images, mut crate_path } = Self::default();
        while !input.is_empty() {
            if input.peek(Ident::peek_any) && input.peek2(Token![=]) {
                let option: Ident = input.call(Ident::parse_any)?;
                input.parse::<Token![=]>()?;
                if option != "crate" {
                    let message = "the only option of `#[cuda_module]` is `crate = path::to::cuda_launch`";
                    return Err(Error::new(option.span(), message));
                }
                crate_path = input.call(syn::Path::parse_mod_style)?;
            } else {
                let image = ImagePath::new(input.parse()?)?;
                if images.iter().any(|other| other.full == image.full) {
                    return Err(Error::new(image.span, format!("`{}` is given twice", image.shown)));
                }
                images.push(image);
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        if images.is_empty() { Err(Error::new(input.span(), USAGE)) } else { Ok(Self { images, crate_path }) }
    }
}

impl ImagePath {
    fn new(expression: Expr) -> Result<Self> {
        let shown = evaluate(&expression)?;
        let full = match std::env::var_os("CARGO_MANIFEST_DIR") {
            Some(folder) => Path::new(&folder).join(&shown),
            None => std::env::current_dir().unwrap_or_default().join(&shown),
        };
        // An absolute path is included as written, so that the compiler notices when an environment variable in it
        // changes.
        let included = if Path::new(&shown).is_absolute() {
            expression.to_token_stream()
        } else {
            let path = full.to_string_lossy();
            quote!(#path)
        };
        Ok(Self { shown, full, included, span: expression.span() })
    }
}

/// The value of an expression of literals, `concat!` and `env!`.
fn evaluate(expression: &Expr) -> Result<String> {
    match expression {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Str(text) => Ok(text.value()),
            _ => Err(Error::new_spanned(literal, USAGE)),
        },
        Expr::Group(group) => evaluate(&group.expr),
        Expr::Paren(paren) => evaluate(&paren.expr),
        Expr::Macro(call) => evaluate_macro(&call.mac),
        _ => Err(Error::new_spanned(expression, USAGE)),
    }
}

fn evaluate_macro(call: &Macro) -> Result<String> {
    let arguments = call.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated)?;
    let name = call.path.segments.last().map(|s| s.ident.to_string()).unwrap_or_default();
    match (name.as_str(), arguments.first()) {
        ("concat", _) => arguments.iter().map(evaluate).collect(),
        ("env", Some(variable)) => {
            let name = evaluate(variable)?;
            std::env::var(&name).map_err(|_| {
                let why = if name == "OUT_DIR" {
                    "cargo sets it for crates that have a build script"
                } else {
                    "a build script sets it with `cargo::rustc-env=NAME=value`"
                };
                let message =
                    format!("the environment variable `{name}` is not set while this crate compiles; {why}");
                Error::new(variable.span(), message)
            })
        }
        _ => Err(Error::new(call.path.span(), USAGE)),
    }
}
