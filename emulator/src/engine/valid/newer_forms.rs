//! The forms that came after PTX 9.0, as ptxas 13.5 takes them. As in [`forms`](super::forms); `since` has the versions.

/// Patterns, separated by blanks, and the operands that they have in common.
pub(super) const FORMS: &[(&str, &str)] = &[
    ("clmad.{lo|hi}.{u64|s64}", "d s s s"),
    ("sin.approx.ftz.2pi.f32 cos.approx.ftz.2pi.f32", "d s"),
    // As `.tf32`, a register of bits.
    ("cvt.rn[.satfinite][.relu].bf16x2.{e4m3x2|e5m2x2|e2m3x2|e3m2x2|e2m1x2}", "d:tf32 s2"),
    (
        "ld.mmio.acquire.sys[.global].{b8|b16|b32|b64|b128|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64} \
         ld.proxy::readonly[.global][.nc][.{v2|v4|v8}].{b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64}",
        "r a h",
    ),
    ("st.mmio.release.sys[.global].{b8|b16|b32|b64|b128|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64}", "a t h"),
    (
        "st.async[.weak][.{shared|shared::cta|shared::cluster}].mbarrier::complete_tx::bytes.b128",
        "A s b:shared",
    ),
    (
        "atom[.{relaxed|acquire|release|acq_rel}][.{cta|cluster|gpu|sys}][.{global|shared|shared::cta|shared::cluster}].add.noftz[.L2::cache_hint].f32",
        "d a s h",
    ),
    (
        "atom[.{relaxed|acquire|release|acq_rel}][.{cta|cluster|gpu|sys}][.global].add.noftz[.L2::cache_hint].{v2|v4}.f32",
        "D a S h",
    ),
    (
        "red[.{relaxed|release}][.{cta|cluster|gpu|sys}][.{global|shared|shared::cta|shared::cluster}].add.noftz[.L2::cache_hint].f32",
        "a s h",
    ),
    (
        "red[.{relaxed|release}][.{cta|cluster|gpu|sys}][.global].add.noftz[.L2::cache_hint].{v2|v4}.f32",
        "a S h",
    ),
    ("prefetch[.global].valid_addr.L1::32B", "a"),
    // Of many bytes.
    (
        "cp.async.bulk[.weak].shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob[.L2::cache_hint] \
         cp.async.bulk.relaxed.{cta|cluster|gpu|sys}.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob[.L2::cache_hint].b128",
        "b:shared b:global s:u32 s:u32 s:u32 b:shared h",
    ),
    (
        "cp.async.bulk.weak.{shared::cluster|shared::cta}.global.mbarrier::complete_tx::bytes[.L2::cache_hint] \
         cp.async.bulk.relaxed.{cta|cluster|gpu|sys}.{shared::cluster|shared::cta}.global.mbarrier::complete_tx::bytes[.L2::cache_hint].b128",
        "b:shared b:global s:u32 b:shared h",
    ),
    (
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster::16b[.L2::cache_hint] \
         cp.async.bulk.weak.shared::cluster.global.mbarrier::complete_tx::bytes.{multicast::cluster|multicast::cluster::16b}[.L2::cache_hint] \
         cp.async.bulk.relaxed.{cta|cluster|gpu|sys}.shared::cluster.global.mbarrier::complete_tx::bytes.{multicast::cluster|multicast::cluster::16b}[.L2::cache_hint].b128",
        "b:shared b:global s:u32 b:shared s:u16 h",
    ),
    (
        "cp.async.bulk.weak.shared::cluster.shared::cta.mbarrier::complete_tx::bytes \
         cp.async.bulk.relaxed.{cta|cluster}.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.b128",
        "b:shared b:shared s:u32 b:shared",
    ),
    (
        "cp.async.bulk.weak.global.shared::cta.bulk_group[.L2::cache_hint] \
         cp.async.bulk.relaxed.{cta|cluster|gpu|sys}.global.shared::cta.bulk_group[.L2::cache_hint].b128",
        "b:global b:shared s:u32 h",
    ),
    (
        "cp.async.bulk.weak.global.shared::cta.bulk_group.cp_mask[.L2::cache_hint] \
         cp.async.bulk.relaxed.{cta|cluster|gpu|sys}.global.shared::cta.bulk_group.cp_mask[.L2::cache_hint].b128",
        "b:global b:shared s:u32 h s:u16",
    ),
    (
        "cp.reduce.async.bulk.relaxed.{cta|cluster}.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.{u32|s32|u64} \
         cp.reduce.async.bulk.relaxed.{cta|cluster}.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.{min|max}.{u32|s32} \
         cp.reduce.async.bulk.relaxed.{cta|cluster}.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.{inc|dec}.u32 \
         cp.reduce.async.bulk.relaxed.{cta|cluster}.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.{and|or|xor}.b32",
        "b:shared b:shared s:u32 b:shared",
    ),
    (
        "cp.reduce.async.bulk.global.shared::cta.bulk_group[.L2::cache_hint].add.noftz.f32 \
         cp.reduce.async.bulk.relaxed.{cta|cluster|gpu|sys}.global.shared::cta.bulk_group[.L2::cache_hint].add.{u32|s32|u64|f32|f64} \
         cp.reduce.async.bulk.relaxed.{cta|cluster|gpu|sys}.global.shared::cta.bulk_group[.L2::cache_hint].add.noftz.{f16|bf16|f32} \
         cp.reduce.async.bulk.relaxed.{cta|cluster|gpu|sys}.global.shared::cta.bulk_group[.L2::cache_hint].{min|max}.{u32|s32|u64|s64|f16|bf16} \
         cp.reduce.async.bulk.relaxed.{cta|cluster|gpu|sys}.global.shared::cta.bulk_group[.L2::cache_hint].{inc|dec}.u32 \
         cp.reduce.async.bulk.relaxed.{cta|cluster|gpu|sys}.global.shared::cta.bulk_group[.L2::cache_hint].{and|or|xor}.{b32|b64}",
        "b:global b:shared s:u32 h",
    ),
    ("cp.async.bulk.wait_group.sync_restrict::proxy::async", "n"),
    // Of tensors.
    (
        "cp.async.bulk.tensor.{1d|2d|3d|4d|5d}.shared::cluster.global[.{tile|tile::gather4}].mbarrier::complete_tx::bytes.multicast::cluster::16b[.{cta_group::1|cta_group::2}][.L2::cache_hint]",
        "B m B s:u16 h",
    ),
    (
        "cp.async.bulk.tensor.{1d|2d|3d|4d|5d}.shared::cluster.global.{im2col|im2col::w|im2col::w::128}.mbarrier::complete_tx::bytes.multicast::cluster::16b[.{cta_group::1|cta_group::2}][.L2::cache_hint]",
        "B m B o s:u16 h",
    ),
    // Barriers.
    ("mbarrier.init.{layout::v0|layout::v1}[.{shared|shared::cta}].b64", "a s:u32"),
    ("mbarrier.check_layout.{layout::v0|layout::v1}[.{shared|shared::cta}].b64", "q a"),
    ("mbarrier.pending_count.layout::v0.b64", "d:u32 s:u64"),
    (
        "mbarrier.test_wait.phase_type::primary[.{shared|shared::cta}].b64 \
         mbarrier.test_wait.phase_type::primary.{acquire|relaxed}.{cta|cluster}[.{shared|shared::cta}].b64",
        "q| a s:u64",
    ),
    (
        "mbarrier.test_wait.phase_type::primary[.{shared|shared::cta}].b64 \
         mbarrier.test_wait.phase_type::primary.{acquire|relaxed}.{cta|cluster}[.{shared|shared::cta}].b64",
        "q| d:b8 a s:u64",
    ),
    (
        "mbarrier.test_wait.parity.phase_type::primary[.{shared|shared::cta}].b64 \
         mbarrier.test_wait.parity.phase_type::primary.{acquire|relaxed}.{cta|cluster}[.{shared|shared::cta}].b64",
        "q| a s:u32",
    ),
    (
        "mbarrier.test_wait.parity.phase_type::primary[.{shared|shared::cta}].b64 \
         mbarrier.test_wait.parity.phase_type::primary.{acquire|relaxed}.{cta|cluster}[.{shared|shared::cta}].b64",
        "q| d:b8 a s:u32",
    ),
    (
        "mbarrier.test_wait.parity.phase_type::conditional[.{shared|shared::cta}].b64 \
         mbarrier.test_wait.parity.phase_type::conditional.{acquire|relaxed}.{cta|cluster}[.{shared|shared::cta}].b64",
        "q a s:u32",
    ),
    (
        "mbarrier.try_wait.phase_type::primary[.{shared|shared::cta}].b64 \
         mbarrier.try_wait.phase_type::primary.{acquire|relaxed}.{cta|cluster}[.{shared|shared::cta}].b64",
        "q| a s:u64 s:u32?",
    ),
    (
        "mbarrier.try_wait.phase_type::primary[.{shared|shared::cta}].b64 \
         mbarrier.try_wait.phase_type::primary.{acquire|relaxed}.{cta|cluster}[.{shared|shared::cta}].b64",
        "q| d:b8 a s:u64 s:u32?",
    ),
    (
        "mbarrier.try_wait.parity.phase_type::primary[.{shared|shared::cta}].b64 \
         mbarrier.try_wait.parity.phase_type::primary.{acquire|relaxed}.{cta|cluster}[.{shared|shared::cta}].b64",
        "q| a s:u32 s:u32?",
    ),
    (
        "mbarrier.try_wait.parity.phase_type::primary[.{shared|shared::cta}].b64 \
         mbarrier.try_wait.parity.phase_type::primary.{acquire|relaxed}.{cta|cluster}[.{shared|shared::cta}].b64",
        "q| d:b8 a s:u32 s:u32?",
    ),
    (
        "mbarrier.try_wait.parity.phase_type::conditional[.{shared|shared::cta}].b64 \
         mbarrier.try_wait.parity.phase_type::conditional.{acquire|relaxed}.{cta|cluster}[.{shared|shared::cta}].b64",
        "q a s:u32 s:u32?",
    ),
    // Fences.
    (
        "fence.proxy.alias.{acquire|release}.sys fence.alias.sync_restrict::read.release.sys \
         fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.cluster",
        "",
    ),
];
