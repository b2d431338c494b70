//! "Warp-level Matrix Instructions" that move 8 by 8 matrices: `ldmatrix`, `stmatrix`, `movmatrix`.

use cuda_ptx::Space;

use super::super::decode::builder::Builder;
use super::super::decode::draft::{Draft, Operand, Refusal};
use super::super::exec::matrix::rows::{LOAD, MOVE, ROW, STORE, TRANSPOSED, addressing};
use super::super::exec::memory::Access;
use super::super::exec::operand::Class;
use super::super::watch::{Note, What};
use super::matrix::{list, together};
use super::{Form, Row, build};

pub(super) const ROWS: &[Row] = &[
    build("ldmatrix.sync.aligned.m8n8.{x1|x2|x4}[.trans][.{shared|shared::cta}].b16", |builder, form| {
        let count = count(form);
        let mut dests = Vec::with_capacity(4);
        for text in &list(builder, 0, count)? {
            dests.push(builder.dest(text, Class::Word)?);
        }
        append(builder, form, (1, What::LoadRows(addressing(count))), |address| {
            (Draft::new(LOAD, &dests, &[address]), count)
        })
    }),
    build("stmatrix.sync.aligned.m8n8.{x1|x2|x4}[.trans][.{shared|shared::cta}].b16", |builder, form| {
        let count = count(form);
        let mut sources = Vec::with_capacity(5);
        for text in &list(builder, 1, count)? {
            sources.push(builder.source(text, Class::Word)?);
        }
        append(builder, form, (0, What::StoreRows(addressing(count))), |address| {
            sources.push(address);
            (Draft::new(STORE, &[], &sources), count)
        })
    }),
    build("movmatrix.sync.aligned.m8n8.trans.b16", |builder, _| {
        builder.expect_operands(2)?;
        let source = builder.source(builder.operand(1)?, Class::Word)?;
        let dest = builder.dest(builder.operand(0)?, Class::Word)?;
        together(builder)?;
        builder.whole(MOVE, &[dest], &[source], 0);
        Ok(())
    }),
];

/// Matrices that a form moves.
fn count(form: &Form<'_>) -> usize {
    match form.any(&["x1", "x2"]) {
        Some("x1") => 1,
        Some(_) => 2,
        None => 4,
    }
}

/// Appends a load or store whose operands `make` puts around the address, which is operand `at` of the text.
fn append(
    builder: &mut Builder<'_, '_>,
    form: &Form<'_>,
    (at, what): (usize, What),
    make: impl FnOnce(Operand) -> (Draft, usize),
) -> Result<(), Refusal> {
    builder.expect_operands(2)?;
    let space = form.any(&["shared", "shared::cta"]).map(|_| Space::Shared);
    let address = builder.address(builder.operand(at)?, space.is_none())?;
    together(builder)?;
    let (mut draft, count) = make(address.base);
    let narrow = if address.narrow { Access::NARROW } else { 0 };
    let write = if matches!(what, What::StoreRows(_)) { Access::WRITE } else { 0 };
    let transposed = if form.has("trans") { TRANSPOSED } else { 0 };
    draft.aux = Access::new(count as u32, space, narrow | write).0 | transposed;
    (draft.imm, draft.site) = (address.offset, true);
    draft.note = Some(Note { what, address: count, bytes: ROW });
    builder.push(draft);
    Ok(())
}
