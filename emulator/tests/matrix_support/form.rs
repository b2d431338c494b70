//! The forms of `mma`, dense and sparse, and of `wmma.mma`, as products of shapes and types.

use crate::numeric_support::Layout;

/// The type of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elem {
    F16,
    Bf16,
    Tf32,
    F32,
    F64,
    E4m3,
    E5m2,
    S8,
    U8,
    S4,
    U4,
    B1,
    S32,
}

impl Elem {
    pub fn named(name: &str) -> Elem {
        use Elem::*;
        let all = [F16, Bf16, Tf32, F32, F64, E4m3, E5m2, S8, U8, S4, U4, B1, S32];
        all.into_iter().find(|elem| elem.name() == name).unwrap()
    }

    pub fn name(self) -> &'static str {
        match self {
            Elem::F16 => "f16",
            Elem::Bf16 => "bf16",
            Elem::Tf32 => "tf32",
            Elem::F32 => "f32",
            Elem::F64 => "f64",
            Elem::E4m3 => "e4m3",
            Elem::E5m2 => "e5m2",
            Elem::S8 => "s8",
            Elem::U8 => "u8",
            Elem::S4 => "s4",
            Elem::U4 => "u4",
            Elem::B1 => "b1",
            Elem::S32 => "s32",
        }
    }

    pub fn bits(self) -> usize {
        match self {
            Elem::F16 | Elem::Bf16 => 16,
            Elem::Tf32 | Elem::F32 | Elem::S32 => 32,
            Elem::F64 => 64,
            Elem::E4m3 | Elem::E5m2 | Elem::S8 | Elem::U8 => 8,
            Elem::S4 | Elem::U4 => 4,
            Elem::B1 => 1,
        }
    }

    /// The layout of a float; of `.tf32` all bits of its register.
    pub fn float(self) -> Option<Layout> {
        let (exponent, fraction) = match self {
            Elem::F16 => (5, 10),
            Elem::Bf16 => (8, 7),
            Elem::Tf32 | Elem::F32 => (8, 23),
            Elem::F64 => (11, 52),
            Elem::E4m3 => (4, 3),
            Elem::E5m2 => (5, 2),
            _ => return None,
        };
        Some(Layout { exponent, fraction })
    }
}

/// Which instruction it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Dense,
    /// `mma.m8n8k4` of halves: four products, each by eight lanes. Whether A and B are row-major.
    Quads(bool, bool),
    /// `mma.sp`, with that selector.
    Sparse(u32),
    Wmma,
}

/// One form of a matrix instruction.
#[derive(Clone, Debug)]
pub struct Form {
    pub name: String,
    pub kind: Kind,
    /// Rows of A and D.
    pub m: usize,
    /// Columns of B and D.
    pub n: usize,
    /// Columns of A, as if it were not sparse.
    pub k: usize,
    /// Types of A, B, C and D.
    pub types: [Elem; 4],
    pub saturates: bool,
    /// `.and.popc`, not `.xor.popc`.
    pub and: bool,
}

impl Form {
    /// Bytes of a register.
    pub fn width(&self) -> usize {
        if self.types[0] == Elem::F64 { 8 } else { 4 }
    }

    /// Registers of A, B, C and D in each lane.
    pub fn registers(&self) -> [usize; 4] {
        let [a, b, c, d] = self.types;
        let count = |elements: usize, elem: Elem| elements * elem.bits() / (32 * 8 * self.width());
        let accumulator = |elem| count(self.m * self.n, elem);
        match self.kind {
            Kind::Quads(..) => [2, 2, 4 * c.bits() / 16, 4 * d.bits() / 16],
            Kind::Sparse(_) => {
                [count(self.m * self.k / 2, a), count(self.n * self.k, b), accumulator(c), accumulator(d)]
            }
            // Fragments of halves have room for duplicates.
            Kind::Wmma if a == Elem::F16 => [8, 8, accumulator(c), accumulator(d)],
            _ => [count(self.m * self.k, a), count(self.n * self.k, b), accumulator(c), accumulator(d)],
        }
    }
}

const HALVES: [Elem; 2] = [Elem::F16, Elem::F32];
const EIGHTS: [Elem; 2] = [Elem::E4m3, Elem::E5m2];
const BYTES: [Elem; 2] = [Elem::S8, Elem::U8];
const NIBBLES: [Elem; 2] = [Elem::S4, Elem::U4];

/// All pairs of two lists.
fn pairs<A: Copy, B: Copy>(a: &[A], b: &[B]) -> Vec<(A, B)> {
    a.iter().flat_map(|&a| b.iter().map(move |&b| (a, b))).collect()
}

fn shape([m, n, k]: [usize; 3]) -> String {
    format!("m{m}n{n}k{k}")
}

/// A form with the modifiers that `mma` and `mma.sp` share.
fn plain(kind: Kind, size: [usize; 3], types: [Elem; 4]) -> Form {
    let [a, b, c, d] = types.map(Elem::name);
    let variant = if matches!(kind, Kind::Sparse(_)) { ".sp" } else { "" };
    let name = format!("mma{variant}.sync.aligned.{}.row.col.{d}.{a}.{b}.{c}", shape(size));
    let [m, n, k] = size;
    Form { name, kind, m, n, k, types, saturates: false, and: false }
}

fn saturating(mut form: Form) -> Form {
    form.name = form.name.replace("row.col.", "row.col.satfinite.");
    form.saturates = true;
    form
}

/// `mma` of floats, without `.m8n8k4` of halves.
fn dense_floats() -> Vec<Form> {
    let mut forms = Vec::new();
    let mut add = |size, types| forms.push(plain(Kind::Dense, size, types));
    for (k, acc) in pairs(&[8, 16], &HALVES) {
        add([16, 8, k], [Elem::F16, Elem::F16, acc, acc]);
    }
    for k in [8, 16] {
        add([16, 8, k], [Elem::Bf16, Elem::Bf16, Elem::F32, Elem::F32]);
    }
    for k in [4, 8] {
        add([16, 8, k], [Elem::Tf32, Elem::Tf32, Elem::F32, Elem::F32]);
    }
    for ((k, acc), (a, b)) in pairs(&pairs(&[16, 32], &HALVES), &pairs(&EIGHTS, &EIGHTS)) {
        add([16, 8, k], [a, b, acc, acc]);
    }
    for size in [[8, 8, 4], [16, 8, 4], [16, 8, 8], [16, 8, 16]] {
        add(size, [Elem::F64; 4]);
    }
    forms
}

/// `mma.m8n8k4` of halves.
fn quads() -> Vec<Form> {
    let layouts = pairs(&[true, false], &[true, false]);
    let accumulators = [(Elem::F16, Elem::F16), (Elem::F16, Elem::F32), (Elem::F32, Elem::F32)];
    pairs(&layouts, &accumulators)
        .into_iter()
        .map(|((a, b), (c, d))| {
            let mut form = plain(Kind::Quads(a, b), [8, 8, 4], [Elem::F16, Elem::F16, c, d]);
            let side = |row| if row { "row" } else { "col" };
            form.name = form.name.replace("row.col", &format!("{}.{}", side(a), side(b)));
            form
        })
        .collect()
}

/// `mma` of integers.
fn dense_integers() -> Vec<Form> {
    let bytes = pairs(&[[8, 8, 16], [16, 8, 16], [16, 8, 32]], &pairs(&BYTES, &BYTES));
    let nibbles = pairs(&[[8, 8, 32], [16, 8, 32], [16, 8, 64]], &pairs(&NIBBLES, &NIBBLES));
    let mut forms = Vec::new();
    for (size, (a, b)) in bytes.into_iter().chain(nibbles) {
        let form = plain(Kind::Dense, size, [a, b, Elem::S32, Elem::S32]);
        forms.extend([form.clone(), saturating(form)]);
    }
    for (size, and) in pairs(&[[8, 8, 128], [16, 8, 128], [16, 8, 256]], &[false, true]) {
        let mut form = plain(Kind::Dense, size, [Elem::B1, Elem::B1, Elem::S32, Elem::S32]);
        form.name.push_str(if and { ".and.popc" } else { ".xor.popc" });
        form.and = and;
        forms.push(form);
    }
    forms
}

/// `mma.sp`.
fn sparse() -> Vec<Form> {
    let mut forms = Vec::new();
    let mut add = |k, selectors: u32, types| {
        for selector in 0..selectors {
            let mut form = plain(Kind::Sparse(selector), [16, 8, k], types);
            // What is read of the metadata's lanes is the selector's to say.
            form.name = form.name.replace(".sp.", ".sp::ordered_metadata.");
            forms.push(form);
        }
    };
    for acc in HALVES {
        add(16, 4, [Elem::F16, Elem::F16, acc, acc]);
        add(32, 2, [Elem::F16, Elem::F16, acc, acc]);
    }
    for (elem, [small, large]) in [(Elem::Bf16, [16, 32]), (Elem::Tf32, [8, 16])] {
        add(small, 4, [elem, elem, Elem::F32, Elem::F32]);
        add(large, 2, [elem, elem, Elem::F32, Elem::F32]);
    }
    for (a, b) in pairs(&EIGHTS, &EIGHTS) {
        add(64, 1, [a, b, Elem::F32, Elem::F32]);
    }
    for (a, b) in pairs(&BYTES, &BYTES) {
        add(32, 2, [a, b, Elem::S32, Elem::S32]);
        add(64, 1, [a, b, Elem::S32, Elem::S32]);
    }
    for (a, b) in pairs(&NIBBLES, &NIBBLES) {
        add(64, 2, [a, b, Elem::S32, Elem::S32]);
        add(128, 1, [a, b, Elem::S32, Elem::S32]);
    }
    let integers: Vec<Form> = forms.iter().filter(|form| form.types[2] == Elem::S32).cloned().collect();
    forms.extend(integers.into_iter().map(saturating));
    forms
}

/// The shapes that `wmma` has for numbers of 8 and 16 bits.
pub const WMMA_SHAPES: [[usize; 3]; 3] = [[16, 16, 16], [8, 32, 16], [32, 8, 16]];

/// `wmma.mma` on fragments, whose layouts are row and column.
fn wmma() -> Vec<Form> {
    let mut forms = Vec::new();
    let mut add = |size: [usize; 3], types: [Elem; 4], end: &str, middle: &str| {
        let name = format!("wmma.mma{middle}.sync.aligned.row.col.{}{end}", shape(size));
        let [m, n, k] = size;
        let (saturates, and) = (end.ends_with("satfinite"), middle.contains("and"));
        forms.push(Form { name, kind: Kind::Wmma, m, n, k, types, saturates, and });
    };
    for (size, (c, d)) in pairs(&WMMA_SHAPES, &pairs(&HALVES, &HALVES)) {
        add(size, [Elem::F16, Elem::F16, c, d], &format!(".{}.{}", d.name(), c.name()), "");
    }
    let typed = |[a, b, c, d]: [Elem; 4]| format!(".{}.{}.{}.{}", d.name(), a.name(), b.name(), c.name());
    let mut typed_forms: Vec<([usize; 3], [Elem; 4])> = Vec::new();
    for size in WMMA_SHAPES {
        typed_forms.push((size, [Elem::Bf16, Elem::Bf16, Elem::F32, Elem::F32]));
        typed_forms.extend(BYTES.map(|elem| (size, [elem, elem, Elem::S32, Elem::S32])));
    }
    typed_forms.push(([16, 16, 8], [Elem::Tf32, Elem::Tf32, Elem::F32, Elem::F32]));
    typed_forms.extend(NIBBLES.map(|elem| ([8, 8, 32], [elem, elem, Elem::S32, Elem::S32])));
    for (size, types) in typed_forms {
        add(size, types, &typed(types), "");
        if types[2] == Elem::S32 {
            add(size, types, &format!("{}.satfinite", typed(types)), "");
        }
    }
    for rounding in ["", ".rn", ".rz", ".rm", ".rp"] {
        add([8, 8, 4], [Elem::F64; 4], &format!("{rounding}{}", typed([Elem::F64; 4])), "");
    }
    for op in [".xor.popc", ".and.popc"] {
        let types = [Elem::B1, Elem::B1, Elem::S32, Elem::S32];
        add([8, 8, 128], types, &typed(types), op);
    }
    forms
}

/// All forms.
pub fn forms() -> Vec<Form> {
    [dense_floats(), quads(), dense_integers(), sparse(), wmma()].concat()
}
