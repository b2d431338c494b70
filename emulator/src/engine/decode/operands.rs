//! Operands of the text as operands of drafts.

use cuda_ptx::{Literal, Operand as Text};

use super::super::exec::alu::{Lane, lane1, lane2, lane3, mask1};
use super::super::exec::control;
use super::super::exec::operand::Class;
use super::super::literal::literal_bits;
use super::super::special::Special;
use super::super::windows;
use super::builder::Builder;
use super::draft::{Draft, Operand, Refusal};
use super::scope::Symbol;

/// Where a memory operand points: a register or constant plus an offset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address {
    /// The register or constant.
    pub(crate) base: Operand,
    /// Bytes added to it.
    pub(crate) offset: u64,
    /// Whether the register has 32 bits.
    pub(crate) narrow: bool,
}

impl<'a> Builder<'_, 'a> {
    /// An operand that is written. `_` becomes a register that is never read.
    pub(crate) fn dest(&mut self, text: &Text<'a>, class: Class) -> Result<Operand, Refusal> {
        match text {
            Text::Name("_") => self.temporary(class),
            Text::Name(name) => self.body.register(name, class).map(Operand::Register),
            Text::Element(name, index) => self.body.element(name, *index, class).map(Operand::Register),
            Text::Vector(list) if list.len() == 1 => self.dest(&list[0], class),
            _ => Err(Refusal::new("a register is expected as destination")),
        }
    }

    /// An operand that is read: a register, a number, a special register or the address of a variable.
    pub(crate) fn source(&mut self, text: &Text<'a>, class: Class) -> Result<Operand, Refusal> {
        match text {
            Text::Name(name) => self.named(name, 0, class),
            Text::Offset(name, offset) => self.named(name, *offset, class),
            Text::Indexed(name, index) => {
                let offset = self.element_offset(name, *index)?;
                self.named(name, offset, class)
            }
            Text::IndexedBy { array, register, plus } => {
                if !matches!(class, Class::Wide | Class::Word) {
                    return Err(Refusal::new(format!("{} is expected as operand", class.describe())));
                }
                let address = self.element_address(array, register, *plus)?;
                if class == Class::Wide {
                    return Ok(address);
                }
                let low = self.temporary(Class::Word)?;
                self.helper(lane1(|a: u64| a as u32), low, &[address]);
                Ok(low)
            }
            Text::Element(name, index) => self.body.element(name, *index, class).map(Operand::Register),
            Text::Literal(literal) => {
                // The class determines the type of a float: a 32-bit number can only become an `.f32`.
                let ty = if class == Class::Wide { cuda_ptx::Type::B64 } else { cuda_ptx::Type::B32 };
                Ok(self.constant(class, literal_bits(*literal, ty)))
            }
            Text::Not(name) => self.negated_predicate(name, class),
            Text::Vector(list) if list.len() == 1 => self.source(&list[0], class),
            _ => Err(Refusal::new(format!("{} is expected as operand", class.describe()))),
        }
    }

    fn negated_predicate(&mut self, name: &str, class: Class) -> Result<Operand, Refusal> {
        if class != Class::Predicate {
            return Err(Refusal::new("`!` goes with predicates only"));
        }
        let register = Operand::Register(self.body.register(name, Class::Predicate)?);
        let negated = self.temporary(Class::Predicate)?;
        const NOT: Lane = mask1(|a| !a);
        self.push_helper(Draft::new(NOT.exec.pick(), &[negated], &[register]));
        Ok(negated)
    }

    /// The offset of an element from the start of its array.
    fn element_offset(&self, array: &str, index: i64) -> Result<i64, Refusal> {
        Ok(index.wrapping_mul(i64::from(self.body.element_bytes(array)?)))
    }

    /// The address, in the array's own space, of the element whose index is a register plus a number. As in ptxas, the index is an unsigned
    /// 32-bit number even if the register is wider.
    fn element_address(&mut self, array: &str, register: &str, plus: i64) -> Result<Operand, Refusal> {
        let bytes = self.body.element_bytes(array)?;
        let mut index = match self.body.register(register, Class::Word) {
            Ok(register) => Operand::Register(register),
            Err(_) => {
                let wide = Operand::Register(self.body.register(register, Class::Wide)?);
                let low = self.temporary(Class::Word)?;
                self.helper(lane1(|a: u64| a as u32), low, &[wide]);
                low
            }
        };
        if plus != 0 {
            let (sum, plus) = (self.temporary(Class::Word)?, self.constant(Class::Word, plus as u64));
            self.helper(lane2(|a: u32, b: u32| a.wrapping_add(b)), sum, &[index, plus]);
            index = sum;
        }
        let (start, bytes) = (self.named(array, 0, Class::Wide)?, self.constant(Class::Word, bytes.into()));
        let address = self.temporary(Class::Wide)?;
        let element = |start: u64, index: u32, bytes: u32| {
            start.wrapping_add(u64::from(index).wrapping_mul(u64::from(bytes)))
        };
        self.helper(lane3(element), address, &[start, index, bytes]);
        Ok(address)
    }

    fn helper(&mut self, lane: Lane, dest: Operand, sources: &[Operand]) {
        self.push_helper(Draft::new(lane.exec.pick(), &[dest], sources));
    }

    /// The value of a name plus an offset.
    fn named(&mut self, name: &str, offset: i64, class: Class) -> Result<Operand, Refusal> {
        if let Some(special) = Special::from_name(name) {
            self.body.reserved |= matches!(special, Special::ReservedSmem0 | Special::ReservedSmem1);
            let register = self.temporary(class)?;
            let mut draft = Draft::new(special.exec(class)?, &[register], &[]);
            draft.imm = special as u64;
            self.push_helper(draft);
            return Ok(register);
        }
        if is_zero(name) {
            return Ok(self.constant(class, 0));
        }
        match self.body.symbol(name)? {
            Symbol::Register { .. } => {
                let register = Operand::Register(self.body.register(name, class)?);
                if offset == 0 { Ok(register) } else { self.sum(register, offset, class) }
            }
            Symbol::Local(start) => {
                let register = self.local_address(u64::from(start).wrapping_add_signed(offset), class)?;
                self.body.note_local_variable(name, start);
                Ok(register)
            }
            Symbol::Param { .. } => {
                Err(Refusal::new(format!("the address of parameter `{name}` is not supported")))
            }
            symbol => {
                let address = constant_address(&symbol)
                    .ok_or_else(|| Refusal::new(format!("`{name}` has no address")))?;
                Ok(self.constant(class, address.wrapping_add_signed(offset)))
            }
        }
    }

    /// A register plus a number: `mov.u32 %r1, %r2+4`.
    fn sum(&mut self, register: Operand, offset: i64, class: Class) -> Result<Operand, Refusal> {
        let add = match class {
            Class::Word => lane2(|a: u32, b: u32| a.wrapping_add(b)),
            Class::Wide => lane2(|a: u64, b: u64| a.wrapping_add(b)),
            _ => return Err(Refusal::new("a number cannot be added to such a register")),
        };
        let (sum, offset) = (self.temporary(class)?, self.constant(class, offset as u64));
        self.helper(add, sum, &[register, offset]);
        Ok(sum)
    }

    /// The address of a local variable of this frame, in local space.
    fn local_address(&mut self, offset: u64, class: Class) -> Result<Operand, Refusal> {
        let register = self.temporary(class)?;
        let mut draft = Draft::new(control::local_address(class)?, &[register], &[]);
        draft.imm = offset;
        self.push_helper(draft);
        Ok(register)
    }

    /// The memory operand `text`, in brackets or an element of an array. With `generic`, a variable means its generic address, otherwise
    /// its address in its own space.
    pub(crate) fn address(&mut self, text: &Text<'a>, generic: bool) -> Result<Address, Refusal> {
        let (base, offset) = match text {
            Text::Address { base, offset } => (&**base, *offset),
            Text::Indexed(name, index) => (&Text::Name(name), self.element_offset(name, *index)?),
            Text::IndexedBy { array, register, plus } => {
                let window = if generic { window(&self.body.symbol(array)?) } else { 0 };
                let base = self.element_address(array, register, *plus)?;
                return Ok(Address { base, offset: window, narrow: false });
            }
            _ => return Err(Refusal::new("an address in brackets is expected")),
        };
        let name = match base {
            Text::Name(name) => name,
            Text::Element(name, index) => {
                let base = Operand::Register(self.body.element(name, *index, Class::Wide)?);
                return Ok(Address { base, offset: offset as u64, narrow: false });
            }
            Text::Literal(literal) => {
                let base = self.constant(Class::Wide, literal_bits(*literal, cuda_ptx::Type::B64));
                return Ok(Address { base, offset: offset as u64, narrow: false });
            }
            _ => return Err(Refusal::new("the base of an address is a register, a variable or a number")),
        };
        let symbol = self.body.symbol(name)?;
        if let Symbol::Register { first, .. } = symbol {
            let narrow = self.body.class(first) == Class::Word;
            let class = if narrow { Class::Word } else { Class::Wide };
            if self.body.is_short(first) {
                return Err(Refusal::new("an address in a register of 16 bits is not supported"));
            }
            let base = Operand::Register(self.body.register(name, class)?);
            return Ok(Address { base, offset: offset as u64, narrow });
        }
        let window = if generic { window(&symbol) } else { 0 };
        let base = self.named(name, 0, Class::Wide)?;
        Ok(Address { base, offset: window.wrapping_add_signed(offset), narrow: false })
    }

    /// The elements of a vector operand; a single operand counts as one.
    pub(crate) fn elements(&self, text: &'a Text<'a>) -> Result<Vec<Text<'a>>, Refusal> {
        match text {
            Text::Vector(list) => {
                let is_double = |text: &Text<'_>| matches!(text, Text::Literal(Literal::F64(_)));
                if list.iter().any(is_double) && !takes_doubles(self.name()) {
                    return Err(Refusal::new("a number of 64 bits within a vector is not supported"));
                }
                Ok(list.clone())
            }
            Text::Name(name) => match self.body.find(name) {
                Some(Symbol::Register { elements, .. }) if elements > 1 => {
                    Ok((0..elements).map(|index| Text::Element(name, index)).collect())
                }
                _ => Ok(vec![text.clone()]),
            },
            text => Ok(vec![text.clone()]),
        }
    }

    /// The class of the register that an operand names; `None` for everything else.
    pub(crate) fn class_of(&self, text: &Text<'a>) -> Option<Class> {
        let (Text::Name(name) | Text::Element(name, _)) = text else { return None };
        match self.body.find(name) {
            Some(Symbol::Register { first, .. }) => Some(self.body.class(first)),
            _ => None,
        }
    }
}

/// Whether a special register is always zero here: performance counters, registers reserved for drivers, the handle of the running
/// graph, and the fourth elements of vectors.
fn is_zero(name: &str) -> bool {
    let below = |digits: &str, limit| digits.parse::<u32>().is_ok_and(|number| number < limit);
    // The fourth element of vector registers.
    let axes = [
        "%tid",
        "%ntid",
        "%ctaid",
        "%nctaid",
        "%clusterid",
        "%nclusterid",
        "%cluster_ctaid",
        "%cluster_nctaid",
    ];
    name == "%current_graph_exec"
        || name.strip_suffix(".w").is_some_and(|family| axes.contains(&family))
        || name.strip_prefix("%envreg").is_some_and(|digits| below(digits, 32))
        || name.strip_prefix("%pm").is_some_and(|rest| below(rest.trim_end_matches("_64"), 8))
}

/// The start of the variable's space in the generic address space.
fn window(symbol: &Symbol<'_>) -> u64 {
    match symbol {
        Symbol::Shared(_) => windows::SHARED,
        Symbol::Local(_) => windows::LOCAL,
        Symbol::KernelParam(_) => windows::PARAM,
        _ => 0,
    }
}

/// The address of a variable or function, if it is the same for all threads.
fn constant_address(symbol: &Symbol<'_>) -> Option<u64> {
    match symbol {
        Symbol::Global(address) => Some(*address),
        Symbol::Shared(address) => Some(u64::from(*address)),
        Symbol::KernelParam(offset) => Some(u64::from(*offset)),
        Symbol::Function(_, address) => Some(*address),
        _ => None,
    }
}

/// Whether a number like `1.5` within a vector is one of the instruction's type: elsewhere ptxas takes the lower bits of its 64.
fn takes_doubles(name: &str) -> bool {
    let mut parts = name.split('.');
    match parts.next() {
        Some("tex" | "tld4") => true,
        Some("st") if parts.clone().all(|part| part != "async") => {
            matches!(parts.next_back(), Some("f32" | "f64" | "b64" | "u64" | "s64"))
        }
        Some("mma") => parts.any(|part| part == "f64"),
        _ => false,
    }
}
