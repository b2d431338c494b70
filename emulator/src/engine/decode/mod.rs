//! From the text of a kernel to instructions that run.

mod bases;
mod body;
pub(super) mod builder;
pub(super) mod draft;
mod finish;
mod increments;
pub(super) mod indexed;
mod last_writes;
mod link;
pub(super) mod meaning;
mod meanings;
pub(super) mod operands;
mod pairs;
mod pool;
mod registers;
pub(super) mod rows;
pub(super) mod scope;
mod shapes;
mod sites;
mod values;

use std::sync::Arc;

use super::code::{Code, DeviceRuntime, Extern};
use super::image::Image;
use super::kernel::Kernel;
use super::windows::{RESERVED_SCRATCH, SHARED_START};
use builder::Table;
pub(super) use link::DYNAMIC_ALIGN;
use link::{Link, Reached};
pub(super) use sites::Looks;
use sites::Sites;

/// The maximum size of a thread's local memory in bytes, as on hardware.
pub(super) const MOST_LOCAL: u32 = 512 << 10;

/// Bytes of static shared memory of the kernel with that index; `None` if the variables do not fit.
pub(super) fn static_shared(image: &Image, index: usize) -> Option<u64> {
    link::link(image, index).0.static_shared_if_placed()
}

/// Decodes the kernel with that index in the program and everything it reaches, each instruction by the table. An instruction that cannot
/// be decoded becomes one that stops the kernel. `looks` selects the observers of the instructions; schedules are left out where what the
/// kernel does cannot be undone.
pub(super) fn kernel(image: &Image, index: usize, looks: Looks, table: Table) -> Kernel {
    let (link, reached) = link::link(image, index);
    let writes_surfaces = link.writes_surfaces;
    let kernel = decode(image, index, looks, table, (link, reached));
    let Some(reason) = kernel.not_undone(writes_surfaces).filter(|_| looks.schedules) else { return kernel };
    let looks = Looks { schedules: false, ..looks };
    Kernel { one_order: Some(reason), ..decode(image, index, looks, table, link::link(image, index)) }
}

fn decode<'a>(
    image: &'a Image,
    index: usize,
    looks: Looks,
    table: Table,
    (link, reached): (Link<'a>, Vec<Reached<'a>>),
) -> Kernel {
    let mut sites = Sites::new(looks);
    let decode = |(index, function)| {
        sites.function = index;
        body::decode(image, &link, function, &mut sites, table)
    };
    let codes: Vec<Code> = reached.iter().enumerate().map(decode).collect();
    let entry = reached.first().map(|reached| &reached.function);
    let directives = entry.map(|function| function.directives.clone()).unwrap_or_default();
    let threads = directives.reqntid.or(directives.maxntid);
    let threads = threads.map_or(1024, |[x, y, z]| x.saturating_mul(y).saturating_mul(z));
    let constants = image.globals.values().chain(image.nested.values()).filter(|global| global.constant);
    let (count, shapes) = (sites.count, sites.shapes);
    let unwritten = std::mem::take(&mut sites.unwritten);
    let (watched, profiled, scheduled) = sites.noted();
    Kernel {
        name: image.functions.get(index).map(|f| f.name.clone()).unwrap_or_default(),
        parameters: entry.map(|function| function.parameters()).unwrap_or_default(),
        parameter_bytes: entry.map_or(0, |function| function.parameter_bytes()),
        static_shared: link.static_shared(),
        local_bytes: codes.iter().fold(0, |sum, code| sum.saturating_add(code.local_bytes)),
        max_threads: threads,
        reqntid: directives.reqntid,
        maxntid: directives.maxntid,
        cluster: directives.reqnctapercluster,
        ptx_version: image.version,
        target: image.target,
        allocates: codes.iter().any(|code| code.calls(&[Extern::Malloc, Extern::Free])),
        launches_graphs: codes.iter().any(|code| code.calls(&[Extern::GraphLaunch])),
        updates_nodes: codes.iter().any(|code| code.calls(&[Extern::NodeUpdate])),
        launches: codes.iter().any(|code| code.calls(&DeviceRuntime::ALL.map(Extern::Runtime))),
        registers: codes.iter().map(|code| code.rows).max().unwrap_or(0).clamp(8, 255),
        const_bytes: constants.clone().map(|global| global.bytes).sum(),
        static_end: link.static_end(),
        shared_start: if codes.iter().any(|code| code.reserved) { RESERVED_SCRATCH } else { SHARED_START },
        dynamic: link.dynamic,
        sites: count,
        shapes,
        watched,
        unwritten,
        profiled,
        one_order: None,
        scheduled,
        first_function: image.first_function,
        functions: link.functions,
        constants: constants.map(|global| (global.address, global.bytes)).collect(),
        text: if looks.profiles { Arc::clone(&image.text) } else { Arc::default() },
        files: image.files.clone(),
        codes,
    }
}
