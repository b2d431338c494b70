//! Calls inside a host function are refused by name, whatever they are made on: the table of functions that take two objects, here with
//! those of one context, and what is asked of devices, libraries, pools and others without a second object.

use crate::alone;
use crate::entries::ENTRIES;
use crate::objects::{self, N, Objects};
use cuda_harness::skipped;
use cuda_launch::context::ContextOptions;
use cuda_launch::device::{DeviceAttribute, GreenContext, SmSplitFlags};
use cuda_launch::memory::{MemoryLocation, MemoryPool, PoolOptions};
use cuda_launch::module::{CudaLibrary, FunctionAttribute};
use cuda_launch::{CudaContext, CudaDevice, Error, ErrorKind};
use std::sync::mpsc;
use std::time::Duration;

/// What is called, by the name of this crate.
struct Call {
    name: &'static str,
    call: fn(&mut Objects) -> Result<(), Error>,
}

macro_rules! calls {
    ($($name:literal: |$of:ident| $call:expr;)*) => {
        const CALLS: &[Call] = &[$(Call { name: $name, call: |$of| $call.map(drop) }),*];
    };
}

calls! {
    "CudaDevice::name": |of| of.context.device().name();
    "CudaDevice::pci_bus_id": |of| of.context.device().pci_bus_id();
    "CudaDevice::uuid": |of| of.context.device().uuid();
    "CudaDevice::attribute": |of| of.context.device().attribute(DeviceAttribute::WARP_SIZE);
    "CudaDevice::compute_capability": |of| of.context.device().compute_capability();
    "CudaDevice::total_memory": |of| of.context.device().total_memory();
    "CudaDevice::luid": |of| of.context.device().luid();
    "CudaDevice::supports_multiprocessor_affinity": |of| of.context.device().supports_multiprocessor_affinity();
    "CudaDevice::by_pci_bus_id": |of| CudaDevice::by_pci_bus_id(of.context.driver(), "0000:00:00.0");
    "CudaDevice::can_access_peer": |of| of.context.device().can_access_peer(&of.context.device());
    "CudaDevice::create_context": |of| of.context.device().create_context(&ContextOptions::default());
    "CudaDevice::context": |of| of.context.device().context();
    "CudaDevice::multiprocessors": |of| of.context.device().multiprocessors();
    "CudaContext::multiprocessors": |of| of.context.multiprocessors();
    "SmResource::split": |of| of.multiprocessors.split(1, 16, SmSplitFlags::empty());
    "GreenContext::new": |of| GreenContext::new(&of.context, std::slice::from_ref(&of.multiprocessors));
    "CudaLibrary::load": |of| CudaLibrary::load(of.context.driver(), include_str!("../kernels/globals.ptx"));
    "CudaLibrary::kernel": |of| of.library.kernel("fill_table");
    "CudaLibrary::kernels": |of| of.library.kernels();
    "CudaLibrary::module": |of| of.library.module(&of.context);
    "LibraryKernel::function": |of| of.kernel.function(&of.context);
    "LibraryKernel::attribute": |of| of.kernel.attribute(&of.context, FunctionAttribute::NUM_REGS);
    "CudaFunction::attribute": |of| of.function.attribute(FunctionAttribute::NUM_REGS);
    "CudaModule::load_function": |of| of.module.load_function("fill");
    "MemoryPool::new": |of| MemoryPool::new(&of.context, PoolOptions::default());
    "MemoryPool::default_of": |of| MemoryPool::default_of(&of.context);
    "MemoryPool::make_current": |of| of.pool.make_current();
    "MemoryPool::trim_to": |of| of.pool.trim_to(0);
    "MemoryPool::memory_use": |of| of.pool.memory_use();
    "MemoryPool::access": |of| of.pool.access(MemoryLocation::from(&of.context));
    "CudaContext::memory_info": |of| of.context.memory_info();
    "CudaContext::synchronize": |of| of.context.synchronize();
    "CudaStream::synchronize": |of| of.stream.synchronize();
    "PinnedBuffer::as_slice": |of| of.pinned.as_slice();
    "GraphExec::launch": |of| of.exec.launch(&of.stream);
    "CudaGraph::try_clone": |of| of.graph.try_clone();
    "DeviceBuffer::zeroed": |of| cuda_launch::DeviceBuffer::<u32>::zeroed(&of.stream, N);
}

/// Calls this in a host function; gives what it answered.
fn inside<R: Send + 'static>(context: &CudaContext, call: impl FnOnce() -> R + Send + 'static) -> R {
    let (stream, (tell, told)) = (context.new_stream().unwrap(), mpsc::channel());
    stream.call_host(move || tell.send(call()).unwrap()).unwrap();
    let answer = told.recv_timeout(Duration::from_secs(60)).expect("the host function waits");
    stream.synchronize().unwrap();
    answer
}

/// What is decided without the driver may be decided everywhere.
const NEEDS_NO_DRIVER: &[&str] = &[
    "CudaGraph::add_conditional",
    "CudaGraph::add_dependency",
    "CudaGraph::add_empty",
    "CudaGraph::add_free",
    "CudaModule::load_function",
    "CudaStream::set_attribute",
    "CopyNode::device_to_device",
    "GraphExec::set_enabled",
    "KernelNode::new",
    "LaunchPlan::set_pitched",
    "LaunchPlan::set_pitched_mut",
    "LaunchPlan::set_ptr",
    "LaunchPlan::set_ptr_mut",
    "LaunchPlan::set_slice",
    "LaunchPlan::set_slice_mut",
    "OperationGraph::set_pitched",
    "OperationGraph::set_pitched_mut",
    "OperationGraph::set_ptr",
    "OperationGraph::set_ptr_mut",
    "OperationGraph::set_slice",
    "OperationGraph::set_slice_mut",
    "PinnedBuffer::as_slice",
    "PreparedLaunch::set_pitched",
    "PreparedLaunch::set_pitched_mut",
    "PreparedLaunch::set_ptr",
    "PreparedLaunch::set_ptr_mut",
    "PreparedLaunch::set_slice",
    "PreparedLaunch::set_slice_mut",
    "SurfaceObject::write_on",
    "TextureObject::read_on",
];

/// What is wrong with an answer to a call for which these functions of the driver were called.
fn fault(name: &str, answer: Result<(), Error>, asked: &[&str]) -> Option<String> {
    let fault = match answer {
        _ if asked.is_empty() && NEEDS_NO_DRIVER.contains(&name) => return None,
        Err(error) if matches!(error.kind(), ErrorKind::InHostCallback(_)) => return None,
        Err(error) => error.to_string(),
        Ok(()) => "done".to_string(),
    };
    Some(format!("{name}: {fault}, by {asked:?}"))
}

#[test]
fn calls_in_a_host_function_are_refused_by_name() {
    let _alone = alone();
    if !CudaContext::new(0).unwrap().device_name().unwrap().contains("emulator") {
        return skipped("other drivers take some of these calls there");
    }
    let spy = objects::spy();
    let context = CudaContext::with_driver(&spy.driver(), 0).unwrap();
    let mut of = Objects::of(&spy, &context);
    let heard = spy.clone();
    let (wrong, of) = inside(&context, move || {
        let mut wrong = Vec::new();
        for Call { name, call } in CALLS {
            heard.clear();
            let answer = call(&mut of);
            let names = heard.calls().names();
            let asked: Vec<_> = names.into_iter().filter(|call| !objects::is_harmless(name, call)).collect();
            wrong.extend(fault(name, answer, &asked));
        }
        (wrong, of)
    });
    drop(of);
    assert!(wrong.is_empty(), "calls in a host function:\n{}", wrong.join("\n"));
}

#[test]
fn so_are_those_of_two_objects() {
    let _alone = alone();
    if !CudaContext::new(0).unwrap().device_name().unwrap().contains("emulator") {
        return skipped("other drivers take some of these calls there");
    }
    let spy = objects::spy();
    let context = CudaContext::with_driver(&spy.driver(), 0).unwrap();
    let (mut first, mut second) = (Objects::of(&spy, &context), Objects::of(&spy, &context));
    let heard = spy.clone();
    let (wrong, both) = inside(&context, move || {
        let mut wrong = Vec::new();
        for entry in ENTRIES {
            heard.clear();
            let answer = (entry.call)(&mut first, &mut second);
            let names = heard.calls().names();
            let asked: Vec<_> =
                names.into_iter().filter(|call| !objects::is_harmless(entry.name, call)).collect();
            wrong.extend(fault(entry.name, answer, &asked));
        }
        (wrong, (first, second))
    });
    drop(both);
    assert!(wrong.is_empty(), "calls in a host function:\n{}", wrong.join("\n"));
}
