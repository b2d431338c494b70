//! Modifiers that do not go together, as ptxas 13.0 has it: what patterns alone cannot say without naming every product.

use cuda_ptx::Type;

/// Orders that an access may have, but for `.weak`.
const ORDERS: &[&str] = &["volatile", "relaxed", "acquire", "release", "mmio"];
const CACHE: &[&str] = &["ca", "cg", "cs", "cv", "lu", "wb", "wt"];
const L1: &[&str] =
    &["L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate"];
const L2: &[&str] = &["L2::evict_normal", "L2::evict_first", "L2::evict_last"];
const PREFETCH: &[&str] = &["L2::64B", "L2::128B", "L2::256B"];
const HINT: &[&str] = &["L2::cache_hint"];
/// Spaces that no other thread sees, or nobody writes.
const PRIVATE: &[&str] = &["const", "local", "param", "param::entry", "param::func"];
const SHARED: &[&str] = &["shared", "shared::cta", "shared::cluster"];
const VECTORS: &[&str] = &["v2", "v4", "v8"];

/// Groups of which an access has modifiers of one only.
const EXCLUDE: &[(&[&str], &[&str])] = &[
    (ORDERS, CACHE),
    (ORDERS, &["nc"]),
    (&["weak"], &["nc"]),
    (&["relaxed", "acquire", "release", "mmio"], PRIVATE),
    // `.local` may be volatile: `since` says from when on.
    (&["volatile"], &["const", "param", "param::entry", "param::func"]),
    (L1, PRIVATE),
    (L1, SHARED),
    (HINT, PRIVATE),
    (HINT, SHARED),
    (PREFETCH, PRIVATE),
    (PREFETCH, SHARED),
    (&["volatile"], L1),
    (&["volatile"], HINT),
    (&["mmio"], L1),
    (&["mmio"], HINT),
    (&["mmio"], PREFETCH),
    (&["mmio"], VECTORS),
    (L1, CACHE),
    (&["nc"], &["cv", "lu"]),
];

/// The same of `atom` and `red`.
const EXCLUDE_ATOMIC: &[(&[&str], &[&str])] = &[(HINT, SHARED)];

/// Modifiers that want one of others.
const REQUIRE: &[(&str, &[&str])] = &[("nc", &["global"]), ("mmio", &["relaxed", "acquire", "release"])];

/// Modifiers that are parts of the name: only such ones, which stand in front of them here, may precede them. All others may stand in any
/// order.
const LEADS: &[(&[&str], &[&str])] = &[
    (&["mul", "mad", "madc", "mul24", "mad24"], &["lo", "hi", "wide"]),
    (&["cvt"], &["pack"]),
    (&["div"], &["full"]),
    (&["setmaxnreg"], &["inc", "dec"]),
    (&["cvta"], &["to"]),
    (&["shf"], &["l", "r"]),
    (&["bar"], &["cta", "warp", "sync", "arrive", "red"]),
    (&["barrier"], &["cta", "cluster", "arrive", "red", "wait"]),
    (&["membar", "fence"], &["proxy"]),
    (&["createpolicy"], &["fractional", "range"]),
    (
        &["cp"],
        &[
            "reduce",
            "async",
            "bulk",
            "prefetch",
            "tensor",
            "mbarrier",
            "arrive",
            "commit_group",
            "wait_group",
        ],
    ),
    (&["tensormap"], &["replace", "cp_fenceproxy", "query"]),
    (&["wmma"], &["load", "store", "mma", "a", "b", "c", "d"]),
    (&["wgmma"], &["fence", "commit_group", "wait_group", "mma_async"]),
    (&["tex"], &["base", "level", "grad"]),
    (&["txq"], &["level"]),
    (&["suld", "sust", "sured"], &["b", "p"]),
    (&["st", "red"], &["async"]),
];

/// Whether the parts of a name that belong to its mnemonic stand in front of the others, in their order.
pub(super) fn leads_stand_first(mnemonic: &str, parts: &[&str]) -> bool {
    let Some((_, leads)) = LEADS.iter().find(|(mnemonics, _)| mnemonics.contains(&mnemonic)) else {
        return true;
    };
    let rank = |part: &str| leads.iter().position(|lead| *lead == part).unwrap_or(leads.len());
    parts.iter().map(|part| rank(part)).try_fold(0, |before, rank| (rank >= before).then_some(rank)).is_some()
}

/// What is wrong with the modifiers of an instruction whose name has a form.
pub(super) fn check(mnemonic: &str, parts: &[&str]) -> Result<(), String> {
    match mnemonic {
        "ld" | "st" => {
            exclude(parts, EXCLUDE)?;
            require(parts)?;
            width(parts)
        }
        "atom" | "red" => exclude(parts, EXCLUDE_ATOMIC),
        _ => Ok(()),
    }
}

fn exclude(parts: &[&str], list: &[(&[&str], &[&str])]) -> Result<(), String> {
    let of = |group: &[&str]| parts.iter().find(|part| group.contains(part)).copied();
    match list.iter().find_map(|(a, b)| of(a).zip(of(b))) {
        Some((a, b)) => Err(format!("`.{a}` and `.{b}` do not go together")),
        None => Ok(()),
    }
}

fn require(parts: &[&str]) -> Result<(), String> {
    let missing = |(a, b): &&(&str, &[&str])| parts.contains(a) && !parts.iter().any(|part| b.contains(part));
    match REQUIRE.iter().find(missing) {
        Some((a, b)) => Err(format!("`.{a}` goes with `.{}` only", b.join("` or `."))),
        None => Ok(()),
    }
}

/// A vector has at most 16 bytes, or 32 in elements of 4 and 8 (which want sm_100: `since` knows); those alone say what becomes of
/// them in the second cache.
fn width(parts: &[&str]) -> Result<(), String> {
    let size = parts.last().and_then(|name| Type::from_name(name)).map_or(0, Type::size);
    let count = match parts.iter().find(|part| VECTORS.contains(part)) {
        Some(&"v2") => 2,
        Some(&"v4") => 4,
        Some(_) => 8,
        None => 1,
    };
    let bytes = size * count;
    let wide = bytes == 32 && matches!(size, 4 | 8);
    if bytes > 16 && !wide {
        return Err(format!(
            "a vector of {bytes} bytes is too long: 16 are possible, or 32 in `.v8` of 4 or `.v4` of 8"
        ));
    }
    match parts.iter().find(|part| L2.contains(part)) {
        Some(part) if !wide => Err(format!("`.{part}` goes with vectors of 32 bytes only")),
        _ => Ok(()),
    }
}
