//! Checks that a module is PTX that assembles: code that ptxas refuses is refused when the module is loaded, with its
//! line.
//!
//! Names, types, numbers of operands, state spaces, labels, guards, limits, and the version and target they need are checked for all
//! functions, whether or not they are reached. Whether the engine can run the code is not checked here: the forms are those of the ISA.
//! `tests/engine/invalid.rs` and `invalid_operands.rs` have an example of each rule; `tests/mutate_ptx.rs` compares with ptxas 13.0 over thousands
//! of changed files and instructions.

mod addresses;
mod bulk_forms;
mod calls;
mod constants;
mod declarations;
mod duplicates;
mod forms;
mod instruction;
mod matrices;
mod matrix_vectors;
mod modifiers;
mod moves;
mod names;
mod newer_forms;
mod operands;
mod order;
mod since;
mod slots;
mod target;
mod tensors;
mod textures;
mod vectors;

use std::collections::HashMap;

use cuda_ptx::{Function, FunctionKind, Instruction, Module, Space, Statement, Variable};

use super::image::{LoadFailure, LoadFailureKind, declaration};
use calls::{Signature, Target};
use duplicates::{heads, module_variables};
use instruction::Forms;
use names::{NameKind, Names, Owner};
use since::Since;

/// Most bytes of the parameters of a kernel.
const MOST_PARAMETERS: usize = 0x7ffc;

/// The state of a check of a module.
pub(super) struct Check<'a> {
    names: Names<'a>,
    signatures: HashMap<&'a str, Signature>,
    /// What labels of prototypes and of lists stand for, in the function being checked.
    targets: Vec<Target<'a>>,
    /// Variables of the module that stand behind what has been checked, the next one last.
    pending: Vec<(usize, &'a str, NameKind)>,
    forms: Forms<'a>,
    since: Since<'a>,
    /// Whether the linker has compared the declarations of its parts: it accepts more than a module may differ in.
    linked: bool,
    /// By the declaration of a function's variable: what its initial values name, as [`named`](Self::named) says.
    named: HashMap<usize, HashMap<String, usize>>,
}

/// A failure at a line.
fn invalid(line: u32, message: impl Into<String>) -> LoadFailure {
    LoadFailure { line, message: message.into(), kind: LoadFailureKind::Invalid }
}

fn duplicate(line: u32, name: &str) -> LoadFailure {
    LoadFailure {
        line,
        message: format!("duplicate definition of `{name}`"),
        kind: LoadFailureKind::Duplicate,
    }
}

impl<'a> Check<'a> {
    /// Checks declarations outside of functions, and returns the check for functions.
    pub(super) fn new(module: &Module<'a>, linked: bool) -> Result<Check<'a>, LoadFailure> {
        let mut check = Check {
            names: Names::new(),
            signatures: HashMap::new(),
            targets: Vec::new(),
            pending: Vec::new(),
            forms: Forms::default(),
            since: Since::new(module),
            linked,
            named: HashMap::new(),
        };
        let is_bank = |name: &str| name.starts_with("const[");
        let is_known = |name: &str| is_bank(name) && check.since.has_banks();
        if let Some((line, name)) = module.unknown.iter().find(|(_, name)| !is_known(name)) {
            if is_bank(name) {
                return Err(invalid(*line, format!("`.{name}`: constant banks are gone since .version 2.2")));
            }
            return Err(invalid(*line, format!("there is no directive `.{name}`")));
        }
        for variable in &module.variables {
            check.since.variable(variable).map_err(|message| invalid(variable.line, message))?;
        }
        module_variables(module, check.linked)?;
        for variable in module.variables.iter().rev() {
            let thing = NameKind::of(variable, Owner::Scope);
            check.pending.push((place(variable.name), variable.name, thing));
        }
        declarations::samplers(module)?;
        heads(module, check.linked)?;
        if check.linked {
            check.declare_before(usize::MAX);
            module.functions.iter().for_each(|function| check.declare_function(function));
        } else {
            order::initial_values(module)?;
        }
        for (alias, _) in &module.aliases {
            check.names.declare(alias, NameKind::Function);
        }
        Ok(check)
    }

    /// Declares the variables of the module that stand before a place in the text.
    fn declare_before(&mut self, before: usize) {
        while let Some((_, name, thing)) = self.pending.pop_if(|(at, ..)| *at < before) {
            self.names.declare(name, thing);
        }
    }

    /// By the declaration of a function's variable: the names in its initial values that mean other variables of functions, and the
    /// declarations of those.
    pub(super) fn named(self) -> HashMap<usize, HashMap<String, usize>> {
        self.named
    }

    fn declare_function(&mut self, function: &Function<'a>) {
        self.names.declare(function.name, NameKind::Function);
        self.signatures.insert(function.name, Signature::of(function));
    }

    /// Declares a function, and what stands before it.
    pub(super) fn reach(&mut self, function: &Function<'a>) {
        self.declare_before(place(function.name));
        self.declare_function(function);
    }

    /// Checks a function that has a body.
    pub(super) fn function(
        &mut self,
        function: &Function<'a>,
        statements: &[Statement<'a>],
    ) -> Result<(), LoadFailure> {
        let entry = function.kind == FunctionKind::Entry;
        if entry && function.parameter_bytes() > MOST_PARAMETERS {
            let bytes = function.parameter_bytes();
            let message = format!(
                "kernel `{}` has {bytes} bytes of parameters, and {MOST_PARAMETERS} are possible",
                function.name
            );
            return Err(invalid(function.line, message));
        }
        let parameters = if entry { function.parameter_bytes() } else { 0 };
        let since =
            self.since.parameters(parameters).and_then(|()| self.since.directives(&function.directives));
        since.map_err(|message| invalid(function.line, message))?;
        self.targets.clear();
        self.names.push();
        let owner = if entry { Owner::Kernel } else { Owner::Function };
        for variable in function.params.iter().chain(&function.returns) {
            let thing = NameKind::of(variable, owner);
            if !variable.name.is_empty() && variable.name != "_" && !self.names.declare(variable.name, thing)
            {
                return Err(duplicate(function.line, variable.name));
            }
        }
        // The body shares its names with the parameters.
        let checked = self.statements(statements, function.body_line);
        self.names.pop();
        checked
    }

    fn block(&mut self, statements: &[Statement<'a>], line: u32) -> Result<(), LoadFailure> {
        self.names.push();
        let checked = self.statements(statements, line);
        self.names.pop();
        checked
    }

    fn statements(&mut self, statements: &[Statement<'a>], mut line: u32) -> Result<(), LoadFailure> {
        // Labels are known before the place where they stand, but for those of prototypes and lists.
        let is_list = |at: usize| {
            matches!(statements.get(at + 1), Some(Statement::Targets(_) | Statement::CallPrototype { .. }))
        };
        for (at, statement) in statements.iter().enumerate() {
            line = line_of(statement).unwrap_or(line);
            if let Statement::Label(name) = statement
                && !is_list(at)
                && !self.names.declare(name, NameKind::Label)
            {
                return Err(duplicate(line, name));
            }
        }
        for (at, statement) in statements.iter().enumerate() {
            match statement {
                Statement::Variable(variable) => self.variable(variable)?,
                Statement::Block(inner) => self.block(inner, line)?,
                Statement::Instruction(instruction) => {
                    self.instruction(instruction).map_err(|message| invalid(instruction.line, message))?;
                }
                Statement::Label(name) if is_list(at) => {
                    let thing = NameKind::List(self.targets.len());
                    if !self.names.declare(name, thing) {
                        return Err(duplicate(line, name));
                    }
                }
                Statement::Targets(targets) => {
                    let unknown = targets.iter().find(|target| self.names.find(target).is_none());
                    if let Some(name) = unknown {
                        return Err(invalid(line, format!("`{name}` is not declared")));
                    }
                    self.targets.push(Target::Names(targets.clone()));
                }
                Statement::CallPrototype { returns, params } => {
                    self.targets.push(Target::Prototype(Signature::new(returns, params)));
                }
                _ => {}
            }
            line = line_of(statement).unwrap_or(line);
        }
        Ok(())
    }

    fn instruction(&mut self, instruction: &Instruction<'a>) -> Result<(), String> {
        let (names, signatures, targets) = (&self.names, &self.signatures, &self.targets);
        self.since.instruction(instruction, names)?;
        let linked = self.linked;
        let is_call = |instruction: &Instruction<'a>| {
            if linked {
                return Ok(());
            }
            let signature = |name: &str| signatures.get(name);
            calls::check(instruction.name, &instruction.operands, names, signature, targets)
        };
        let list = |index: usize| match targets.get(index) {
            Some(Target::Names(names)) => Some(names.as_slice()),
            _ => None,
        };
        self.forms.check(instruction, names, is_call, list)
    }

    fn variable(&mut self, variable: &Variable<'a>) -> Result<(), LoadFailure> {
        if variable.space == Space::Reg {
            self.since.register(variable.ty).map_err(|message| invalid(variable.line, message))?;
        }
        self.since.variable(variable).map_err(|message| invalid(variable.line, message))?;
        declarations::variable(variable, false).map_err(|message| invalid(variable.line, message))?;
        let named =
            order::neighbours(variable, &self.names).map_err(|message| invalid(variable.line, message))?;
        if !named.is_empty() {
            self.named.insert(declaration(variable), named);
        }
        let thing = NameKind::of(variable, Owner::Scope);
        let fresh = match variable.count {
            Some(count) => self.names.declare_set(variable.name, count, thing),
            None => self.names.declare(variable.name, thing),
        };
        if fresh { Ok(()) } else { Err(duplicate(variable.line, variable.name)) }
    }
}

/// Where a name stands, as a number that grows with the text.
fn place(name: &str) -> usize {
    name.as_ptr().addr()
}

/// The line of a statement, if it knows it.
fn line_of(statement: &Statement<'_>) -> Option<u32> {
    match statement {
        Statement::Instruction(instruction) => Some(instruction.line),
        Statement::Variable(variable) => Some(variable.line),
        _ => None,
    }
}
