//! Initial values of variables as bytes.

use cuda_ptx::{Init, Literal, Type, Variable};

use super::Symbols;
use crate::engine::image::LoadFailureKind;
use crate::engine::literal::literal_bits;

type Refusal = (LoadFailureKind, String);

/// The bytes of a variable that is initialised with `init`; parts without a value are zero.
///
/// Lists follow the extents of the array. As in ptxas, a list that is shorter than its array leaves no gap: the next values follow
/// immediately.
pub(super) fn bytes(
    variable: &Variable<'_>,
    init: &Init<'_>,
    symbols: &Symbols<'_>,
) -> Result<Vec<u8>, Refusal> {
    let mut extents: Vec<u64> = variable.dims.iter().map(|extent| extent.unwrap_or(0)).collect();
    if let Some(first @ 0) = extents.first_mut() {
        *first = variable.elements();
    }
    let is_vector = variable.vector > 1;
    if is_vector {
        extents.push(u64::from(variable.vector));
    }
    let bytes = vec![0; variable.size() as usize];
    let mut filled = Filled { bytes, next: 0, ty: variable.ty, is_vector };
    filled.fill(init, &extents, symbols)?;
    Ok(filled.bytes)
}

/// A variable of which some values are known.
struct Filled {
    bytes: Vec<u8>,
    /// The offset of the next value.
    next: usize,
    ty: Type,
    is_vector: bool,
}

impl Filled {
    /// Appends the initialiser of an array with these extents.
    fn fill(&mut self, init: &Init<'_>, extents: &[u64], symbols: &Symbols<'_>) -> Result<(), Refusal> {
        let (items, extent, inner) = match (init, extents) {
            (Init::List(items), [extent, inner @ ..]) => (items, *extent, inner),
            (Init::List(_), []) | (_, [_, ..]) => return Err(wrong("the lists do not follow the extents")),
            (value, []) => return self.append(scalar(value, self.ty, symbols)?),
        };
        let count = items.len() as u64;
        if count > extent {
            return Err(wrong("more values than elements"));
        }
        if self.is_vector && inner.is_empty() && count < extent {
            return Err(wrong("fewer values than elements of the vector"));
        }
        items.iter().try_for_each(|item| self.fill(item, inner, symbols))
    }

    fn append(&mut self, value: u64) -> Result<(), Refusal> {
        let size = self.ty.size();
        let target = self.bytes.get_mut(self.next..).and_then(|rest| rest.get_mut(..size));
        let target = target.ok_or_else(|| wrong("more values than elements"))?;
        let value = u128::from(value).to_le_bytes();
        target.copy_from_slice(&value[..size]);
        self.next += size;
        Ok(())
    }
}

fn wrong(message: &str) -> Refusal {
    (LoadFailureKind::Syntax, message.to_owned())
}

/// Whether a variable of that type can begin as such a value.
fn fits(init: &Init<'_>, ty: Type) -> bool {
    use Type as T;
    match init {
        Init::Value(Literal::Int(_)) => !matches!(ty, T::F16 | T::F16x2 | T::F32 | T::F64),
        Init::Value(_) => matches!(ty, T::B8 | T::B16 | T::B32 | T::B64 | T::B128 | T::F32 | T::F64),
        Init::Address { mask: None, .. } => matches!(ty, T::U32 | T::U64),
        Init::Address { .. } => matches!(ty, T::U8 | T::U32 | T::U64),
        Init::List(_) => false,
    }
}

/// The bits of one value.
fn scalar(init: &Init<'_>, ty: Type, symbols: &Symbols<'_>) -> Result<u64, Refusal> {
    if !fits(init, ty) {
        return Err(wrong(&format!("a variable of type {ty} cannot begin as such a value")));
    }
    match init {
        Init::Value(literal) => Ok(literal_bits(*literal, ty)),
        Init::Address { symbol, offset, generic, .. }
            if symbols.is_function(symbol) && (*generic || *offset != 0) =>
        {
            Err(wrong("the address of a function is taken as it is"))
        }
        Init::Address { symbol, offset, mask, .. } => {
            // Generic addresses of device memory are the addresses in its own space.
            let address = symbols.address(symbol).ok_or_else(|| {
                (
                    LoadFailureKind::Unresolved,
                    format!("`{symbol}` is neither a variable in device memory nor a function"),
                )
            })?;
            let address = address.wrapping_add_signed(*offset);
            Ok(mask.map_or(address, |mask| (address & mask).checked_shr(mask.trailing_zeros()).unwrap_or(0)))
        }
        Init::List(_) => Err(wrong("more values than elements")),
    }
}
