//! `#[derive(DeviceCopy)]`: what the tokens show is checked here; the compiler checks the rest in the generated code.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{
    Attribute, Data, DeriveInput, Error, Field, Fields, Ident, Path, Result, Type, TypeGroup, TypeParen,
    WherePredicate, parse_quote,
};

use crate::problems::Problems;

/// The implementation, or every reason against it.
pub(crate) fn expand(mut input: DeriveInput) -> Result<TokenStream> {
    let fields = fields(&input)?;
    let mut problems = Problems::default();
    problems.take(check_repr(&input));
    problems.take(check_generics(&input));
    for (index, field) in fields.iter().enumerate() {
        problems.take(check_field(index, field));
    }
    let path = problems.take(crate_path(&input.attrs)).unwrap_or_else(|| parse_quote!(::cuda_launch));
    problems.finish()?;
    for parameter in input.generics.type_params_mut() {
        parameter.bounds.push(parse_quote!(#path::DeviceCopy));
    }
    Ok(implementation(&input, &path))
}

fn fields(input: &DeriveInput) -> Result<&Fields> {
    match &input.data {
        Data::Struct(data) => Ok(&data.fields),
        Data::Enum(data) => Err(Error::new(
            data.enum_token.span(),
            "DeviceCopy cannot be derived for an enum: what a kernel writes need not be one of its variants.\n\
             Keep a `u32` in the struct or buffer and convert it on the host; \
             to only pass the enum to a kernel, write `byval(x)`",
        )),
        Data::Union(data) => Err(Error::new(
            data.union_token.span(),
            "DeviceCopy cannot be derived for a union: which of its fields a kernel wrote is not known.\n\
             Use a struct with an array of bytes or integers of that size; \
             to only pass the union to a kernel, write `byval(x)`",
        )),
    }
}

/// Requires `repr(C)` or `repr(transparent)`, alone or with others: the compiler refuses combinations that make no
/// sense.
fn check_repr(input: &DeriveInput) -> Result<()> {
    let mut defined = false;
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        attribute.parse_nested_meta(|meta| {
            defined |= meta.path.is_ident("C") || meta.path.is_ident("transparent");
            if meta.input.peek(syn::token::Paren) {
                let argument;
                syn::parenthesized!(argument in meta.input);
                argument.parse::<TokenStream>()?;
            }
            Ok(())
        })?;
    }
    if defined {
        return Ok(());
    }
    Err(Error::new(
        input.ident.span(),
        format!(
            "`{}` derives DeviceCopy and needs `#[repr(C)]` (or `#[repr(transparent)]` for a wrapper of one field): \
             without it Rust may reorder the fields, and the kernel would read others than you wrote",
            input.ident
        ),
    ))
}

fn check_generics(input: &DeriveInput) -> Result<()> {
    let mut problems = Problems::default();
    for lifetime in input.generics.lifetimes() {
        let message = format!(
            "DeviceCopy cannot be derived for a struct with a lifetime: what `{}` borrows is in host memory, where the \
             device cannot follow.\nKeep the data in a `DeviceBuffer` and its address as `DevicePtr<T>`, \
             or hold the values themselves",
            lifetime.lifetime
        );
        problems.take::<()>(Err(Error::new(lifetime.lifetime.span(), message)));
    }
    problems.finish()
}

/// Refuses the types that cannot be plain data, whatever their names resolve to; the compiler checks the others.
fn check_field(index: usize, field: &Field) -> Result<()> {
    let mut ty = &field.ty;
    // A type from a `macro_rules!` variable, or in parentheses.
    while let Type::Group(TypeGroup { elem, .. }) | Type::Paren(TypeParen { elem, .. }) = ty {
        ty = elem;
    }
    let reason = match ty {
        Type::Reference(_) => {
            "is a reference into host memory, where the device cannot follow; \
             use `DevicePtr<T>` from `DeviceBuffer::as_device_ptr`"
        }
        Type::Ptr(_) => {
            "is a host pointer, which the device cannot follow; use `DevicePtr<T>` or `DevicePtrMut<T>`"
        }
        Type::FnPtr(_) => "is the address of a host function, which the device cannot call",
        Type::Tuple(tuple) if !tuple.elems.is_empty() => {
            "is a tuple, whose layout Rust chooses; use an array, or a `#[repr(C)]` struct that derives DeviceCopy"
        }
        _ => return Ok(()),
    };
    Err(Error::new_spanned(&field.ty, format!("the field `{}` {reason}", field_name(index, field))))
}

fn field_name(index: usize, field: &Field) -> String {
    field.ident.as_ref().map_or_else(|| index.to_string(), ToString::to_string)
}

/// The path in `#[device_copy(crate = path)]`.
fn crate_path(attributes: &[Attribute]) -> Result<Path> {
    let mut path = parse_quote!(::cuda_launch);
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("device_copy")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("crate") {
                return Err(meta.error(
                    "`device_copy` takes one option: `#[device_copy(crate = path::to::cuda_launch)]`",
                ));
            }
            path = meta.value()?.call(Path::parse_mod_style)?;
            Ok(())
        })?;
    }
    Ok(path)
}

/// The `impl`, and code that makes the compiler check `Copy` and each field's type, with the spans of the user's code.
fn implementation(input: &DeriveInput, path: &Path) -> TokenStream {
    let name = &input.ident;
    let (parameters, arguments, conditions) = input.generics.split_for_impl();
    let mut plain = input.generics.clone();
    // With an unused lifetime, so that the compiler treats it as a condition of the impl even if it is obviously not met.
    let fields_have_none = fields(input).into_iter().flatten().map(|field| {
        let ty = &field.ty;
        parse_quote!(for<'__device_copy> #ty: #path::memory::NoAddress)
    });
    plain.make_where_clause().predicates.extend::<Vec<WherePredicate>>(fields_have_none.collect());
    let without_address = &plain.where_clause;
    let (traits, checks): (Vec<_>, Vec<_>) = fields(input)
        .into_iter()
        .flatten()
        .enumerate()
        .map(|(index, field)| field_check(name, index, field, path))
        .chain([copy_check(name)])
        .unzip();
    quote! {
        #[automatically_derived]
        // SAFETY: 1, 3: the type consists of its fields, each of which is checked below to be `DeviceCopy`, and of padding, which may
        // have any bytes; 2: it is `repr(C)` or `repr(transparent)`, or the macro would have refused it.
        unsafe impl #parameters #path::DeviceCopy for #name #arguments #conditions {}

        #[automatically_derived]
        #[diagnostic::do_not_recommend]
        // SAFETY: 1: the type consists of its fields, which are all `NoAddress` under the bounds of this impl, and of
        // padding, which no kernel dereferences.
        unsafe impl #parameters #path::memory::NoAddress for #name #arguments #without_address {}

        #[automatically_derived]
        const _: () = {
            #(#traits)*
            // A trait, because a field's type may say `Self`.
            trait __DeviceCopyChecks { fn check(); }
            impl #parameters __DeviceCopyChecks for #name #arguments #conditions {
                fn check() { #(#checks)* }
            }
        };
    }
}

/// A trait whose error message explains in the user's terms what the field's type must be, and a check of it.
fn field_check(name: &Ident, index: usize, field: &Field, path: &Path) -> (TokenStream, TokenStream) {
    let ty = &field.ty;
    let message = format!(
        "the field `{}` of `{name}` is of type `{{Self}}`, which is not plain device data",
        field_name(index, field)
    );
    let check = format_ident!("__Field{index}");
    let definition = quote! {
        #[diagnostic::on_unimplemented(
            message = #message,
            label = "not `DeviceCopy`",
            note = "write `u8` for `bool`, `u32` for `char` and enums, an array for a tuple, `DevicePtr<T>` and a length for data \
                    of variable size; a struct needs `#[repr(C)]` and `#[derive(Clone, Copy, DeviceCopy)]`"
        )]
        trait #check { fn is() {} }
        #[diagnostic::do_not_recommend]
        impl<T: #path::DeviceCopy> #check for T {}
    };
    (definition, quote_spanned! { ty.span() => <#ty as #check>::is(); })
}

/// The same for `Copy`: the compiler's own message does not mention that `Clone` is needed too.
fn copy_check(name: &Ident) -> (TokenStream, TokenStream) {
    let message =
        format!("`{name}` derives DeviceCopy and has to be `Copy` too: `#[derive(Clone, Copy, DeviceCopy)]`");
    let definition = quote! {
        #[diagnostic::on_unimplemented(message = #message, label = "`Copy` is missing here")]
        trait __IsCopy { fn is() {} }
        #[diagnostic::do_not_recommend]
        impl<T: ::core::marker::Copy> __IsCopy for T {}
    };
    (definition, quote! { <Self as __IsCopy>::is(); })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    /// All error messages; none if an implementation was generated.
    fn problems(input: DeriveInput) -> Vec<String> {
        expand(input).map_or_else(|error| error.into_iter().map(|e| e.to_string()).collect(), |_| Vec::new())
    }

    #[test]
    fn every_way_to_write_a_defined_layout() {
        assert!(
            problems(parse_quote!(
                #[repr(C)]
                struct S(u8);
            ))
            .is_empty()
        );
        assert!(
            problems(parse_quote!(
                #[repr(transparent)]
                struct S(u8);
            ))
            .is_empty()
        );
        assert!(
            problems(parse_quote!(
                #[repr(C, align(16))]
                struct S(u8);
            ))
            .is_empty()
        );
        assert!(
            problems(parse_quote!(
                #[repr(align(16))]
                #[repr(C)]
                struct S(u8);
            ))
            .is_empty()
        );
        assert!(
            problems(parse_quote!(
                #[repr(packed(2), C)]
                struct S(u8);
            ))
            .is_empty()
        );
        assert!(
            problems(parse_quote!(
                #[doc = "C"]
                #[repr(C)]
                struct S;
            ))
            .is_empty()
        );
    }

    #[test]
    fn other_layouts_are_refused() {
        let cases: [DeriveInput; 4] = [
            parse_quote!(
                struct S(u8);
            ),
            parse_quote!(
                #[repr(align(16))]
                struct S(u8);
            ),
            parse_quote!(
                #[repr(packed)]
                struct S(u8);
            ),
            parse_quote!(
                #[c]
                struct S(u8);
            ),
        ];
        for case in cases {
            let found = problems(case);
            assert!(
                found.len() == 1 && found[0].contains("`S` derives DeviceCopy and needs `#[repr(C)]`"),
                "{found:?}"
            );
        }
    }

    #[test]
    fn all_problems_are_reported_at_once() {
        let found = problems(parse_quote! {
            struct S<'a, 'b> { a: &'a str, b: *const u8, c: (u8, u8), d: fn(), e: (&'b u8), f: u8 }
        });
        let starts = [
            "`S` derives",
            "DeviceCopy cannot",
            "DeviceCopy cannot",
            "the field `a` is a reference",
            "the field `b` is a host pointer",
            "the field `c` is a tuple",
            "the field `d` is the address",
            "the field `e` is a reference",
        ];
        assert_eq!(found.len(), starts.len(), "{found:#?}");
        for (message, start) in found.iter().zip(starts) {
            assert!(message.starts_with(start), "{message}");
        }
    }

    #[test]
    fn fields_of_tuple_structs_are_numbered() {
        let found = problems(parse_quote!(
            #[repr(C)]
            struct S(u8, &'static str);
        ));
        assert!(found.len() == 1 && found[0].starts_with("the field `1` "), "{found:?}");
    }

    #[test]
    fn only_structs() {
        let of_enum = problems(parse_quote!(
            #[repr(u32)]
            enum E {
                A,
            }
        ));
        assert!(of_enum.len() == 1 && of_enum[0].contains("cannot be derived for an enum"), "{of_enum:?}");
        let of_union = problems(parse_quote!(#[repr(C)] union U { a: u8 }));
        assert!(of_union.len() == 1 && of_union[0].contains("cannot be derived for a union"), "{of_union:?}");
    }

    #[test]
    fn the_crate_may_have_another_name() {
        let written = |input: DeriveInput| expand(input).unwrap().to_string();
        let usual = written(parse_quote!(
            #[repr(C)]
            struct S(u8);
        ));
        assert!(usual.contains("unsafe impl :: cuda_launch :: DeviceCopy for S { }"), "{usual}");
        let other = written(parse_quote!(
            #[repr(C)]
            #[device_copy(crate = crate::gpu)]
            struct S(u8);
        ));
        assert!(other.contains("unsafe impl crate :: gpu :: DeviceCopy for S { }"), "{other}");
        assert!(!other.contains("cuda_launch"), "{other}");
        let wrong = problems(parse_quote!(
            #[repr(C)]
            #[device_copy(path = "gpu")]
            struct S(u8);
        ));
        assert!(wrong.len() == 1 && wrong[0].starts_with("`device_copy` takes one option"), "{wrong:?}");
    }

    #[test]
    fn a_struct_has_no_address_if_its_fields_have_none() {
        let written = expand(parse_quote!(
            #[repr(C)]
            struct S<T: Eq>(T, [Pointer; 2])
            where
                T: Ord;
        ));
        let written = written.unwrap().to_string();
        let header = "unsafe impl < T : Eq + :: cuda_launch :: DeviceCopy > :: cuda_launch :: memory :: NoAddress for S < T > where T : Ord , \
                      for < '__device_copy > T : :: cuda_launch :: memory :: NoAddress , \
                      for < '__device_copy > [Pointer ; 2] : :: cuda_launch :: memory :: NoAddress { }";
        assert!(written.contains(header), "{written}");
    }

    #[test]
    fn type_parameters_get_the_bound() {
        let written = expand(parse_quote!(
            #[repr(C)]
            struct S<T: Eq = u8, const N: usize = 2>([T; N])
            where
                T: Ord;
        ));
        let written = written.unwrap().to_string();
        let header = "unsafe impl < T : Eq + :: cuda_launch :: DeviceCopy , const N : usize > \
                      :: cuda_launch :: DeviceCopy for S < T , N > where T : Ord { }";
        assert!(written.contains(header), "{written}");
    }
}
