//! Steps with variables of a module: buffers that outlive their handles, and a constant.

#![deny(unsafe_code)]

use crate::change::{Change, HALF, assert_all};
use crate::kinds::Memory;
use crate::program::Program;
use cuda_launch::error::GlobalError;
use cuda_launch::module::ModuleConstant;
use cuda_launch::{Error, ErrorKind, cuda_module};

#[cuda_module("tests/kernels/variables.ptx")]
mod module {
    unsafe extern "C" {
        pub static mut left: [u32; 1200];
        pub static mut right: [u32; 1200];
        pub static table: [u32; 600];
    }
}

pub(crate) struct Variables {
    module: module::Module,
    /// Of what the variables hold, whoever has their handles.
    ids: [usize; 2],
    /// The handle, if it was not dropped.
    table: Option<ModuleConstant<u32>>,
    table_holds: u32,
}

impl Program {
    fn variables(&mut self) -> Result<&mut Variables, Error> {
        if self.variables.is_none() {
            let (module, ids) = (module::load(&self.ctx)?, [self.new_id([0; 2]), self.new_id([0; 2])]);
            self.variables = Some(Variables { module, ids, table: None, table_holds: 0 });
        }
        Ok(self.variables.as_mut().unwrap())
    }

    /// A variable that nobody has, and its id: what is still done to it by an earlier handle comes first.
    pub(crate) fn variable(&mut self) -> Result<Option<(Memory, Option<usize>)>, Error> {
        let which = self.random.below(2);
        let Variables { module, ids, .. } = self.variables()?;
        let (handle, id) = (if which == 0 { module.left() } else { module.right() }, ids[which]);
        match handle {
            Ok(memory) => Ok(Some((Memory::Variable(memory), Some(id)))),
            Err(error) if matches!(error.kind(), ErrorKind::Global(GlobalError::InUse { .. })) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The constant is written on one stream and read on another one, perhaps through another handle.
    pub(crate) fn use_constant(&mut self) -> Result<(), Error> {
        let (write, read, (to, from)) = (self.stream(), self.stream(), self.two_buffers());
        let (half, value, how) = (self.random.below(2), self.random.number(), self.random.below(5));
        let (let_go, keep) = (self.random.one_in(2), self.random.one_in(2));
        self.variables()?;
        let Self { variables: Some(variables), buffers, kernels, holds, .. } = self else { return Ok(()) };
        let Variables { module, table: kept, table_holds, .. } = variables;
        let [to, from] = buffers.get_disjoint_mut([to, from]).unwrap();
        let mut table = kept.take().map_or_else(|| module.table(), Ok)?;
        match how {
            0 => {
                table.copy_from_device(&write, &from.memory.half(half))?;
                *table_holds = holds[from.id][half];
            }
            1 => {
                table.copy_from_host(&write, &[value; HALF])?;
                *table_holds = value;
            }
            2 => {
                drop(table);
                module.set_table(&write, [value; HALF])?;
                *table_holds = value;
                assert_all(&module.get_table(&read)?, value, "a constant");
                table = module.table()?;
            }
            _ => {}
        }
        if let_go {
            drop(table);
            table = module.table()?;
        }
        Change::Collect.submit(kernels, &read, &mut to.memory.half_mut(half), &table.view())?;
        Change::Collect.apply(&mut holds[to.id][half], *table_holds);
        *kept = keep.then_some(table);
        Ok(())
    }

    /// What was loaded before stays as long as a handle or a graph needs it, and new variables are zero.
    pub(crate) fn reload_variables(&mut self) -> Result<(), Error> {
        self.variables = None;
        Ok(())
    }
}
