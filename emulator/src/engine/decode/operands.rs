//! Operands of the text as operands of drafts.

use cuda_ptx::Operand as Text;

use super::super::exec::alu::{Lane, mask1};
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
    /// An operand that is written. `_` is a register that nothing reads.
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
                let size = self.body.image.globals.get(*name).map_or(1, |global| global.ty.size());
                self.named(name, index.wrapping_mul(size as i64), class)
            }
            Text::Element(name, index) => self.body.element(name, *index, class).map(Operand::Register),
            Text::Literal(literal) => {
                // The class tells floats apart: a number of 32 bits can only become an `.f32`.
                let ty = if class == Class::Wide { cuda_ptx::Type::B64 } else { cuda_ptx::Type::B32 };
                let bits = match literal {
                    cuda_ptx::Literal::F32(bits) if class == Class::Wide => {
                        f64::from(f32::from_bits(*bits)).to_bits()
                    }
                    literal => literal_bits(*literal, ty),
                };
                Ok(self.constant(class, bits))
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
                if offset != 0 {
                    return Err(Refusal::new(format!("`{name}` and an offset outside an address")));
                }
                self.body.register(name, class).map(Operand::Register)
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

    /// The address of a local variable of this frame, in local space.
    fn local_address(&mut self, offset: u64, class: Class) -> Result<Operand, Refusal> {
        let register = self.temporary(class)?;
        let mut draft = Draft::new(control::local_address(class)?, &[register], &[]);
        draft.imm = offset;
        self.push_helper(draft);
        Ok(register)
    }

    /// The memory operand `text`. With `generic`, a variable stands for its generic address, else for the address
    /// in its own space.
    pub(crate) fn address(&mut self, text: &Text<'a>, generic: bool) -> Result<Address, Refusal> {
        let (base, offset) = match text {
            Text::Address { base, offset } => (&**base, *offset),
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
            let base = Operand::Register(self.body.register(name, class)?);
            return Ok(Address { base, offset: offset as u64, narrow });
        }
        let window = match &symbol {
            Symbol::Shared(_) if generic => windows::SHARED,
            Symbol::Local(_) if generic => windows::LOCAL,
            Symbol::KernelParam(_) if generic => windows::PARAM,
            _ => 0,
        };
        let base = self.named(name, 0, Class::Wide)?;
        Ok(Address { base, offset: window.wrapping_add_signed(offset), narrow: false })
    }

    /// The elements of a vector operand; a single operand counts as one.
    pub(crate) fn elements(&self, text: &'a Text<'a>) -> Result<Vec<Text<'a>>, Refusal> {
        match text {
            Text::Vector(list) => Ok(list.clone()),
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

/// Whether a special register has nothing to say here: counters of performance, what drivers leave for their own use, the graph that
/// launched the kernel from a kernel, and the fourth elements of vectors.
fn is_zero(name: &str) -> bool {
    let below = |digits: &str, limit| digits.parse::<u32>().is_ok_and(|number| number < limit);
    // The fourth element of those that are vectors.
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
