//! Initial values of variables as bytes.

use cuda_ptx::{Init, Type, Variable};

use super::Symbols;
use crate::engine::image::LoadFailureKind;
use crate::engine::literal::literal_bits;

type Refusal = (LoadFailureKind, String);

/// The bytes of a variable that is initialised with `init`; what no value is given for is zero.
pub(super) fn bytes(
    variable: &Variable<'_>,
    init: &Init<'_>,
    symbols: &Symbols<'_>,
) -> Result<Vec<u8>, Refusal> {
    let mut bytes = vec![0; variable.size() as usize];
    let mut extents: Vec<u64> = variable.dims.iter().map(|extent| extent.unwrap_or(0)).collect();
    if let Some(first @ 0) = extents.first_mut() {
        *first = variable.elements();
    }
    if variable.vector > 1 {
        extents.push(u64::from(variable.vector));
    }
    fill(&mut bytes, init, &extents, variable.ty, symbols)?;
    Ok(bytes)
}

/// Writes `init` to the start of `bytes`, which holds an array with these extents.
fn fill(
    bytes: &mut [u8],
    init: &Init<'_>,
    extents: &[u64],
    ty: Type,
    symbols: &Symbols<'_>,
) -> Result<(), Refusal> {
    let Init::List(items) = init else {
        let value = scalar(init, ty, symbols)?;
        let target = bytes.get_mut(..ty.size()).ok_or_else(too_many)?;
        target.copy_from_slice(&value.to_le_bytes()[..ty.size()]);
        return Ok(());
    };
    // Nested lists follow the extents; in a flat list every item is one element.
    let nested = items.iter().any(|item| matches!(item, Init::List(_)));
    let inner = if nested { extents.get(1..).unwrap_or(&[]) } else { &[] };
    let stride = inner.iter().fold(ty.size() as u64, |product, extent| product.saturating_mul(*extent));
    for (index, item) in items.iter().enumerate() {
        let start = (index as u64).saturating_mul(stride);
        let end = start.saturating_add(stride);
        let part = bytes.get_mut(start as usize..end as usize).ok_or_else(too_many)?;
        fill(part, item, inner, ty, symbols)?;
    }
    Ok(())
}

fn too_many() -> Refusal {
    (LoadFailureKind::Syntax, "more values than elements".to_owned())
}

/// The bits of one value.
fn scalar(init: &Init<'_>, ty: Type, symbols: &Symbols<'_>) -> Result<u64, Refusal> {
    match init {
        Init::Value(literal) => Ok(literal_bits(*literal, ty)),
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
        Init::List(_) => Err(too_many()),
    }
}
