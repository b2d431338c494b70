//! The functions and shared variables that a kernel reaches, and the addresses of the latter.

use std::collections::{BTreeMap, HashMap};

use cuda_ptx::{Function, FunctionKind, Instruction, Operand, Space, Statement, Variable};

use super::super::image::{Image, SharedVariable, declaration};
use super::super::windows::SHARED_START;

/// A function that the kernel reaches.
pub(super) struct Reached<'a> {
    /// The function.
    pub(super) function: Function<'a>,
    /// Its body, or why it cannot be read.
    pub(super) body: Result<Vec<Statement<'a>>, String>,
    /// Whether its last parameter accepts an argument of any length, or none.
    pub(super) open: bool,
}

impl Reached<'_> {
    /// The last parameter of a function may be an array of any length: it gets the length of the largest argument.
    fn give_length(&mut self, bytes: u64) {
        if let Some(last) = self.function.params.last_mut().filter(|last| last.is_open()) {
            self.open = true;
            let bytes = bytes.min(LARGEST_PARAMETER);
            last.dims = vec![Some(bytes.div_ceil(last.element_size() as u64).max(1))];
        }
    }
}

/// The maximum size of a parameter in bytes.
pub(super) const LARGEST_PARAMETER: u64 = 32_764;

/// Dynamic shared memory starts at a multiple of this, at least.
pub(in crate::engine) const DYNAMIC_ALIGN: u32 = 16;

/// A shared variable of a function.
#[derive(Debug)]
struct Owned {
    variable: SharedVariable,
    /// Where its function is declared.
    home: usize,
    /// Whether the function names it.
    is_used: bool,
}

/// The layout of a kernel.
#[derive(Debug, Default)]
pub(super) struct Link<'a> {
    /// Index among the reached functions by index in the program.
    pub(super) functions: HashMap<usize, usize>,
    /// Addresses of shared variables of module scope.
    shared: HashMap<&'a str, u32>,
    /// Addresses of shared variables of functions, by [`declaration`].
    local_shared: HashMap<usize, u32>,
    /// Shared variables of module scope that are used, by their declarations: placed in this order.
    used: BTreeMap<usize, (&'a str, &'a SharedVariable)>,
    owned: Vec<Owned>,
    /// What the names mean that the scanned block sees: shared variables, by their indices in `owned`, or others.
    visible: HashMap<&'a str, Option<usize>>,
    /// The first address after the static variables.
    end: u32,
    /// Largest alignment of a dynamic array.
    dynamic_align: u32,
    /// The address of the dynamic arrays.
    dynamic_start: u32,
    /// Whether there is a dynamic array.
    pub(super) dynamic: bool,
    /// Bytes of the largest parameter of a call.
    largest_param: u64,
    /// Whether a function stores to surfaces.
    pub(super) writes_surfaces: bool,
    /// Why the layout does not fit.
    pub(super) error: Option<String>,
}

/// Finds everything that the function with that index reaches; the function itself comes first.
pub(super) fn link(image: &Image, entry: usize) -> (Link<'_>, Vec<Reached<'_>>) {
    let mut link = Link { end: SHARED_START, dynamic_align: DYNAMIC_ALIGN, ..Link::default() };
    let mut reached = Vec::new();
    let mut queue = vec![entry];
    let mut indirect = false;
    loop {
        while let Some(index) = queue.pop() {
            if link.functions.contains_key(&index) {
                continue;
            }
            let Some(found) = read(image, index) else { continue };
            link.functions.insert(index, reached.len());
            if let Ok(statements) = &found.body {
                let before = link.owned.len();
                link.visible.clear();
                link.scan(image, statements, &mut queue, &mut indirect);
                let home = image.functions.get(index).map_or(0, |function| function.declaration);
                link.owned.iter_mut().skip(before).for_each(|owned| owned.home = home);
            }
            reached.push(found);
        }
        if !std::mem::take(&mut indirect) {
            break;
        }
        // An address may be that of any function, so all functions are reached.
        let functions = image.functions.iter().enumerate();
        queue.extend(functions.filter(|(_, f)| f.kind == FunctionKind::Function).map(|(index, _)| index));
    }
    link.place_all(image, entry);
    reached.iter_mut().for_each(|reached| reached.give_length(link.largest_param));
    (link, reached)
}

fn read(image: &Image, index: usize) -> Option<Reached<'_>> {
    let entry = image.functions.get(index)?;
    // Both were parsed once when the module was loaded.
    let function = cuda_ptx::parse_function(image.text.get(entry.span.clone())?, entry.line).ok()?;
    let body = function.statements().map_err(|error| error.to_string());
    Some(Reached { function, body, open: false })
}

impl<'a> Link<'a> {
    fn scan(
        &mut self,
        image: &'a Image,
        statements: &[Statement<'a>],
        queue: &mut Vec<usize>,
        indirect: &mut bool,
    ) {
        let mut hidden = Vec::new();
        for statement in statements {
            match statement {
                Statement::Block(inner) => self.scan(image, inner, queue, indirect),
                Statement::Variable(variable) if variable.space == Space::Shared => {
                    hidden.push((variable.name, self.visible.insert(variable.name, Some(self.owned.len()))));
                    let variable = SharedVariable::of(variable);
                    self.owned.push(Owned { variable, home: 0, is_used: false });
                }
                Statement::Variable(variable) => {
                    hidden.push((variable.name, self.visible.insert(variable.name, None)));
                    if variable.space == Space::Param {
                        self.largest_param = self.largest_param.max(variable.size());
                    }
                }
                Statement::Instruction(instruction) => {
                    if instruction.name.starts_with("call") {
                        scan_call(image, instruction, queue, indirect);
                    }
                    self.writes_surfaces |=
                        ["sust.", "sured."].iter().any(|name| instruction.name.starts_with(name));
                    self.scan_operands(image, &instruction.operands);
                }
                _ => {}
            }
        }
        for (name, outer) in hidden.into_iter().rev() {
            match outer {
                Some(outer) => self.visible.insert(name, outer),
                None => self.visible.remove(name),
            };
        }
    }

    fn scan_operands(&mut self, image: &'a Image, operands: &[Operand<'a>]) {
        for operand in operands {
            match operand {
                Operand::Name(name)
                | Operand::Offset(name, _)
                | Operand::Indexed(name, _)
                | Operand::IndexedBy { array: name, .. } => self.note_used(image, name),
                Operand::Address { base, .. } => self.scan_operands(image, std::slice::from_ref(base)),
                Operand::AddressList(list) | Operand::Vector(list) | Operand::List(list) => {
                    self.scan_operands(image, list);
                }
                Operand::Pair(first, second) => {
                    self.scan_operands(image, std::slice::from_ref(first));
                    self.scan_operands(image, std::slice::from_ref(second));
                }
                _ => {}
            }
        }
    }

    fn note_used(&mut self, image: &'a Image, name: &str) {
        if let Some(own) = self.visible.get(name) {
            if let Some(owned) = own.and_then(|index| self.owned.get_mut(index)) {
                owned.is_used = true;
            }
        } else if let Some((name, variable)) = image.shared.get_key_value(name) {
            self.used.insert(variable.declaration, (name, variable));
        }
    }

    /// Places the shared variables in the order of ptxas: those of the kernel, then those of the module that are used, then those of other
    /// functions, then the dynamic arrays, and at last those of functions that are not used, each in the order of the text. As
    /// nothing names the last, the dynamic arrays may share their place; for a debugger, only those of the kernel have one.
    fn place_all(&mut self, image: &Image, entry: usize) {
        let kernel = image.functions.get(entry).map_or(0, |function| function.declaration);
        let mut owned = std::mem::take(&mut self.owned);
        owned.sort_by_key(|owned| owned.home);
        let (used, unused): (Vec<_>, Vec<_>) = owned.into_iter().partition(|owned| owned.is_used);
        let (own, others): (Vec<_>, Vec<_>) = used.into_iter().partition(|owned| owned.home == kernel);
        own.iter().for_each(|owned| self.place_owned(&owned.variable));
        for (name, variable) in std::mem::take(&mut self.used).into_values() {
            let address = self.place(variable);
            self.shared.insert(name, address);
        }
        others.iter().for_each(|owned| self.place_owned(&owned.variable));
        self.dynamic_start = self.rounded_up(image);
        let is_placed = |owned: &&Owned| !image.debug || owned.home == kernel;
        unused.iter().filter(is_placed).for_each(|owned| self.place_owned(&owned.variable));
        self.end = self.rounded_up(image);
    }

    fn place_owned(&mut self, variable: &SharedVariable) {
        let address = self.place(variable);
        self.local_shared.insert(variable.declaration, address);
    }

    /// The address of a variable; 0 means the dynamic array, whose address is determined last.
    fn place(&mut self, variable: &SharedVariable) -> u32 {
        if variable.dynamic {
            self.dynamic_align = self.dynamic_align.max(variable.align);
            self.dynamic = true;
            return 0;
        }
        let start = self.end.checked_next_multiple_of(variable.align.max(1));
        let end = start.and_then(|start| start.checked_add(u32::try_from(variable.bytes).ok()?));
        let (Some(start), Some(end @ ..0x0100_0000)) = (start, end) else {
            self.error = Some("the shared variables do not fit in shared memory".to_owned());
            return self.end;
        };
        self.end = end;
        start
    }

    /// The end so far. Like ptxas: if a module has dynamic arrays, all its kernels with static variables are padded to the alignment.
    fn rounded_up(&self, image: &Image) -> u32 {
        let aligns = image.shared.values().filter(|variable| variable.dynamic).map(|variable| variable.align);
        match aligns.max() {
            Some(largest) if self.end != SHARED_START => {
                self.end.next_multiple_of(largest.max(DYNAMIC_ALIGN))
            }
            _ => self.end,
        }
    }

    /// Address of the shared variable of module scope of that name.
    pub(super) fn shared(&self, name: &str) -> Option<u32> {
        self.shared.get(name).map(|address| self.after_all(*address))
    }

    /// Address of a shared variable of a function.
    pub(super) fn shared_of_function(&self, variable: &Variable<'_>) -> Option<u32> {
        self.local_shared.get(&declaration(variable)).map(|address| self.after_all(*address))
    }

    fn after_all(&self, address: u32) -> u32 {
        if address == 0 { self.dynamic_start.next_multiple_of(self.dynamic_align) } else { address }
    }

    /// Bytes of static shared memory.
    pub(super) fn static_shared(&self) -> u32 {
        self.end - SHARED_START
    }

    /// The same; `None` if the variables do not fit.
    pub(super) fn static_shared_if_placed(&self) -> Option<u64> {
        self.error.is_none().then(|| u64::from(self.static_shared()))
    }

    /// The end of static shared memory: what a launch adds is behind it.
    pub(super) fn static_end(&self) -> u32 {
        self.end.next_multiple_of(self.dynamic_align)
    }
}

/// Adds the callees of a `call` to the queue. A call through a register has its prototype, or a list of possible callees, as last
/// operand; the register may have any name, even that of a function.
fn scan_call(image: &Image, instruction: &Instruction<'_>, queue: &mut Vec<usize>, indirect: &mut bool) {
    let mut names = instruction.operands.iter().filter_map(|operand| match operand {
        Operand::Name(name) => Some(*name),
        _ => None,
    });
    let Some(callee) = names.next() else { return };
    if names.next().is_some() {
        *indirect = true;
    } else if let Some(index) = image.by_name.get(callee) {
        queue.push(*index);
    }
}
