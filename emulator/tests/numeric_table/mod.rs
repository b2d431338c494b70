//! The instructions whose arithmetic is in `numeric`, each as PTX text and as our function: for comparing the
//! two on a driver. Products of types and modifiers are spelled as products.
#![allow(dead_code, unreachable_pub, clippy::type_complexity)]

mod conversions;
mod floats;
mod integers;
mod video;

use crate::numeric_support::{BF16, F16, F32, F64, Layout};
use cuda_emulator::numeric::rounding::{Mode, Rounding};

/// What an operand or a result is.
#[derive(Clone, Copy)]
pub enum Kind {
    Float(Layout),
    /// Two 16-bit floats.
    Pair(Layout),
    /// An integer of this many bits.
    Int(u32),
    /// A `.u32` shift amount, position or length.
    Amount,
    Predicate,
}

impl Kind {
    /// Bits of its register.
    pub fn width(self) -> u32 {
        match self {
            Kind::Float(layout) => (layout.exponent + layout.fraction + 1).max(16),
            Kind::Int(bits) => bits.max(16),
            Kind::Pair(_) | Kind::Amount => 32,
            Kind::Predicate => 1,
        }
    }
}

pub struct Row {
    /// The instruction, with `{d}`, `{a}`, `{b}`, `{c}` for registers.
    pub ptx: String,
    pub inputs: Vec<Kind>,
    pub output: Kind,
    pub ours: Box<dyn Fn(u64, u64, u64) -> u64>,
}

pub const H: Kind = Kind::Float(F16);
pub const B: Kind = Kind::Float(BF16);
pub const S: Kind = Kind::Float(F32);
pub const D: Kind = Kind::Float(F64);
pub const W: Kind = Kind::Int(32);

#[derive(Default)]
pub struct Table(pub Vec<Row>);

impl Table {
    /// An instruction: its name (with operands only where they are not `d, a, b, c`) and what it computes.
    pub fn row(
        &mut self,
        name: String,
        inputs: &[Kind],
        output: Kind,
        ours: Box<dyn Fn(u64, u64, u64) -> u64>,
    ) {
        let operands = ["{a}", "{b}", "{c}"][..inputs.len()].join(", ");
        let ptx = if name.contains('{') { name } else { format!("{name} {{d}}, {operands};") };
        self.0.push(Row { ptx, inputs: inputs.to_vec(), output, ours });
    }

    pub fn exact(&mut self, name: String, inputs: &[Kind], output: Kind, ours: fn(u64, u64, u64) -> u64) {
        self.row(name, inputs, output, Box::new(ours));
    }
}

pub fn rnd<R: Rounding>() -> &'static str {
    match R::MODE {
        Mode::Nearest => ".rn",
        Mode::Zero => ".rz",
        Mode::Down => ".rm",
        Mode::Up => ".rp",
    }
}

pub fn opt(set: bool, modifier: &'static str) -> &'static str {
    if set { modifier } else { "" }
}

/// The body with a constant that is false, then true.
#[macro_export]
macro_rules! bools {
    (|$flag:ident| $body:block) => {{
        {
            const $flag: bool = false;
            $body
        }
        {
            const $flag: bool = true;
            $body
        }
    }};
}

/// All instructions.
pub fn table() -> Table {
    let mut t = Table::default();
    floats::table(&mut t);
    conversions::table(&mut t);
    integers::table(&mut t);
    video::table(&mut t);
    t
}
