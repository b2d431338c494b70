//! The forms of what copies past the registers, and of what goes with it: groups, tensor maps, fences, policies of the caches, clusters. As in
//! [`forms`](super::forms).

/// Patterns, separated by blanks, and the operands that they have in common.
pub(super) const FORMS: &[(&str, &str)] = &[
    // Copies of single values.
    (
        "cp.async.{ca|cg}.{shared|shared::cta}.global[.L2::cache_hint][.{L2::64B|L2::128B|L2::256B}]",
        "b:shared b:global n h",
    ),
    (
        "cp.async.{ca|cg}.{shared|shared::cta}.global[.L2::cache_hint][.{L2::64B|L2::128B|L2::256B}]",
        "b:shared b:global n s:u32 h",
    ),
    (
        "cp.async.{ca|cg}.{shared|shared::cta}.global[.L2::cache_hint][.{L2::64B|L2::128B|L2::256B}]",
        "b:shared b:global n p h",
    ),
    (
        "cp.async.{commit_group|wait_all} cp.async.bulk.commit_group wgmma.{fence|commit_group}.sync[.aligned]",
        "",
    ),
    ("cp.async.wait_group cp.async.bulk.wait_group[.read] wgmma.wait_group.sync[.aligned]", "n"),
    ("cp.async.mbarrier.arrive[.noinc][.{shared|shared::cta}].b64", "b:shared"),
    // Of many bytes. ptxas takes any scope, and does nothing with it.
    (
        "cp.async.bulk.{shared::cluster|shared::cta}.global[.{cta|cluster|gpu|sys}].mbarrier::complete_tx::bytes",
        "b:shared b:global s:u32 c:shared",
    ),
    (
        "cp.async.bulk.{shared::cluster|shared::cta}.global[.{cta|cluster|gpu|sys}].mbarrier::complete_tx::bytes.L2::cache_hint",
        "b:shared b:global s:u32 b:shared h",
    ),
    (
        "cp.async.bulk.shared::cluster.global[.{cta|cluster|gpu|sys}].mbarrier::complete_tx::bytes.multicast::cluster[.L2::cache_hint]",
        "b:shared b:global s:u32 b:shared s:u16 h",
    ),
    (
        "cp.async.bulk.shared::cluster.shared::cta[.{cta|cluster|gpu|sys}].mbarrier::complete_tx::bytes",
        "b:shared b:shared s:u32 c:shared",
    ),
    (
        "cp.async.bulk.global.shared::cta[.{cta|cluster|gpu|sys}].bulk_group[.L2::cache_hint]",
        "b:global b:shared s:u32 h",
    ),
    (
        "cp.async.bulk.global.shared::cta[.{cta|cluster|gpu|sys}].bulk_group.cp_mask[.L2::cache_hint]",
        "b:global b:shared s:u32 h s:u16",
    ),
    ("cp.async.bulk.prefetch.L2.global[.L2::cache_hint]", "b:global s:u32 h"),
    (
        "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.{u32|s32|u64} \
         cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.{min|max}.{u32|s32} \
         cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.{inc|dec}.u32 \
         cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.{and|or|xor}.b32",
        "b:shared b:shared s:u32 b:shared",
    ),
    (
        "cp.reduce.async.bulk.global.shared::cta.bulk_group[.L2::cache_hint].add.{u32|s32|u64|f32|f64} \
         cp.reduce.async.bulk.global.shared::cta.bulk_group[.L2::cache_hint].add.noftz.{f16|bf16} \
         cp.reduce.async.bulk.global.shared::cta.bulk_group[.L2::cache_hint].{min|max}.{u32|s32|u64|s64|f16|bf16} \
         cp.reduce.async.bulk.global.shared::cta.bulk_group[.L2::cache_hint].{inc|dec}.u32 \
         cp.reduce.async.bulk.global.shared::cta.bulk_group[.L2::cache_hint].{and|or|xor}.{b32|b64}",
        "b:global b:shared s:u32 h",
    ),
    // Of tensors.
    (
        "cp.async.bulk.tensor.{1d|2d|3d|4d|5d}.{shared::cluster|shared::cta}.global[.{tile|tile::gather4}].mbarrier::complete_tx::bytes[.{cta_group::1|cta_group::2}][.L2::cache_hint]",
        "B m B h",
    ),
    (
        "cp.async.bulk.tensor.{1d|2d|3d|4d|5d}.{shared::cluster|shared::cta}.global.{im2col|im2col::w|im2col::w::128}.mbarrier::complete_tx::bytes[.{cta_group::1|cta_group::2}][.L2::cache_hint]",
        "B m B o h",
    ),
    (
        "cp.async.bulk.tensor.{1d|2d|3d|4d|5d}.shared::cluster.global[.{tile|tile::gather4}].mbarrier::complete_tx::bytes.multicast::cluster[.{cta_group::1|cta_group::2}][.L2::cache_hint]",
        "B m B s:u16 h",
    ),
    (
        "cp.async.bulk.tensor.{1d|2d|3d|4d|5d}.shared::cluster.global.{im2col|im2col::w|im2col::w::128}.mbarrier::complete_tx::bytes.multicast::cluster[.{cta_group::1|cta_group::2}][.L2::cache_hint]",
        "B m B o s:u16 h",
    ),
    (
        "cp.async.bulk.tensor.{1d|2d|3d|4d|5d}.global.shared::cta[.{tile|tile::scatter4|im2col_no_offs}].bulk_group[.L2::cache_hint] \
         cp.reduce.async.bulk.tensor.{1d|2d|3d|4d|5d}.global.shared::cta.{add|min|max|inc|dec|and|or|xor}[.{tile|im2col_no_offs}].bulk_group[.L2::cache_hint]",
        "m B h",
    ),
    (
        "cp.async.bulk.prefetch.tensor.{1d|2d|3d|4d|5d}.L2.global[.{tile|tile::gather4}][.L2::cache_hint]",
        "m h",
    ),
    (
        "cp.async.bulk.prefetch.tensor.{1d|2d|3d|4d|5d}.L2.global.{im2col|im2col::w|im2col::w::128}[.L2::cache_hint]",
        "m o h",
    ),
    // Tensor maps.
    ("tensormap.replace.tile.global_address[.{global|shared::cta}].b1024.b64", "A s:b64"),
    ("tensormap.replace.tile.global_stride[.{global|shared::cta}].b1024.b64", "A n s:b64"),
    (
        "tensormap.replace.tile.{box_dim|global_dim|element_stride}[.{global|shared::cta}].b1024.b32",
        "A n s:u32",
    ),
    ("tensormap.replace.tile.rank[.{global|shared::cta}].b1024.b32", "A s:b32"),
    (
        "tensormap.replace.tile.{elemtype|interleave_layout|swizzle_mode|swizzle_atomicity|fill_mode}[.{global|shared::cta}].b1024.b32",
        "A n",
    ),
    (
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.{cta|cluster|gpu|sys}.sync.aligned",
        "b:global b:shared n",
    ),
    ("prefetch[.{param|const}].tensormap", "A"),
    // Fences.
    (
        "fence[.{sc|acq_rel|acquire|release}].{cta|cluster|gpu|sys} fence.mbarrier_init.release.cluster \
         fence.{acquire|release}.{sync_restrict::shared::cta|sync_restrict::shared::cluster}.cluster \
         fence.proxy.async::generic.{acquire|release}.{sync_restrict::shared::cta|sync_restrict::shared::cluster}.cluster \
         fence.proxy.alias fence.proxy.async[.{global|shared::cta|shared::cluster}] fence.proxy.tensormap::generic.release.{cta|cluster|gpu|sys}",
        "",
    ),
    // ptxas does not look at the address.
    ("fence.proxy.tensormap::generic.acquire.{cta|cluster|gpu|sys}", "y n"),
    // Caches.
    ("prefetch[.{global|local}].{L1|L2} prefetch[.global].{L2::evict_last|L2::evict_normal}", "a"),
    ("prefetchu.L1", "a:global"),
    ("discard[.global].L2 applypriority[.global].L2::evict_normal", "a n"),
    (
        "createpolicy.fractional.{L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged}[.{L2::evict_first|L2::evict_unchanged}].b64",
        "d:u64 s:f32?",
    ),
    (
        "createpolicy.range[.global].{L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged}[.{L2::evict_first|L2::evict_unchanged}].b64",
        "d:u64 A s:u32 s:u32",
    ),
    ("createpolicy.cvt.L2.b64", "d:u64 s:u64"),
    // Clusters and grids.
    ("mapa[.shared::cluster].{u32|u64}", "d x:shared s:u32"),
    ("getctarank[.shared::cluster].{u32|u64}", "d:u32 x:shared"),
    ("elect.sync", "d:u32| s:u32"),
    ("griddepcontrol.{wait|launch_dependents}", ""),
    ("setmaxnreg.{inc|dec}.sync.aligned.u32 pmevent pmevent.mask", "n"),
];
