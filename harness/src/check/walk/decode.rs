//! The instructions of a kernel, as operations on numbers.

use super::Program;
use cuda_ptx::{Function, Instruction, Literal, Operand, Space, Statement, Type};
use std::collections::HashMap;

/// The maximum number of registers of a kernel; more than any compiler uses.
const MOST_REGISTERS: usize = 1 << 16;

pub(super) type Register = usize;

/// An operation and its guard.
#[derive(Clone, Debug)]
pub(super) struct Op {
    /// A predicate, and the value that it must have.
    pub(super) guard: Option<(Register, bool)>,
    pub(super) what: What,
}

#[derive(Clone, Debug)]
pub(super) enum What {
    /// Loads bytes of the arguments.
    Parameter { to: Register, offset: usize, bytes: usize, is_signed: bool },
    /// Computes an integer.
    Compute { to: Register, how: Compute, of: Int, from: [Value; 3] },
    /// Accesses global memory.
    Touch { base: Value, offset: i64, bytes: u64, how: super::How },
    /// Makes the values of registers unknown.
    Forget(Vec<Register>),
    /// Jumps to the operation with that index.
    Jump(usize),
    /// Ends, or does something that cannot be followed.
    Stop,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compute {
    Copy,
    /// From a number of these bits.
    Convert(Int),
    Add,
    Sub,
    Multiply,
    MultiplyHigh,
    MultiplyWide,
    MultiplyAdd,
    MultiplyAddWide,
    Divide,
    Remainder,
    Min,
    Max,
    And,
    Or,
    Xor,
    Not,
    Negate,
    /// The number of set bits.
    Ones,
    Left,
    Right,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Select,
}

/// An integer type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Int {
    pub(super) bits: u32,
    pub(super) is_signed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Register(Register),
    Bits(u64),
    Special(Special),
    Unknown,
}

/// Special registers, each with its axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Special {
    Blocks(usize),
    Threads(usize),
    Block(usize),
    Thread(usize),
}

pub(super) fn program(function: &Function<'_>) -> Option<Program> {
    let statements = function.statements().ok()?;
    let parameters = function.parameters();
    let mut decoder = Decoder {
        parameters: parameters.iter().map(|p| (p.name.as_str(), p.offset)).collect(),
        scopes: vec![HashMap::new()],
        registers: 0,
        labels: HashMap::new(),
        jumps: Vec::new(),
        ops: Vec::new(),
    };
    decoder.walk(&statements)?;
    for (at, label) in decoder.jumps {
        let to = *decoder.labels.get(label)?;
        decoder.ops.get_mut(at)?.what = What::Jump(to);
    }
    let places = parameters.iter().map(|p| (p.offset, p.size)).collect();
    Some(Program { ops: decoder.ops, registers: decoder.registers, parameters: places })
}

struct Decoder<'t> {
    parameters: HashMap<&'t str, usize>,
    /// Names of registers, the innermost block last.
    scopes: Vec<HashMap<String, Register>>,
    registers: usize,
    labels: HashMap<&'t str, usize>,
    jumps: Vec<(usize, &'t str)>,
    ops: Vec<Op>,
}

impl<'t> Decoder<'t> {
    fn walk(&mut self, statements: &'t [Statement<'t>]) -> Option<()> {
        for statement in statements {
            match statement {
                Statement::Instruction(instruction) => self.instruction(instruction)?,
                // Two labels with the same name are in different blocks: which one is meant is not determined.
                Statement::Label(name) if self.labels.contains_key(name) => return None,
                Statement::Label(name) => {
                    self.labels.insert(name, self.ops.len());
                }
                Statement::Variable(variable) if variable.space == Space::Reg => match variable.count {
                    Some(count) => {
                        for number in 0..count {
                            self.declare(format!("{}{number}", variable.name))?;
                        }
                    }
                    None => self.declare(variable.name.to_owned())?,
                },
                Statement::Block(inner) => {
                    self.scopes.push(HashMap::new());
                    self.walk(inner)?;
                    self.scopes.pop();
                }
                _ => {}
            }
        }
        Some(())
    }

    fn declare(&mut self, name: String) -> Option<()> {
        let register = self.registers;
        self.registers += 1;
        self.scopes.last_mut()?.insert(name, register);
        (self.registers <= MOST_REGISTERS).then_some(())
    }

    fn register(&self, name: &str) -> Option<Register> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name)).copied()
    }

    /// Every register that an operand names.
    fn registers(&self, operand: &Operand<'_>) -> Vec<Register> {
        let mut names = Vec::new();
        operand.names(&mut names);
        names.iter().filter_map(|name| self.register(name)).collect()
    }

    fn value(&self, operand: &Operand<'_>) -> Value {
        match operand {
            Operand::Literal(Literal::Int(number)) => Value::Bits(*number as u64),
            Operand::Name(name) => match self.register(name) {
                Some(register) => Value::Register(register),
                None => special(name).map_or(Value::Unknown, Value::Special),
            },
            _ => Value::Unknown,
        }
    }

    fn instruction(&mut self, instruction: &'t Instruction<'t>) -> Option<()> {
        let guard = match instruction.guard {
            Some(guard) => Some((self.register(guard.register)?, !guard.negated)),
            None => None,
        };
        let mut parts = instruction.name.split('.');
        let name = parts.next().unwrap_or_default();
        let parts: Vec<&str> = parts.collect();
        let operands = instruction.operands.as_slice();
        if name == "bra"
            && let [Operand::Name(label)] = operands
        {
            self.jumps.push((self.ops.len(), label));
            self.ops.push(Op { guard, what: What::Stop });
            return Some(());
        }
        for what in self.operations(name, &parts, operands) {
            self.ops.push(Op { guard, what });
        }
        Some(())
    }

    fn operations(&self, name: &str, parts: &[&str], operands: &[Operand<'t>]) -> Vec<What> {
        match (name, operands) {
            ("ret" | "exit" | "trap" | "call" | "brx" | "bra", _) => vec![What::Stop],
            ("ld", [to, from]) if parts.iter().any(|part| part.starts_with("param")) => {
                self.parameter(parts, to, from)
            }
            ("ld" | "ldu", [to, from, ..]) => {
                let touch = self.touch(parts, from, super::How::Read);
                touch.into_iter().chain([What::Forget(self.registers(to))]).collect()
            }
            ("st", [to, ..]) => self.touch(parts, to, super::How::Write).into_iter().collect(),
            ("red", [to, ..]) => self.touch(parts, to, super::How::Shared).into_iter().collect(),
            ("atom", [to, at, ..]) => {
                let touch = self.touch(parts, at, super::How::Shared);
                touch.into_iter().chain([What::Forget(self.registers(to))]).collect()
            }
            (_, [to, from @ ..]) => {
                let known = self.computed(name, parts, to, from);
                vec![known.unwrap_or_else(|| What::Forget(self.registers(to)))]
            }
            _ => Vec::new(),
        }
    }

    /// A load of kernel arguments; or of the parameters of a called function, which is not followed.
    fn parameter(&self, parts: &[&str], to: &Operand<'t>, from: &Operand<'t>) -> Vec<What> {
        let place = match from {
            Operand::Address { base, offset } => match &**base {
                Operand::Name(name) => {
                    self.parameters.get(name).and_then(|start| start.checked_add_signed(*offset as isize))
                }
                _ => None,
            },
            _ => None,
        };
        let bytes = ty(parts).map(|ty| ty.size());
        let (Some(start), Some(bytes @ (1 | 2 | 4 | 8))) = (place, bytes) else {
            return vec![What::Forget(self.registers(to))];
        };
        let is_signed = parts.last().and_then(|part| int(part)).is_some_and(|int| int.is_signed);
        let places = std::slice::from_ref(to);
        let list = if let Operand::Vector(list) = to { list.as_slice() } else { places };
        let loads = list.iter().enumerate().filter_map(|(number, to)| {
            let Operand::Name(name) = to else { return None };
            Some(What::Parameter {
                to: self.register(name)?,
                offset: start + number * bytes,
                bytes,
                is_signed,
            })
        });
        loads.collect()
    }

    /// An access to global memory; none to other memory.
    fn touch(&self, parts: &[&str], at: &Operand<'t>, how: super::How) -> Option<What> {
        let elsewhere = |part: &&str| {
            ["shared", "local", "const", "param"].iter().any(|space| part.split("::").next() == Some(space))
        };
        if parts.iter().any(elsewhere) {
            return None;
        }
        let Operand::Address { base, offset } = at else { return None };
        let count = parts.iter().find_map(|part| match *part {
            "v2" => Some(2),
            "v4" => Some(4),
            "v8" => Some(8),
            _ => None,
        });
        let bytes = ty(parts)?.size() as u64 * count.unwrap_or(1);
        let ordered = ["volatile", "relaxed", "acquire", "release", "mmio", "async"];
        let is_shared = parts.iter().any(|part| ordered.contains(part));
        let how = if is_shared { super::How::Shared } else { how };
        Some(What::Touch { base: self.value(base), offset: *offset, bytes, how })
    }

    /// A computation; `None` if the instruction is not known here.
    fn computed(&self, name: &str, parts: &[&str], to: &Operand<'t>, from: &[Operand<'t>]) -> Option<What> {
        let Operand::Name(to) = to else { return None };
        let to = self.register(to)?;
        if parts.iter().any(|part| matches!(*part, "cc" | "sat")) {
            return None;
        }
        if name == "cvta" && !parts.contains(&"global") && parts != ["u64"] {
            return None;
        }
        let (how, of) = how(name, parts)?;
        let mut values = [Value::Bits(0); 3];
        if from.len() > values.len() {
            return None;
        }
        values.iter_mut().zip(from).for_each(|(value, operand)| *value = self.value(operand));
        Some(What::Compute { to, how, of, from: values })
    }
}

/// What an instruction computes, and the type of its result; for comparisons and conversions the type of its source.
fn how(name: &str, parts: &[&str]) -> Option<(Compute, Int)> {
    let of = int(parts.last()?)?;
    let wide = parts.contains(&"wide");
    let how = match name {
        "mov" | "cvta" => Compute::Copy,
        "cvt" => match parts {
            [to, from] => return Some((Compute::Convert(int(from)?), int(to)?)),
            _ => return None,
        },
        "add" => Compute::Add,
        "sub" => Compute::Sub,
        "mul" if wide => Compute::MultiplyWide,
        "mul" if parts.contains(&"lo") => Compute::Multiply,
        "mul" if parts.contains(&"hi") => Compute::MultiplyHigh,
        "mad" if wide => Compute::MultiplyAddWide,
        "mad" if parts.contains(&"lo") => Compute::MultiplyAdd,
        "div" => Compute::Divide,
        "rem" => Compute::Remainder,
        "min" if parts.len() == 1 => Compute::Min,
        "max" if parts.len() == 1 => Compute::Max,
        "and" => Compute::And,
        "or" => Compute::Or,
        "xor" => Compute::Xor,
        "not" => Compute::Not,
        "neg" => Compute::Negate,
        "popc" => Compute::Ones,
        "shl" => Compute::Left,
        "shr" => Compute::Right,
        "selp" => Compute::Select,
        // With a third operand or another result it is more than a comparison.
        "setp" => match parts {
            [how, _] => compare(how, of.is_signed)?,
            _ => return None,
        },
        _ => return None,
    };
    Some((how, of))
}

fn compare(how: &str, is_signed: bool) -> Option<Compute> {
    Some(match how {
        "eq" => Compute::Equal,
        "ne" => Compute::NotEqual,
        "lt" => Compute::Less,
        "le" => Compute::LessOrEqual,
        "gt" => Compute::Greater,
        "ge" => Compute::GreaterOrEqual,
        "lo" if !is_signed => Compute::Less,
        "ls" if !is_signed => Compute::LessOrEqual,
        "hi" if !is_signed => Compute::Greater,
        "hs" if !is_signed => Compute::GreaterOrEqual,
        _ => return None,
    })
}

/// The type that an instruction's name ends with.
fn ty(parts: &[&str]) -> Option<Type> {
    parts.iter().rev().find_map(|part| Type::from_name(part))
}

fn int(name: &str) -> Option<Int> {
    let bits = match name {
        "pred" => 1,
        "b8" | "u8" | "s8" => 8,
        "b16" | "u16" | "s16" => 16,
        "b32" | "u32" | "s32" => 32,
        "b64" | "u64" | "s64" => 64,
        _ => return None,
    };
    Some(Int { bits, is_signed: name.starts_with('s') })
}

fn special(name: &str) -> Option<Special> {
    let (name, axis) = name.split_once('.')?;
    let axis = ["x", "y", "z"].iter().position(|known| *known == axis)?;
    Some(match name {
        "%nctaid" => Special::Blocks(axis),
        "%ntid" => Special::Threads(axis),
        "%ctaid" => Special::Block(axis),
        "%tid" => Special::Thread(axis),
        _ => return None,
    })
}
