//! The kinds of parameters (a slice, an address, a value), and types that cannot be parameters.

use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Error, GenericArgument, PathArguments, PointerMutability, Result, Type, TypePath};

pub(super) struct Parameter {
    pub(super) ident: Ident,
    pub(super) kind: Kind,
    /// As written.
    pub(super) ty: Type,
}

#[derive(Clone)]
pub(super) enum Kind {
    /// `&[T]`, `&mut [T]`: address and length.
    Slice { element: Type, mutable: bool },
    /// `*const T`, `*mut T`: the address alone.
    Pointer { element: Type, mutable: bool },
    /// `&PitchedBuffer<T>`, `&mut PitchedBuffer<T>`: address and pitch.
    Rows { ty: Box<Type>, element: Type, mutable: bool },
    /// `&T`, `&mut T` of a texture, a surface or a tensor map: the handle.
    Object { ty: Type, mutable: bool },
    /// A value, whole.
    Value(Type),
    /// A value of a type that the caller chooses.
    Open(Type),
}

impl Kind {
    /// `open` are the type parameters that the caller chooses.
    pub(super) fn of(ty: &Type, open: &[&Ident]) -> Result<Self> {
        match plain(ty) {
            Type::Reference(reference) => {
                let mutable = reference.mutability.is_some();
                match plain(&reference.elem) {
                    Type::Slice(slice) => Ok(Self::Slice { element: (*slice.elem).clone(), mutable }),
                    rows @ Type::Path(path) if last(path) == "PitchedBuffer" => match argument(path) {
                        Some(element) => {
                            Ok(Self::Rows { ty: rows.clone().into(), element: element.clone(), mutable })
                        }
                        None => {
                            Err(Error::new_spanned(ty, "say what its elements are: `&PitchedBuffer<f32>`"))
                        }
                    },
                    // Only the compiler knows whether it is a device object.
                    elem @ Type::Path(path) if may_be_object(path, open) => {
                        Ok(Self::Object { ty: elem.clone(), mutable })
                    }
                    elem => Err(Error::new_spanned(ty, reference_help(elem, mutable))),
                }
            }
            Type::Ptr(pointer) => {
                let mutable = matches!(pointer.mutability, PointerMutability::Mut(_));
                match plain(&pointer.elem) {
                    Type::Slice(_) => Err(Error::new_spanned(
                        ty,
                        "the length of a slice is a separate parameter: write `&[T]` for both, or `*const T` and `len: u64`",
                    )),
                    _ => Ok(Self::Pointer { element: (*pointer.elem).clone(), mutable }),
                }
            }
            _ if open.iter().any(|name| mentions(ty.to_token_stream(), name)) => Ok(Self::Open(ty.clone())),
            Type::Path(path) => match refused(path) {
                Some(help) => Err(Error::new_spanned(ty, help)),
                None => Ok(Self::Value(ty.clone())),
            },
            Type::Array(_) | Type::Macro(_) => Ok(Self::Value(ty.clone())),
            other => Err(Error::new_spanned(ty, no_parameter(other))),
        }
    }

    /// The number of kernel parameters that it corresponds to.
    pub(super) fn count(&self) -> usize {
        match self {
            Self::Slice { .. } | Self::Rows { .. } => 2,
            Self::Value(Type::Path(path)) if last(path) == "PhantomData" => 0,
            _ => 1,
        }
    }

    pub(super) fn is_written(&self) -> bool {
        matches!(
            self,
            Self::Slice { mutable: true, .. }
                | Self::Rows { mutable: true, .. }
                | Self::Pointer { mutable: true, .. }
                | Self::Object { mutable: true, .. }
        )
    }

    /// Whether it is an address that is passed without the length of its memory.
    pub(super) fn is_address(&self) -> bool {
        matches!(self, Self::Pointer { .. } | Self::Rows { .. })
    }

    /// The type, of the value or of each element, that must not contain an address in a `safe fn`.
    pub(super) fn data(&self) -> Option<&Type> {
        match self {
            Self::Slice { element, .. } | Self::Rows { element, .. } | Self::Pointer { element, .. } => {
                Some(element)
            }
            Self::Value(ty) => Some(ty),
            Self::Object { .. } | Self::Open(_) => None,
        }
    }
}

/// Whether `&T` may be an object: `T` is not a number, not a type in `refused`, and not chosen by the caller.
fn may_be_object(path: &TypePath, open: &[&Ident]) -> bool {
    let object = matches!(last(path).as_str(), "TextureObject" | "SurfaceObject");
    object
        || super::check::primitive(&Type::Path(path.clone())).is_none()
            && refused(path).is_none()
            && !open.iter().any(|name| mentions(path.to_token_stream(), name))
}

/// Refuses types that a variable cannot have, as far as the tokens show it; the compiler does the rest.
pub(super) fn check_variable(ty: &Type) -> Result<()> {
    match plain(ty) {
        Type::Array(array) => check_variable(&array.elem),
        Type::Path(path) => match last(path).as_str() {
            "bool" => Err(Error::new_spanned(
                ty,
                "a variable cannot be `bool`, because a byte of the device may be neither 0 nor 1\nhelp: declare `u8`",
            )),
            "char" => Err(Error::new_spanned(
                ty,
                "a variable cannot be `char`, because not every number is one\nhelp: declare `u32`",
            )),
            _ => Ok(()),
        },
        Type::Reference(_) | Type::Ptr(_) => Err(Error::new_spanned(
            ty,
            "a variable cannot be a host address\nhelp: declare `DevicePtr<T>` or `DevicePtrMut<T>`",
        )),
        _ => Ok(()),
    }
}

/// Without the invisible groups of `macro_rules!` variables and without parentheses.
pub(super) fn plain(mut ty: &Type) -> &Type {
    loop {
        ty = match ty {
            Type::Group(group) => &group.elem,
            Type::Paren(paren) => &paren.elem,
            _ => return ty,
        };
    }
}

fn last(path: &TypePath) -> String {
    path.path.segments.last().map(|s| s.ident.to_string()).unwrap_or_default()
}

/// The type in `PitchedBuffer<T>`.
fn argument(path: &TypePath) -> Option<&Type> {
    let PathArguments::AngleBracketed(list) = &path.path.segments.last()?.arguments else { return None };
    list.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}

/// The type in `Vec<T>`; the element in `Box<[T]>` and `Option<&T>`.
fn inner(path: &TypePath) -> Option<String> {
    let PathArguments::AngleBracketed(list) = &path.path.segments.last()?.arguments else { return None };
    list.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(match plain(ty) {
            Type::Slice(slice) => show(&slice.elem),
            Type::Reference(reference) => show(&reference.elem),
            ty => show(ty),
        }),
        _ => None,
    })
}

fn reference_help(elem: &Type, mutable: bool) -> String {
    let (of, pointer) = if mutable { ("&mut", "*mut") } else { ("&", "*const") };
    let of = if mutable { format!("{of} ") } else { of.to_string() };
    match elem {
        Type::Path(path) if path.path.is_ident("str") => {
            "a kernel cannot take `&str`: copy the bytes into a `DeviceBuffer<u8>` and take `&[u8]`".into()
        }
        // A type that is refused by value is also refused by reference.
        Type::Path(path) if refused(path).is_some() => refused(path).unwrap_or_default(),
        other @ (Type::TraitObject(_) | Type::Tuple(_) | Type::FnPtr(_)) => no_parameter(other),
        Type::Array(array) => format!(
            "a kernel cannot take a reference to a host array; take the elements by value, `{}`, or a slice of device \
             memory, `{of}[{}]`",
            show(elem),
            show(&array.elem)
        ),
        elem => format!(
            "a kernel cannot take a reference to a host value\n\
             help: `{}` passes the value, `{of}[{}]` a slice of device memory (address and length), `{pointer} {}` an address alone",
            show(elem),
            show(elem),
            show(elem)
        ),
    }
}

/// Types of the standard library and of this one that are no plain data.
fn refused(path: &TypePath) -> Option<String> {
    let of = inner(path).unwrap_or_else(|| "T".into());
    Some(match last(path).as_str() {
        "bool" => {
            "`bool` cannot be a kernel parameter, because a byte of the device may be neither 0 nor 1\n\
                   help: declare `u8`, and pass `u8::from(flag)`"
                .into()
        }
        "char" => "`char` cannot be a kernel parameter, because not every number is one\n\
                   help: declare `u32`, and pass `u32::from(c)`"
            .into(),
        "Option" => format!(
            "the layout of an `Option` is unspecified\nhelp: an address that may be null is `DevicePtr<{of}>`; for a value, \
             pass a flag beside it"
        ),
        "str" | "String" => {
            "text is passed as bytes: copy them into a `DeviceBuffer<u8>` and take `&[u8]`".into()
        }
        "Vec" | "Box" | "DeviceBuffer" | "DeviceView" => {
            format!(
                "a kernel takes device memory as `&[{of}]`, or `&mut [{of}]` to write it; the method then takes buffers and views"
            )
        }
        "DeviceViewMut" => format!(
            "a kernel takes device memory that it writes as `&mut [{of}]`; the method then takes buffers and views"
        ),
        "PitchedBuffer" => {
            format!(
                "rows are borrowed: declare `&PitchedBuffer<{of}>`, or `&mut PitchedBuffer<{of}>` to write them"
            )
        }
        "TextureObject" => "a texture is borrowed: declare `&TextureObject`".into(),
        "SurfaceObject" => {
            "a surface is borrowed: declare `&SurfaceObject`, or `&mut SurfaceObject` to write through it"
                .into()
        }
        _ => return None,
    })
}

fn no_parameter(ty: &Type) -> String {
    match ty {
        Type::Tuple(tuple) if tuple.elems.is_empty() => "`()` cannot be a kernel parameter; leave it out".into(),
        Type::Tuple(_) => "a tuple cannot be a kernel parameter, because Rust chooses its layout\n\
                           help: an array, a `#[repr(C)]` struct that derives `DeviceCopy`, or one parameter for each part"
            .into(),
        Type::Slice(slice) => format!(
            "write `&[{0}]`, or `&mut [{0}]` to write it: a slice is passed as an address and a length",
            show(&slice.elem)
        ),
        Type::FnPtr(_) => "the device cannot call host functions\n\
                           help: a closure that the kernel was compiled with is passed through a type parameter: `fn map<F: Copy>(f: F, ..)`"
            .into(),
        Type::ImplTrait(_) => "name the type: `fn map<F: Copy>(f: F, ..)`".into(),
        _ => "a kernel cannot take this type; it takes numbers, arrays, `#[repr(C)]` structs that derive `DeviceCopy`, \
              `&[T]`, `&mut [T]`, `*const T` and `*mut T`"
            .into(),
    }
}

/// A type as people write it.
pub(super) fn show(tokens: &impl ToTokens) -> String {
    let text = tokens.to_token_stream().to_string();
    let mut shown = String::with_capacity(text.len());
    let mut parts = text.split(' ').peekable();
    while let Some(part) = parts.next() {
        shown.push_str(part);
        let words = |s: &str| s.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let space = parts.peek().is_some_and(|next| {
            part.ends_with([',', ';'])
                || words(part) && next.starts_with(|c: char| c.is_alphanumeric() || c == '_')
        });
        if space {
            shown.push(' ');
        }
    }
    shown
}

/// Whether the tokens contain this identifier.
pub(super) fn mentions(tokens: TokenStream, name: &Ident) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == *name,
        TokenTree::Group(group) => mentions(group.stream(), name),
        _ => false,
    })
}

/// The tokens with identifiers replaced.
pub(super) fn substitute(tokens: TokenStream, names: &[(Ident, TokenStream)]) -> TokenStream {
    let replace = |token: TokenTree| match token {
        TokenTree::Ident(ident) => match names.iter().find(|(name, _)| *name == ident) {
            Some((_, by)) => by.clone(),
            None => TokenTree::Ident(ident).into(),
        },
        TokenTree::Group(group) => {
            let mut replaced = Group::new(group.delimiter(), substitute(group.stream(), names));
            replaced.set_span(group.span());
            TokenTree::Group(replaced).into()
        }
        token => token.into(),
    };
    tokens.into_iter().map(replace).collect::<TokenStream>()
}
