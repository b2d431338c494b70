//! Parts of names that ptxas takes and ignores.

/// Modifiers that ptxas ignores on every instruction but their own.
const IGNORED: &[(&str, &[&str])] = &[
    ("finite", &["testp"]),
    ("acc::f32", &["multimem"]),
    ("b8x16", &["ldmatrix", "tcgen05"]),
    ("b6x16_p32", &["ldmatrix", "tcgen05"]),
    ("b4x16_p64", &["ldmatrix", "tcgen05"]),
];

/// Whether it ignores `.pred` and `.texref`.
fn ignores_types<'n>(mnemonic: &str, mut parts: impl Iterator<Item = &'n str> + Clone) -> bool {
    match mnemonic {
        "abs" | "add" | "atom" | "cos" | "cvt" | "ex2" | "fma" | "lg2" | "max" | "min" | "multimem"
        | "neg" | "rcp" | "rsqrt" | "set" | "setp" | "sin" | "sqrt" | "sub" | "tanh" => true,
        "cp" => parts.clone().any(|part| part == "reduce") && !parts.any(|part| part == "tensor"),
        "mul" => !parts.any(|part| matches!(part, "lo" | "hi" | "wide")),
        "red" => !parts.any(|part| part == "async"),
        "wgmma" => parts.any(|part| part == "mma_async"),
        _ => false,
    }
}

/// Whether a fence is `fence.proxy.tensormap::generic.release`.
fn releases_maps<'n>(mut parts: impl Iterator<Item = &'n str> + Clone) -> bool {
    parts.clone().any(|part| part == "tensormap::generic") && parts.any(|part| part == "release")
}

/// Whether ptxas ignores a part of the name of an instruction.
pub(in super::super) fn is_ignored<'n>(
    mnemonic: &str,
    parts: impl Iterator<Item = &'n str> + Clone,
    part: &str,
) -> bool {
    matches!(part, "pred" | "texref") && ignores_types(mnemonic, parts.clone())
        || IGNORED.iter().any(|(ignored, of)| *ignored == part && !of.contains(&mnemonic))
        || matches!(part, "row" | "col")
            && matches!(mnemonic, "ldmatrix" | "movmatrix" | "stmatrix" | "wgmma")
        || part == "uni" && matches!(mnemonic, "tex" | "tld4")
        || matches!(part, "global" | "shared" | "shared::cta" | "shared::cluster")
            && mnemonic == "fence"
            && releases_maps(parts)
}
