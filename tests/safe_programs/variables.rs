//! Steps with variables of a module: buffers that outlive their handles, and a constant.

#![deny(unsafe_code)]

use crate::change::{Change, HALF, assert_all};
use crate::kinds::Memory;
use crate::program::Program;
use cuda_launch::error::GlobalError;
use cuda_launch::graph::InstantiateFlags;
use cuda_launch::module::ModuleConstant;
use cuda_launch::{CaptureMode, CudaGraph, CudaStream, Error, ErrorKind, cuda_module};
use std::thread;
use std::time::{Duration, Instant};

#[cuda_module("tests/safe_programs/variables.ptx")]
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

fn is_in_use(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Global(GlobalError::InUse { .. }))
}

/// The handle of a variable that nobody has. A graph that had it may just be letting go of it, on another thread.
fn free<H>(handle: impl Fn() -> Result<H, Error>) -> Result<H, Error> {
    let start = Instant::now();
    loop {
        match handle() {
            Err(error) if is_in_use(&error) && start.elapsed() < Duration::from_secs(10) => {
                thread::yield_now()
            }
            result => return result,
        }
    }
}

impl Program {
    fn variables(&mut self) -> Result<&mut Variables, Error> {
        if self.variables.is_none() {
            let (module, ids) = (module::load(&self.ctx)?, [self.new_id([0; 2]), self.new_id([0; 2])]);
            self.variables = Some(Variables { module, ids, table: None, table_holds: 0 });
        }
        Ok(self.variables.as_mut().unwrap())
    }

    /// A variable that no buffer has, and its id: what is still done to it by an earlier handle comes first.
    pub(crate) fn variable(&mut self) -> Result<Option<(Memory, usize)>, Error> {
        let which = self.random.below(2);
        let id = self.variables()?.ids[which];
        let is_taken = self.buffers.iter().any(|buffer| buffer.id == id);
        let Variables { module, .. } = self.variables()?;
        let handle = || if which == 0 { module.left() } else { module.right() };
        if is_taken {
            assert!(handle().is_err_and(|error| is_in_use(&error)), "a variable with two handles");
            return Ok(None);
        }
        Ok(Some((Memory::Variable(free(handle)?), id)))
    }

    /// The constant is written on one stream and read on another one, perhaps by a graph and through another handle.
    pub(crate) fn use_constant(&mut self) -> Result<(), Error> {
        let (write, read, (to, from)) = (self.stream(), self.stream(), self.two_buffers());
        let (half, value, how) = (self.random.below(2), self.random.number(), self.random.below(7));
        let [let_go, keep, in_graph] = [(); 3].map(|()| self.random.one_in(2));
        self.variables()?;
        let Self {
            variables: Some(variables),
            buffers,
            kernels,
            ctx,
            holds,
            in_graphs,
            pinned,
            pinned_holds,
            ..
        } = self
        else {
            return Ok(());
        };
        let Variables { module, table: kept, table_holds, .. } = variables;
        let [to, from] = buffers.get_disjoint_mut([to, from]).unwrap();
        let mut table = kept.take().map_or_else(|| free(|| module.table()), Ok)?;
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
                free(|| module.set_table(&write, [value; HALF]))?;
                *table_holds = value;
                assert_all(&free(|| module.get_table(&read))?, value, "a constant");
                table = free(|| module.table())?;
            }
            3 => {
                table.view_mut().fill(&write, value)?;
                *table_holds = value;
            }
            4 => {
                table.view_mut().slice(..HALF).copy_from_pinned(&write, &*pinned)?;
                *table_holds = *pinned_holds;
            }
            _ => {}
        }
        if let_go {
            drop(table);
            table = free(|| module.table())?;
        }
        let mut target = to.memory.half_mut(half);
        let mut collect =
            |stream: &CudaStream| Change::Collect.submit(kernels, stream, &mut target, &table.view());
        if in_graph {
            let graph = CudaGraph::capture(ctx, CaptureMode::ThreadLocal, collect)?;
            // It ends before its work does.
            graph.instantiate(InstantiateFlags::empty())?.launch(&read)?;
            in_graphs.push(to.id);
        } else {
            collect(&read)?;
        }
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
