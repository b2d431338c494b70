//! Walks the statements of a function.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use cuda_ptx::{FunctionKind, Linkage, Operand as Text, Space, Statement, Variable};

use super::super::code::{Code, Control, Origin, ParamRows};
use super::super::exec::memory::Access;
use super::super::exec::operand::Class;
use super::super::exec::{control, store as stores};
use super::super::image::{Image, declaration};
use super::MOST_LOCAL;
use super::builder::{Builder, Table};
use super::draft::{Draft, Label, Operand, Part, Refusal, Register};
use super::finish;
use super::last_writes::LastWrites;
use super::link::{LARGEST_PARAMETER, Link, Reached};
use super::meanings::note_local;
use super::pool::Pool;
use super::scope::{Scopes, Symbol, class_of};
use super::sites::Sites;

/// The maximum number of registers of a function; no compiler generates more.
const MOST_REGISTERS: usize = 1 << 22;

/// A function while it is decoded.
pub(crate) struct Body<'a> {
    pub(super) image: &'a Image,
    pub(super) link: &'a Link<'a>,
    table: Table,
    pub(crate) kind: FunctionKind,
    pub(super) scopes: Scopes<'a>,
    /// Classes of the virtual registers.
    pub(super) classes: Vec<Class>,
    /// Those that are declared with less than 32 bits.
    short: Vec<Range<u32>>,
    pub(super) drafts: Vec<Draft>,
    /// The position of each label: the index of the draft that follows.
    pub(super) labels: Vec<u32>,
    pub(super) pool: Pool,
    /// The instructions that were refused: line and reason.
    pub(super) refusals: Vec<(u32, String)>,
    pub(super) origin: Origin,
    pub(super) local_bytes: u32,
    /// Rows of parameters in use, and their maximum.
    next_row: u32,
    pub(super) fixed_rows: u32,
    pub(super) params: Vec<ParamRows>,
    /// See [`Reached::open`].
    pub(super) open: bool,
    pub(super) returns: Vec<ParamRows>,
    /// Results that are registers: copied to their rows before the function returns.
    pub(super) register_returns: Vec<(Register, u32)>,
    /// The carry flag `CC.CF`.
    pub(super) carry: Option<Register>,
    /// The end of the thread's stack, relative to the end of the frame's variables.
    pub(super) stack: Option<Register>,
    /// The instructions that wrote the registers last.
    pub(super) last_writes: LastWrites,
    /// Whether it uses the scratch memory that hardware reserves.
    pub(super) reserved: bool,
    /// Bytes of the function's variables in shared memory, by address.
    pub(super) shared_bytes: HashMap<u32, u64>,
    /// Bytes of its variables in local memory, by start.
    pub(super) local_sizes: HashMap<u32, u64>,
    /// Whether the kernel is watched.
    pub(super) watched: bool,
    /// The bytes of the next load that are used, according to a pragma before it.
    pub(super) used_bytes: Option<u32>,
    /// The names of the instructions, in kernels that are counted.
    pub(super) names: Option<Vec<Arc<str>>>,
}

/// The names of variables whose addresses the statements use.
fn addressed<'a>(statements: &'a [Statement<'a>]) -> HashSet<&'a str> {
    let mut names = HashSet::new();
    for statement in statements {
        match statement {
            Statement::Block(inner) => names.extend(addressed(inner)),
            Statement::Instruction(instruction) => {
                let moves = instruction.name.starts_with("mov.");
                names.extend(instruction.operands.iter().enumerate().filter_map(|(at, operand)| {
                    match operand {
                        Text::Name(name) | Text::Offset(name, _) | Text::Indexed(name, _) => {
                            (moves && at > 0).then_some(*name)
                        }
                        // The element is only known when the kernel runs.
                        Text::IndexedBy { array, .. } => Some(*array),
                        _ => None,
                    }
                }));
            }
            _ => {}
        }
    }
    names
}

/// Decodes one function. `sites` counts the kernel's memory instructions.
pub(super) fn decode<'a>(
    image: &'a Image,
    link: &'a Link<'a>,
    reached: &'a Reached<'a>,
    sites: &mut Sites,
    table: Table,
) -> Code {
    let mut body = Body {
        image,
        link,
        table,
        kind: reached.function.kind,
        scopes: Scopes::default(),
        classes: Vec::new(),
        short: Vec::new(),
        drafts: Vec::new(),
        labels: Vec::new(),
        pool: Pool::default(),
        refusals: Vec::new(),
        origin: Origin { line: reached.function.line, ..Origin::default() },
        local_bytes: 0,
        next_row: 0,
        fixed_rows: 0,
        params: Vec::new(),
        open: false,
        returns: Vec::new(),
        register_returns: Vec::new(),
        carry: None,
        stack: None,
        last_writes: LastWrites::default(),
        reserved: false,
        shared_bytes: HashMap::new(),
        local_sizes: HashMap::new(),
        watched: sites.watches(),
        used_bytes: None,
        names: sites.profiled.is_some().then(Vec::new),
    };
    if let Err(Refusal(message)) = body.function(reached) {
        // The rest of such a function cannot be trusted, so it stops at its first instruction.
        body.drafts.clear();
        body.labels.iter_mut().for_each(|label| *label = 0);
        body.refuse(message);
    }
    finish::finish(body, &reached.function, sites)
}

impl<'a> Body<'a> {
    fn function(&mut self, reached: &'a Reached<'a>) -> Result<(), Refusal> {
        if let Some(error) = &self.link.error {
            return Err(Refusal::new(error.clone()));
        }
        self.scopes.push();
        match self.kind {
            FunctionKind::Entry => self.kernel_params(reached),
            FunctionKind::Function => {
                let statements = reached.body.as_deref().unwrap_or_default();
                self.returns = self.formals(&reached.function.returns, None)?;
                self.params = self.formals(&reached.function.params, Some(&addressed(statements)))?;
                self.open = reached.open;
            }
        }
        let statements = reached.body.as_ref().map_err(|error| Refusal::new(error.clone()))?;
        self.block(statements)?;
        // Control that reaches the end returns.
        let end = if self.kind == FunctionKind::Entry { Control::Exit } else { Control::Return };
        // This instruction is not in the text.
        self.origin.statement = 0;
        self.finish_function(end);
        self.scopes.pop();
        Ok(())
    }

    fn kernel_params(&mut self, reached: &'a Reached<'a>) {
        for (variable, parameter) in reached.function.params.iter().zip(reached.function.parameters()) {
            self.scopes.declare_variable(variable, Symbol::KernelParam(parameter.offset as u32));
        }
    }

    /// Declares the formal parameters of a device function, in local memory if their address is used, or its results.
    fn formals(
        &mut self,
        variables: &'a [Variable<'a>],
        inputs: Option<&HashSet<&'a str>>,
    ) -> Result<Vec<ParamRows>, Refusal> {
        let mut rows = Vec::new();
        for variable in variables {
            let place = self.rows_for(variable)?;
            rows.push(place);
            if variable.space != Space::Reg {
                match inputs {
                    Some(addressed) if addressed.contains(variable.name) => self.spill(variable, place)?,
                    _ => self.declare_param(variable, place),
                }
                continue;
            }
            let class = class_of(variable.ty);
            if class == Class::Quad {
                return Err(Refusal::new("a parameter in a register of 128 bits is not supported"));
            }
            let first = self.new_register(class)?;
            self.scopes.declare(variable.name, Symbol::Register { first, elements: 1 });
            if inputs.is_some() {
                self.copy_from_rows(first, place.row);
            } else {
                self.register_returns.push((first, place.row));
            }
        }
        Ok(rows)
    }

    /// Moves a parameter to local memory, so that it has an address.
    fn spill(&mut self, variable: &'a Variable<'a>, place: ParamRows) -> Result<(), Refusal> {
        let start = self.local_bytes.next_multiple_of((variable.align() as u32).max(4));
        let end = start.checked_add(place.rows * 4).filter(|end| *end <= MOST_LOCAL);
        self.local_bytes = end.ok_or_else(|| Refusal::new("the parameters are larger than local memory"))?;
        self.scopes.declare_variable(variable, Symbol::Local(start));
        self.local_sizes.insert(start, variable.size());
        let (class, access) = (Class::Word, Access::new(1, Some(Space::Local), Access::WRITE));
        let store = stores::store(4, class, access).ok_or_else(|| Refusal::new("words cannot be stored"))?;
        for word in 0..place.rows {
            let address = Operand::Register(self.new_register(Class::Wide)?);
            let mut find = Draft::new(control::local_address(Class::Wide)?, &[address], &[]);
            find.imm = u64::from(start + word * 4);
            self.push(find);
            let mut draft = Draft::new(store.pick(), &[], &[Operand::Row(place.row + word), address]);
            (draft.aux, draft.site) = (access.0, true);
            if self.watched {
                note_local(&mut draft, Some(4), true);
            }
            self.push(draft);
        }
        Ok(())
    }

    fn declare_param(&mut self, variable: &Variable<'a>, place: ParamRows) {
        let bytes = variable.size() as u32;
        self.scopes.declare_variable(variable, Symbol::Param { row: place.row, bytes });
    }

    /// Rows for a parameter of this size.
    fn rows_for(&mut self, variable: &Variable<'_>) -> Result<ParamRows, Refusal> {
        let bytes = variable.size();
        if bytes > LARGEST_PARAMETER {
            return Err(Refusal::new(format!("parameter `{}` of {bytes} bytes is too large", variable.name)));
        }
        self.new_rows((bytes as u32).div_ceil(4))
    }

    /// Rows for parameters.
    pub(crate) fn new_rows(&mut self, rows: u32) -> Result<ParamRows, Refusal> {
        let row = self.next_row;
        self.next_row += rows;
        if self.next_row > 1 << 16 {
            return Err(Refusal::new("too many parameters"));
        }
        self.fixed_rows = self.fixed_rows.max(self.next_row);
        Ok(ParamRows { row, rows })
    }

    fn block(&mut self, statements: &'a [Statement<'a>]) -> Result<(), Refusal> {
        self.scopes.push();
        let rows = self.next_row;
        self.declare_labels(statements);
        for statement in statements {
            self.statement(statement)?;
        }
        // Parameters of calls live inside the block that declares them.
        self.next_row = rows;
        self.scopes.pop();
        Ok(())
    }

    /// Labels are visible in their whole block, also before their position.
    fn declare_labels(&mut self, statements: &'a [Statement<'a>]) {
        for (at, statement) in statements.iter().enumerate() {
            let Statement::Label(name) = statement else { continue };
            let symbol = match statements.get(at + 1) {
                Some(Statement::Targets(targets)) => Symbol::Targets(targets),
                Some(Statement::CallPrototype { .. }) => Symbol::Prototype,
                _ => {
                    self.labels.push(u32::MAX);
                    Symbol::Label(Label(self.labels.len() as u32 - 1))
                }
            };
            self.scopes.declare(name, symbol);
        }
    }

    fn statement(&mut self, statement: &'a Statement<'a>) -> Result<(), Refusal> {
        match statement {
            Statement::Label(name) => {
                if let Some(Symbol::Label(Label(index))) = self.scopes.find(name) {
                    self.labels[index as usize] = self.drafts.len() as u32;
                }
            }
            Statement::Variable(variable) => self.variable(variable)?,
            Statement::Block(inner) => self.block(inner)?,
            Statement::Loc { file, line, column, .. } => {
                (self.origin.file, self.origin.source_line) = (*file, *line);
                self.origin.source_column = *column;
            }
            Statement::Instruction(instruction) => {
                self.origin.line = instruction.line;
                self.origin.statement += 1;
                if let Some(names) = &mut self.names {
                    names.push(instruction.name.into());
                }
                let start = self.drafts.len();
                let table = self.table;
                let result = Builder::new(self, instruction).and_then(|mut builder| table(&mut builder));
                self.used_bytes = None;
                if let Err(Refusal(message)) = result {
                    self.drafts.truncate(start);
                    self.refuse_guarded(instruction, &message);
                }
                if let [draft] = &mut self.drafts[start..] {
                    draft.part = Part::of(instruction.name);
                }
                self.note_copy(instruction);
                self.note_meaning(instruction, start);
            }
            Statement::UsedBytes(mask) => self.used_bytes = Some(*mask),
            Statement::Targets(_) | Statement::CallPrototype { .. } => {}
            _ => return Err(Refusal::new("a kind of statement that the emulator does not have")),
        }
        Ok(())
    }

    fn variable(&mut self, variable: &'a Variable<'a>) -> Result<(), Refusal> {
        match variable.space {
            Space::Reg => self.registers(variable),
            Space::Param => {
                let place = self.rows_for(variable)?;
                self.declare_param(variable, place);
                Ok(())
            }
            Space::Local => {
                let too_large = || Refusal::new("the local variables are larger than local memory");
                let align = (variable.align() as u32).max(1);
                let start = self.local_bytes.checked_next_multiple_of(align).ok_or_else(too_large)?;
                let bytes = u32::try_from(variable.size()).map_err(|_| too_large())?;
                let end = start.checked_add(bytes).filter(|end| *end <= MOST_LOCAL).ok_or_else(too_large)?;
                self.local_bytes = end;
                self.local_sizes.insert(start, variable.size());
                self.scopes.declare_variable(variable, Symbol::Local(start));
                Ok(())
            }
            Space::Shared => {
                // One that nothing uses may have no place.
                let Some(address) = self.link.shared_of_function(variable) else { return Ok(()) };
                if variable.linkage != Linkage::Extern {
                    self.shared_bytes.insert(address, variable.size());
                }
                self.scopes.declare_variable(variable, Symbol::Shared(address));
                Ok(())
            }
            Space::Global | Space::Const => {
                let global = self.image.nested.get(&declaration(variable));
                let global = global.ok_or_else(|| Refusal::new("a variable of the function has no place"))?;
                self.scopes.declare_variable(variable, Symbol::Global(global.address));
                Ok(())
            }
            space => Err(Refusal::new(format!("a variable in {space} inside a function is not supported"))),
        }
    }

    fn registers(&mut self, variable: &'a Variable<'a>) -> Result<(), Refusal> {
        // A 128-bit register is a vector of two 64-bit registers.
        let (class, elements) = match class_of(variable.ty) {
            Class::Quad => (Class::Wide, 2),
            class => (class, variable.vector.max(1)),
        };
        let count = variable.count.unwrap_or(1);
        let total = (count as usize).saturating_mul(elements as usize);
        if self.classes.len().saturating_add(total) > MOST_REGISTERS {
            return Err(Refusal::new("too many registers"));
        }
        let first = Register(self.classes.len() as u32);
        self.classes.extend(std::iter::repeat_n(class, total));
        if class == Class::Word && variable.ty.size() < 4 {
            self.short.push(first.0..self.classes.len() as u32);
        }
        match variable.count {
            Some(count) => self.scopes.declare_set(variable.name, first, count, elements),
            None => self.scopes.declare(variable.name, Symbol::Register { first, elements }),
        }
        Ok(())
    }

    /// Whether a register is declared with less than 32 bits.
    pub(super) fn is_short(&self, register: Register) -> bool {
        self.short.iter().any(|registers| registers.contains(&register.0))
    }

    /// A new register.
    pub(super) fn new_register(&mut self, class: Class) -> Result<Register, Refusal> {
        if self.classes.len() >= MOST_REGISTERS {
            return Err(Refusal::new("too many registers"));
        }
        self.classes.push(class);
        Ok(Register(self.classes.len() as u32 - 1))
    }

    /// Appends an instruction.
    pub(super) fn push(&mut self, mut draft: Draft) {
        draft.origin = self.origin;
        let number = self.drafts.len() as u32;
        draft.written().for_each(|register| self.last_writes.note(register, number));
        self.drafts.push(draft);
    }

    /// The symbol for a name, including the names of the module.
    pub(crate) fn find(&self, name: &str) -> Option<Symbol<'a>> {
        if let Some(symbol) = self.scopes.find(name) {
            return Some(symbol);
        }
        if let Some(global) = self.image.globals.get(name) {
            return Some(Symbol::Global(global.address));
        }
        if let Some(address) = self.link.shared(name) {
            return Some(Symbol::Shared(address));
        }
        self.image.function(name).map(|(index, address)| Symbol::Function(index, address))
    }

    /// The distance between elements of an array, in bytes.
    pub(crate) fn element_bytes(&self, array: &str) -> Result<u32, Refusal> {
        let of_module = || {
            let global = self.image.globals.get(array).map(|global| global.element);
            global.or_else(|| self.image.shared.get(array).map(|shared| shared.element))
        };
        let found = match self.scopes.find(array) {
            Some(_) => self.scopes.element_bytes(array),
            None => of_module(),
        };
        found.ok_or_else(|| Refusal::new(format!("`{array}` is not an array")))
    }

    /// A constant operand.
    pub(super) fn constant(&mut self, class: Class, bits: u64) -> Operand {
        match class {
            Class::Word => Operand::Constant(self.pool.word(bits as u32)),
            Class::Predicate => Operand::Fixed(bits != 0),
            Class::Wide | Class::Quad => Operand::Constant(self.pool.wide(bits)),
        }
    }
}
