//! `#[launch_contract(..)]`: the conditions of a launch.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::token::Paren;
use syn::{Error, Expr, Ident, Result, Token, parenthesized};

#[derive(Default)]
pub(super) struct Contract {
    /// The block, exactly.
    pub(super) block: Option<Expr>,
    /// The grid, exactly.
    pub(super) grid: Option<Expr>,
    /// Bytes of dynamic shared memory: a number, or a range.
    pub(super) dynamic_shared: Option<Expr>,
    /// Conditions on the arguments.
    pub(super) requires: Vec<Expr>,
}

impl Contract {
    /// Whether a condition contains `name.len()` or a similar call anywhere.
    pub(super) fn speaks_of_length(&self, name: &Ident) -> bool {
        self.requires.iter().any(|condition| has_length_of(condition.to_token_stream(), name))
    }
}

fn has_length_of(tokens: TokenStream, name: &Ident) -> bool {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is_dot = |token: &TokenTree| matches!(token, TokenTree::Punct(dot) if dot.as_char() == '.');
    let asks = tokens.windows(3).enumerate().any(|(at, three)| {
        let [TokenTree::Ident(of), dot, TokenTree::Ident(method)] = three else { return false };
        // `a.x.len()` is the length of another value; in `0..x.len()` the dots are a range.
        let dots = tokens.iter().take(at).rev().take_while(|token| is_dot(token)).count();
        let is_length = ["len", "is_empty", "width", "height"].iter().any(|name| method == name);
        of.unraw() == name.unraw() && is_dot(dot) && is_length && dots != 1
    });
    asks || tokens
        .into_iter()
        .any(|token| matches!(token, TokenTree::Group(group) if has_length_of(group.stream(), name)))
}

impl Parse for Contract {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut contract = Self::default();
        while !input.is_empty() {
            let key = input.call(Ident::parse_any)?;
            input.parse::<Token![=]>()?;
            let place = match key.to_string().as_str() {
                "block" => &mut contract.block,
                "grid" => &mut contract.grid,
                "dynamic_shared" => &mut contract.dynamic_shared,
                "requires" => {
                    if !input.peek(Paren) {
                        let message =
                            "conditions stand in parentheses: `requires = (a.len() == b.len(), ..)`";
                        return Err(input.error(message));
                    }
                    let list;
                    parenthesized!(list in input);
                    contract.requires.extend(Punctuated::<Expr, Token![,]>::parse_terminated(&list)?);
                    if !input.is_empty() {
                        input.parse::<Token![,]>()?;
                    }
                    continue;
                }
                _ => {
                    let message = "a launch contract knows `block = (x, y, z)`, `grid = (x, y, z)`, `dynamic_shared = bytes` (or a \
                                   range) and `requires = (condition, ..)`";
                    return Err(Error::new(key.span(), message));
                }
            };
            if place.replace(input.parse()?).is_some() {
                return Err(Error::new(key.span(), format!("`{key}` is given twice")));
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(contract)
    }
}
