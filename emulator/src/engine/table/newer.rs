//! What came after PTX 9.0 and is not executed: it is refused by name, with the version that it came with. `valid::since` says from which
//! version and on which targets it may stand in a module.

const NO_FORM: &str = "the emulator does not have this form of the instruction";
const NO_MULTICAST: &str =
    "the emulated devices have no multicast objects, on whose addresses alone it works";
const NO_FABRIC: &str = "the emulated devices have no fabric";

/// A mnemonic, the modifiers that make a form of it a newer one, the version that it came with, and why it is not executed.
type Newer = (&'static str, &'static [&'static str], &'static str, &'static str);

const NEWER: &[Newer] = &[
    ("multimem", &["cp"], "9.1", NO_MULTICAST),
    ("add", &["u8x4"], "9.2", NO_FORM),
    ("add", &["s8x4"], "9.2", NO_FORM),
    ("add", &["sat", "u32"], "9.2", NO_FORM),
    ("add", &["sat", "u16x2"], "9.2", NO_FORM),
    ("add", &["sat", "s16x2"], "9.2", NO_FORM),
    ("sub", &["u8x4"], "9.2", NO_FORM),
    ("sub", &["s8x4"], "9.2", NO_FORM),
    ("min", &["u8x4"], "9.2", NO_FORM),
    ("min", &["s8x4"], "9.2", NO_FORM),
    ("max", &["u8x4"], "9.2", NO_FORM),
    ("max", &["s8x4"], "9.2", NO_FORM),
    ("neg", &["s8x4"], "9.2", NO_FORM),
    ("cvt", &["scaled::n2::ue8m0", "bf16x2", "e4m3x2"], "9.2", NO_FORM),
    ("cvt", &["scaled::n2::ue8m0", "bf16x2", "e5m2x2"], "9.2", NO_FORM),
    ("cvt", &["scaled::n2::ue8m0", "bf16x2", "e2m3x2"], "9.2", NO_FORM),
    ("cvt", &["scaled::n2::ue8m0", "bf16x2", "e3m2x2"], "9.2", NO_FORM),
    ("cvt", &["scaled::n2::ue8m0", "bf16x2", "e2m1x2"], "9.2", NO_FORM),
    ("fabric", &[], "9.3", NO_FABRIC),
    ("fence", &["generic::fabric"], "9.3", NO_FABRIC),
    ("fence", &["fabric::generic"], "9.3", NO_FABRIC),
    ("fence", &["fabric::fabric"], "9.3", NO_FABRIC),
    ("multimem", &["st", "async"], "9.3", NO_MULTICAST),
    ("multimem", &["red", "async"], "9.3", NO_MULTICAST),
    ("ldmatrix", &["s8", "s4"], "9.4", NO_FORM),
    ("tensormap", &["query", "global"], "9.5", NO_FORM),
];

/// Why an instruction that came after PTX 9.0 is not executed; `None` of others.
pub(in super::super) fn refusal(name: &str) -> Option<String> {
    let mut parts = name.split('.');
    let mnemonic = parts.next()?;
    let has = |wanted: &[&str]| wanted.iter().all(|part| parts.clone().any(|other| other == *part));
    let (.., version, why) = NEWER.iter().find(|(of, wanted, ..)| *of == mnemonic && has(wanted))?;
    Some(format!("it came with PTX {version}; {why}"))
}
