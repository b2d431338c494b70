//! `multimem`, which the driver's lack of multicast objects leaves without anything to work on.

use super::{Row, refuse};

pub(super) const ROWS: &[Row] = &[
    refuse(
        "multimem.ld_reduce[.{weak|relaxed|acquire}][.{cta|cluster|gpu|sys}][.global].{min|max|add|and|or|xor}[.{acc::f32|acc::f16}][.{v2|v4|v8}].{b32|b64|u32|s32|u64|s64|f16|f16x2|bf16|bf16x2|f32|f64|e4m3|e5m2|e4m3x2|e5m2x2|e4m3x4|e5m2x4}",
        NONE,
    ),
    refuse(
        "multimem.red[.{relaxed|release}][.{cta|cluster|gpu|sys}][.global].{min|max|add|and|or|xor}[.acc::f32][.{v2|v4|v8}].{b32|b64|u32|s32|u64|s64|f16|f16x2|bf16|bf16x2|f32|f64}",
        NONE,
    ),
    refuse(
        "multimem.st[.{weak|relaxed|release}][.{cta|cluster|gpu|sys}][.global][.{v2|v4|v8}].{b32|b64|u32|s32|u64|s64|f16|f16x2|bf16|bf16x2|f32|f64|e4m3|e5m2|e4m3x2|e5m2x2|e4m3x4|e5m2x4}",
        NONE,
    ),
];

const NONE: &str = "the emulated devices have no multicast objects, on whose addresses alone it works (CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED is 0)";
