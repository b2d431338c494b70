//! "Tensor Map": `tensormap.replace`, and the copy that makes it seen.

use cuda_ptx::Space;

use super::super::decode::builder::Builder;
use super::super::decode::draft::{Draft, Refusal};
use super::super::exec::operand::Class;
use super::super::exec::tensormap::{COPY, Field, REPLACE, Replaced};
use super::bulk::{address, number};
use super::{Form, Row, build};

pub(super) const ROWS: &[Row] = &[
    build(
        "tensormap.replace.tile.{global_address|rank|box_dim|global_dim|global_stride|element_stride|elemtype|interleave_layout|swizzle_mode|fill_mode}[.{global|shared::cta}].b1024.{b32|b64}",
        replace,
    ),
    build(
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.{cta|cluster|gpu|sys}.sync.aligned",
        |builder, _| {
            builder.expect_operands(3)?;
            let target = address(builder, builder.operand(0)?, false)?;
            let source = address(builder, builder.operand(1)?, false)?;
            builder.push(Draft::new(COPY, &[], &[target, source]));
            Ok(())
        },
    ),
];

/// `[address], {dimension,} value`
fn replace(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    let field = form.values().find_map(Field::from_name).ok_or_else(|| Refusal::new("no such field"))?;
    if field.is_wide() != form.has("b64") {
        return Err(Refusal::new("an address or a stride is `.b64`, and every other field `.b32`"));
    }
    let list = usize::from(field.is_list());
    builder.expect_operands(2 + list)?;
    let space = form.any(&["global", "shared::cta"]).and_then(Space::from_name);
    let map = address(builder, builder.operand(0)?, space.is_none())?;
    let at = match list {
        1 => number(builder, builder.operand(1)?)?,
        _ => builder.constant(Class::Wide, 0),
    };
    let value = builder.operand(1 + list)?;
    let value = if field.is_wide() { builder.source(value, Class::Wide)? } else { number(builder, value)? };
    let mut draft = Draft::new(REPLACE, &[], &[map, at, value]);
    draft.aux = Replaced { field, space }.word();
    builder.push(draft);
    Ok(())
}
