//! The attributes that say how a kernel is launched.

use proc_macro2::Span;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
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
    pub(super) span: Span,
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
                "cluster_launch" => options.cluster = Some((cluster(attribute)?, name.span())),
                "cooperative_launch" => {
                    attribute.meta.require_path_only()?;
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

struct Numbers(Vec<u32>);

impl Parse for Numbers {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let list = Punctuated::<LitInt, Token![,]>::parse_terminated(input)?;
        list.iter().map(LitInt::base10_parse).collect::<Result<_>>().map(Self)
    }
}

fn cluster(attribute: &Attribute) -> Result<[u32; 3]> {
    let Numbers(list) = attribute.parse_args()?;
    let mut shape = [1; 3];
    if list.is_empty() || list.len() > 3 || list.contains(&0) {
        let message = "a cluster has one to three dimensions, in blocks: `#[cluster_launch(4, 1, 1)]`";
        return Err(Error::new(attribute.path().span(), message));
    }
    shape.iter_mut().zip(list).for_each(|(dimension, given)| *dimension = given);
    Ok(shape)
}

fn bounds(attribute: &Attribute) -> Result<Bounds> {
    let Numbers(list) = attribute.parse_args()?;
    match list[..] {
        [max_threads] if max_threads > 0 => {
            Ok(Bounds { max_threads, min_blocks: None, span: attribute.path().span() })
        }
        [max_threads, min] if max_threads > 0 => {
            Ok(Bounds { max_threads, min_blocks: Some(min), span: attribute.path().span() })
        }
        _ => {
            let message =
                "most threads of a block, then least blocks of a multiprocessor: `#[launch_bounds(256, 4)]`";
            Err(Error::new(attribute.path().span(), message))
        }
    }
}
