//! What needs `sm_100` or later and is not executed, of mnemonics that have other forms.

use super::{Row, refuse};

const MATRICES: &str = "matrices of 4, 6 and 8 bits of sm_100 and later are not supported";
const REDUCTIONS: &str = "the reduction of floats among lanes is not supported";
const ATOMICITY: &str = "the atomicity of swizzles is not supported";
const FILLS: &str = "bulk stores are not supported";

pub(super) const ROWS: &[Row] = &[
    refuse(
        "ldmatrix.sync.aligned.m8n16.{x1|x2|x4}[.{shared|shared::cta}].b8x16.{b6x16_p32|b4x16_p64}",
        MATRICES,
    ),
    refuse(
        "ldmatrix.sync.aligned.m16n16.{x1|x2}.trans[.{shared|shared::cta}].b8x16.{b6x16_p32|b4x16_p64}",
        MATRICES,
    ),
    refuse("ldmatrix.sync.aligned.m16n16.{x1|x2}.trans[.{shared|shared::cta}].b8", MATRICES),
    refuse("stmatrix.sync.aligned.m16n8.{x1|x2|x4}.trans[.{shared|shared::cta}].b8", MATRICES),
    refuse(
        "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.{f16|f32}.{e4m3|e5m2|e3m2|e2m3|e2m1}.{e4m3|e5m2|e3m2|e2m3|e2m1}.{f16|f32}",
        MATRICES,
    ),
    refuse(
        "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale[.scale_vec::1X].f32.{e4m3|e5m2|e3m2|e2m3|e2m1}.{e4m3|e5m2|e3m2|e2m3|e2m1}.f32.ue8m0",
        MATRICES,
    ),
    refuse(
        "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale[.scale_vec::2X].f32.e2m1.e2m1.f32.ue8m0",
        MATRICES,
    ),
    refuse(
        "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.{scale_vec::2X|scale_vec::4X}.f32.e2m1.e2m1.f32.{ue8m0|ue4m3}",
        MATRICES,
    ),
    refuse(
        "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.{f16|f32}.{e4m3|e5m2|e3m2|e2m3|e2m1}.{e4m3|e5m2|e3m2|e2m3|e2m1}.{f16|f32}",
        MATRICES,
    ),
    refuse(
        "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::mxf8f6f4.block_scale[.scale_vec::1X].f32.{e4m3|e5m2|e3m2|e2m3|e2m1}.{e4m3|e5m2|e3m2|e2m3|e2m1}.f32.ue8m0",
        MATRICES,
    ),
    refuse(
        "mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4.block_scale[.scale_vec::2X].f32.e2m1.e2m1.f32.ue8m0",
        MATRICES,
    ),
    refuse(
        "mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4nvf4.block_scale.{scale_vec::2X|scale_vec::4X}.f32.e2m1.e2m1.f32.{ue8m0|ue4m3}",
        MATRICES,
    ),
    refuse(
        "mma.{sp|sp::ordered_metadata}.sync.aligned.m16n8k64.row.col.f16.{e4m3|e5m2}.{e4m3|e5m2}.f16",
        MATRICES,
    ),
    refuse("tensormap.replace.tile.swizzle_atomicity[.{global|shared::cta}].b1024.b32", ATOMICITY),
    refuse("redux.sync.{min|max}[.abs][.NaN].f32", REDUCTIONS),
    refuse("st.bulk[.weak][.shared::cta]", FILLS),
];
