//! The attributes that say how a kernel is launched.

use proc_macro2::Span;
use syn::punctuated::Punctuated;
use syn::{Attribute, Error, Expr, Ident, LitInt, Result, Token};

use super::contract::Contract;

/// Attributes that belong to the macro; all others stay on the method.
pub(super) const OWN: &[&str] =
    &["entry", "cluster_launch", "cooperative_launch", "launch_bounds", "attributes", "launch_contract"];

#[derive(Default)]
pub(super) struct Options {
    /// `#[cluster_launch(x, y, z)]`
    pub(super) cluster: Option<([u32; 3], Span)>,
    /// `#[cooperative_launch]`
    pub(super) cooperative: bool,
    /// `#[launch_bounds(max, min)]`
    pub(super) bounds: Option<Bounds>,
    /// `#[attributes(..)]`
    pub(super) attributes: Vec<Expr>,
    /// `#[launch_contract(..)]`
    pub(super) contract: Contract,
}

pub(super) struct Bounds {
    pub(super) max_threads: u32,
    pub(super) min_blocks: Option<u32>,
    /// The spans of the numbers.
    pub(super) spans: [Span; 2],
}

impl Options {
    pub(super) fn parse(special: &[Attribute]) -> Result<Self> {
        let mut options = Self::default();
        let mut seen: Vec<&Ident> = Vec::new();
        for attribute in special {
            let Some(name) = attribute.path().get_ident() else { continue };
            if seen.contains(&name) && name != "entry" {
                return Err(Error::new(name.span(), format!("`#[{name}]` is given twice")));
            }
            seen.push(name);
            match name.to_string().as_str() {
                "cluster_launch" => options.cluster = Some(cluster(attribute)?),
                "cooperative_launch" => {
                    if attribute.meta.require_path_only().is_err() {
                        let message = "`#[cooperative_launch]` takes nothing in parentheses";
                        return Err(Error::new_spanned(&attribute.meta, message));
                    }
                    options.cooperative = true;
                }
                "launch_bounds" => options.bounds = Some(bounds(attribute)?),
                "attributes" => {
                    let list = attribute.parse_args_with(Punctuated::<Expr, Token![,]>::parse_terminated)?;
                    options.attributes = list.into_iter().collect();
                }
                "launch_contract" => options.contract = attribute.parse_args()?,
                _ => {}
            }
        }
        Ok(options)
    }
}

/// The numbers in an attribute's parentheses, none of them 0, with their spans; for anything else, the error shows
/// `usage`.
fn numbers(attribute: &Attribute, most: usize, usage: &str) -> Result<Vec<(u32, Span)>> {
    let parser = Punctuated::<LitInt, Token![,]>::parse_terminated;
    let list = attribute.parse_args_with(parser).map_err(|e| Error::new(e.span(), usage))?;
    if list.is_empty() || list.len() > most {
        return Err(Error::new_spanned(&attribute.meta, usage));
    }
    let number = |literal: &LitInt| match literal.base10_parse() {
        Ok(number) if number > 0 => Ok((number, literal.span())),
        _ => Err(Error::new(literal.span(), usage)),
    };
    list.iter().map(number).collect()
}

fn cluster(attribute: &Attribute) -> Result<([u32; 3], Span)> {
    let usage = "give one to three dimensions, in blocks: `#[cluster_launch(4, 1, 1)]`";
    let mut shape = [1; 3];
    let list = numbers(attribute, 3, usage)?;
    let span = list.first().map_or_else(Span::call_site, |(_, span)| *span);
    shape.iter_mut().zip(list).for_each(|(dimension, (given, _))| *dimension = given);
    Ok((shape, span))
}

fn bounds(attribute: &Attribute) -> Result<Bounds> {
    let usage =
        "maximum threads per block, then minimum blocks per multiprocessor: `#[launch_bounds(256, 4)]`";
    let list = numbers(attribute, 2, usage)?;
    match list[..] {
        [(max_threads, span)] => Ok(Bounds { max_threads, min_blocks: None, spans: [span, span] }),
        [(max_threads, span), (min, of_min)] => {
            Ok(Bounds { max_threads, min_blocks: Some(min), spans: [span, of_min] })
        }
        _ => Err(Error::new_spanned(&attribute.meta, usage)),
    }
}

/// The error for an attribute that is nearly one of these: the compiler would only report that it does not exist.
pub(super) fn misspelt(attributes: &[Attribute]) -> Result<()> {
    for attribute in attributes {
        let Some(name) = attribute.path().get_ident() else { continue };
        let text = name.to_string();
        if KNOWN.contains(&text.as_str()) {
            continue;
        }
        // Attributes of other macros must not match, so the beginning must be the same.
        let nearest = cuda_ptx::nearest(&text, OWN).into_iter().find(|n| n.get(..3) == text.get(..3));
        if let Some(nearest) = nearest {
            let message = format!("there is no attribute `{text}`\nhelp: did you mean `#[{nearest}]`?");
            return Err(Error::new(name.span(), message));
        }
    }
    Ok(())
}

/// Attributes of the language that are allowed on a method.
const KNOWN: &[&str] = &[
    "allow",
    "cfg",
    "cfg_attr",
    "deny",
    "deprecated",
    "doc",
    "expect",
    "forbid",
    "inline",
    "must_use",
    "warn",
];
