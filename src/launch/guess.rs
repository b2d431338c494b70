//! The likely cause of an argument mismatch, from the two lists alone.

use std::any::type_name;

use super::args::{ParameterType, Role};
use super::check::{self, short_type_name};
use crate::driver::Kind;
use crate::error::{Parameter, count};
use crate::memory::{DevicePtr, DevicePtrMut};

/// Whether an argument is a float or an integer, as far as the name of its type tells. It agrees with [`DeviceCopy::KIND`], and
/// serves lists whose types are not known to be `DeviceCopy`.
///
/// [`DeviceCopy::KIND`]: crate::DeviceCopy
pub(super) fn kind(given: &ParameterType) -> Kind {
    match (given.role, (given.type_name)()) {
        (Role::Address | Role::Length | Role::Pointer | Role::Rows | Role::Pitch, _) => Kind::Integer,
        (Role::Value, "f32" | "f64") => Kind::Float,
        #[cfg(feature = "half")]
        (Role::Value, name) if name == type_name::<half::f16>() || name == type_name::<half::bf16>() => {
            Kind::Float
        }
        (Role::Value, "u8" | "u16" | "u32" | "u64" | "u128" | "usize") => Kind::Integer,
        (Role::Value, "i8" | "i16" | "i32" | "i64" | "i128" | "isize") => Kind::Integer,
        _ if is_address(given) => Kind::Integer,
        _ => Kind::Other,
    }
}

/// Whether it is an address, of a slice or alone.
fn is_address(given: &ParameterType) -> bool {
    let full = (given.type_name)();
    // `path::DevicePtr<()>` without the type argument.
    let is_pointer =
        |pointer: &str| pointer.split('<').next() == full.split('<').next() && full.contains('<');
    match given.role {
        Role::Address | Role::Pointer | Role::Rows => true,
        Role::Length | Role::Pitch | Role::Bits => false,
        Role::Value => {
            is_pointer(type_name::<DevicePtr<()>>()) || is_pointer(type_name::<DevicePtrMut<()>>())
        }
    }
}

/// One sentence, or `None` if no guess is better than the others.
pub(super) fn guess(given: &[ParameterType], wanted: &[Parameter], at: usize) -> Option<String> {
    if sizes_fit(given.iter().map(|g| g.size), wanted) {
        return wrong_kind(given, wanted, at);
    }
    slices_for_pointers(given, wanted)
        .or_else(|| pointers_for_slices(given, wanted))
        .or_else(|| swapped(given, wanted, at))
        .or_else(|| missing(given, wanted, at))
        .or_else(|| extra(given, wanted, at))
        .or_else(|| wrong_width(given.get(at)?, wanted.get(at)?))
}

fn sizes_fit(given: impl Iterator<Item = usize>, wanted: &[Parameter]) -> bool {
    given.eq(wanted.iter().map(|w| w.size))
}

/// `slice(x)` where the kernel takes a bare pointer.
fn slices_for_pointers(given: &[ParameterType], wanted: &[Parameter]) -> Option<String> {
    let bare = given.iter().filter(|g| g.role != Role::Length).map(|g| g.size);
    sizes_fit(bare, wanted).then(|| {
        "The kernel takes bare pointers: pass `ptr(x)` or `ptr_mut(x)` instead of `slice(x)` or `slice_mut(x)`; to a builder, \
         `.ptr(&x)` or `.ptr_mut(&mut x)`"
            .into()
    })
}

/// A bare pointer where the kernel takes address and length.
fn pointers_for_slices(given: &[ParameterType], wanted: &[Parameter]) -> Option<String> {
    let pointers = given.iter().filter(|g| is_bare_pointer(g)).count();
    let paired =
        given.iter().flat_map(|g| std::iter::repeat_n(g.size, if is_bare_pointer(g) { 2 } else { 1 }));
    (pointers != 0 && sizes_fit(paired, wanted)).then(|| {
        "The kernel takes an address and a length for each buffer: pass `slice(x)` or `slice_mut(x)`".into()
    })
}

fn is_bare_pointer(given: &ParameterType) -> bool {
    matches!(given.role, Role::Value | Role::Pointer) && is_address(given)
}

/// The other argument with which this one was probably swapped.
fn swapped(given: &[ParameterType], wanted: &[Parameter], at: usize) -> Option<String> {
    if given.len() != wanted.len() {
        return None;
    }
    let mut list: Vec<&ParameterType> = given.iter().collect();
    (at + 1..list.len()).find_map(|other| {
        list.swap(at, other);
        let fits = list.iter().zip(wanted).all(|(g, w)| check::fit(g, w));
        list.swap(at, other);
        fits.then(|| format!("Arguments {at} and {other} look swapped"))
    })
}

fn missing(given: &[ParameterType], wanted: &[Parameter], at: usize) -> Option<String> {
    let lacking = wanted.len().checked_sub(given.len()).filter(|&n| n != 0)?;
    let rest = given.get(at..)?.iter().map(|g| g.size);
    let after = wanted.get(at + lacking..)?;
    sizes_fit(rest, after).then(|| format!("{} missing at position {at}", are(lacking, "argument")))
}

fn extra(given: &[ParameterType], wanted: &[Parameter], at: usize) -> Option<String> {
    let many = given.len().checked_sub(wanted.len()).filter(|&n| n != 0)?;
    let rest = given.get(at + many..)?.iter().map(|g| g.size);
    sizes_fit(rest, wanted.get(at..)?).then(|| format!("{} too many at position {at}", are(many, "argument")))
}

fn are(n: usize, what: &str) -> String {
    format!("{} {}", count(n, what), if n == 1 { "is" } else { "are" })
}

/// The sizes are right: a float for an integer, or the other way round.
fn wrong_kind(given: &[ParameterType], wanted: &[Parameter], at: usize) -> Option<String> {
    if let Some(text) = swapped(given, wanted, at) {
        return Some(text);
    }
    let bits = wanted.get(at)?.size * 8;
    Some(match kind(given.get(at)?) {
        Kind::Float => format!("Pass a `u{bits}` or an `i{bits}`; `byval(x)` passes the bits as they are"),
        _ if bits == 16 => {
            "Pass a `half::f16` or `half::bf16`; `byval(x)` passes the bits as they are".into()
        }
        _ => format!("Pass an `f{bits}`; `byval(x)` passes the bits as they are"),
    })
}

fn wrong_width(given: &ParameterType, wanted: &Parameter) -> Option<String> {
    let name = short_type_name((given.type_name)());
    if is_bare_pointer(given) {
        let cause = "The argument is a device address: did you mean the value itself, or another position?";
        return Some(cause.into());
    }
    let scalar = matches!(given.role, Role::Value) && kind(given) != Kind::Other;
    let ty = wanted.ty.as_deref().unwrap_or("");
    match (kind(given), wanted.size) {
        (_, 4 | 8) if scalar && ty.starts_with(".f") => Some(format!("Did you mean `f{}`?", wanted.size * 8)),
        (Kind::Float, 4 | 8) => Some(format!("Did you mean `f{}`?", wanted.size * 8)),
        (Kind::Integer, 1 | 2 | 4 | 8) if scalar => {
            let sign = if name.starts_with('i') { 'i' } else { 'u' };
            Some(format!("Did you mean `{sign}{}`?", wanted.size * 8))
        }
        (Kind::Other, _) => Some(format!(
            "Is `{name}` `repr(C)`, with the fields of the kernel's parameter in the same order and of the same types?"
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{guess, kind};
    use crate::driver::Kind;
    use crate::error::Parameter;
    use crate::launch::args::{ParameterType, Role, parameter};
    use crate::launch::check;
    use crate::memory::{DeviceCopy, DevicePtr, DevicePtrMut};

    fn agrees<T: DeviceCopy>() {
        let named = kind(&parameter::<T>(size_of::<T>(), Role::Value));
        assert_eq!(named, T::KIND, "{}", std::any::type_name::<T>());
    }

    /// Lists that are types know the names only, builders the constant: both refuse the same.
    #[test]
    fn the_name_of_a_type_says_what_its_constant_says() {
        macro_rules! all {
            ($($ty:ty),* $(,)?) => {$( agrees::<$ty>(); )*};
        }
        all! { u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize, f32, f64, [f32; 1], [u32; 2] }
        all! { std::num::Wrapping<u32>, DevicePtr<f32>, DevicePtrMut<[u8; 3]>, crate::texture::TextureHandle, crate::tensor::TensorMap }
        #[cfg(feature = "half")]
        all! { half::f16, half::bf16 }
        assert_eq!(kind(&parameter::<f32>(8, Role::Length)), Kind::Integer, "of elements of any type");
    }

    fn value<T>() -> ParameterType {
        parameter::<T>(size_of::<T>(), Role::Value)
    }

    fn slice() -> [ParameterType; 2] {
        [Role::Address, Role::Length].map(|role| parameter::<f32>(8, role))
    }

    /// The guess for a kernel whose parameters have these sizes, and types where there are some.
    fn said(given: &[ParameterType], wanted: &[(usize, &str)]) -> String {
        let ty = |ty: &str| Some(ty.to_string()).filter(|ty| !ty.is_empty());
        let wanted: Vec<_> =
            wanted.iter().map(|(size, of)| Parameter { size: *size, ty: ty(of), name: None }).collect();
        let at = given.iter().zip(&wanted).take_while(|(g, w)| check::fit(g, w)).count();
        guess(given, &wanted, at).unwrap_or_default()
    }

    #[test]
    fn a_guess_names_the_likely_cause() {
        let (pointer, [address, length]) = (value::<DevicePtr<f32>>(), slice());
        let (int, signed, float, long) = (value::<u32>(), value::<i32>(), value::<f32>(), value::<u64>());
        let (short, byte) = (value::<u16>(), value::<u8>());
        for (given, wanted, text) in [
            (&[address, length, int][..], &[(8, ""), (4, "")][..], "The kernel takes bare pointers"),
            (&[pointer, int], &[(8, ""), (8, ""), (4, "")], "The kernel takes an address and a length"),
            (&[int, long, byte], &[(8, ""), (4, ""), (1, "")], "Arguments 0 and 1 look swapped"),
            (&[byte, int, long], &[(1, ""), (8, ""), (4, "")], "Arguments 1 and 2 look swapped"),
            (&[float, int], &[(4, ".u32"), (4, ".f32")], "Arguments 0 and 1 look swapped"),
            (&[float, long], &[(8, ".u64"), (4, ".f32")], "Arguments 0 and 1 look swapped"),
            (&[int], &[(4, ""), (8, "")], "1 argument is missing at position 1"),
            (&[int, short], &[(4, ""), (8, ""), (8, ""), (2, "")], "2 arguments are missing at position 1"),
            (&[int, long, long, short], &[(4, ""), (2, "")], "2 arguments are too many at position 1"),
            (&[float], &[(4, ".u32")], "Pass a `u32` or an `i32`"),
            (&[int], &[(4, ".f32")], "Pass an `f32`"),
            (&[short], &[(2, ".f16")], "Pass a `half::f16`"),
            (&[int], &[(8, "")], "Did you mean `u64`?"),
            (&[signed], &[(8, "")], "Did you mean `i64`?"),
            (&[int], &[(8, ".f64")], "Did you mean `f64`?"),
            (&[float], &[(8, "")], "Did you mean `f64`?"),
            (&[pointer], &[(4, "")], "The argument is a device address"),
            (&[value::<[u8; 3]>()], &[(4, ".f32")], "Is `[u8; 3]` `repr(C)`"),
            (&[parameter::<f32>(4, Role::Bits)], &[(8, "")], "Is `f32` `repr(C)`"),
        ] {
            assert!(said(given, wanted).starts_with(text), "{} is not {text}", said(given, wanted));
        }
        // Once swapped, the number would be refused for the float.
        let (given, wanted) =
            ([int, pointer, int, pointer], [(4, ".u32"), (4, ".f32"), (8, ".u64"), (8, ".u64")]);
        assert!(!said(&given, &wanted).contains("swapped"), "{}", said(&given, &wanted));
        assert_eq!(said(&slice(), &[(4, ""), (8, "")]), "", "a slice is no number of another width");
        assert_eq!(said(&[int, long], &[(2, ""), (8, "")]), "Did you mean `u16`?", "there is no slice");
    }
}
