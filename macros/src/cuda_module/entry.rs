//! `#[entry(..)]`: the name in the image; for a generic kernel one for each type.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Error, Generics, Ident, Lit, LitStr, Result, Token, Type};

pub(super) enum Entry {
    /// One kernel.
    One(Name),
    /// One kernel for each choice of element types.
    PerType { parameters: Vec<Ident>, choices: Vec<Choice> },
}

/// A name in the image and its span.
#[derive(Clone)]
pub(super) struct Name {
    pub(super) text: String,
    pub(super) span: Span,
}

/// `f32 = "scale_f32"`, `(f32, u32) = "gather_f32_u32"`.
pub(super) struct Choice {
    /// The key as written: a type, or a tuple of types.
    pub(super) key: Type,
    /// One type for each type parameter.
    pub(super) types: Vec<Type>,
    pub(super) name: Name,
}

impl Entry {
    pub(super) fn parse(special: &[Attribute], ident: &Ident, generics: &Generics) -> Result<Self> {
        let mut found = special.iter().filter(|a| a.path().is_ident("entry"));
        let own = Name { text: ident.unraw().to_string(), span: ident.span() };
        let Some(attribute) = found.next() else { return Ok(Self::One(own)) };
        if let Some(second) = found.next() {
            return Err(Error::new(second.path().span(), "a kernel has one `#[entry(..)]`"));
        }
        match attribute.parse_args()? {
            Arguments::Name(name) => Ok(Self::One(Name { text: name.value(), span: name.span() })),
            Arguments::Choices(pairs) => Self::per_type(attribute, pairs, generics),
        }
    }

    fn per_type(
        attribute: &Attribute,
        pairs: Punctuated<Pair, Token![,]>,
        generics: &Generics,
    ) -> Result<Self> {
        let parameters: Vec<Ident> = generics.type_params().map(|p| p.ident.clone()).collect();
        if parameters.is_empty() || parameters.len() != generics.params.len() {
            let message = "`#[entry(f32 = \"..\")]` is for a kernel that is generic over types alone: `fn scale<T>(..)`";
            return Err(Error::new(attribute.path().span(), message));
        }
        let mut choices: Vec<Choice> = Vec::new();
        for Pair { key, name } in pairs {
            let types: Vec<Type> = match &key {
                Type::Tuple(tuple) if parameters.len() != 1 => tuple.elems.iter().cloned().collect(),
                _ => vec![key.clone()],
            };
            if types.len() != parameters.len() {
                let message = format!(
                    "the kernel has {} type parameters, so a name is that of as many types: `(A, B, ..) = \"name\"`",
                    parameters.len()
                );
                return Err(Error::new_spanned(&key, message));
            }
            if choices
                .iter()
                .any(|c| c.key.to_token_stream().to_string() == key.to_token_stream().to_string())
            {
                return Err(Error::new_spanned(&key, "this type has an entry already"));
            }
            let name = Name { text: name.value(), span: name.span() };
            choices.push(Choice { key, types, name });
        }
        Ok(Self::PerType { parameters, choices })
    }

    /// Each name in the image, with the types of its parameters.
    pub(super) fn instances(&self) -> Vec<(&Name, Vec<(Ident, TokenStream)>)> {
        match self {
            Self::One(name) => vec![(name, Vec::new())],
            Self::PerType { parameters, choices } => {
                let types = |choice: &Choice| {
                    let pairs = parameters.iter().zip(&choice.types);
                    pairs.map(|(name, ty)| (name.clone(), ty.to_token_stream())).collect()
                };
                choices.iter().map(|choice| (&choice.name, types(choice))).collect()
            }
        }
    }
}

enum Arguments {
    Name(LitStr),
    Choices(Punctuated<Pair, Token![,]>),
}

struct Pair {
    key: Type,
    name: LitStr,
}

impl Parse for Arguments {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        if input.is_empty() {
            return Err(Error::new(
                input.span(),
                "`#[entry(\"name\")]` says the name in the image, in quotes",
            ));
        }
        if input.peek(LitStr) {
            input.parse().map(Self::Name)
        } else if input.peek(Lit) {
            Err(input.error("`#[entry(\"name\")]` says the name in the image, in quotes"))
        } else {
            Punctuated::parse_terminated(input).map(Self::Choices)
        }
    }
}

impl Parse for Pair {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let key = input.parse()?;
        input.parse::<Token![=]>()?;
        Ok(Self { key, name: input.parse()? })
    }
}
