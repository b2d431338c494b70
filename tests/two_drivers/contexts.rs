//! The same table with objects of two contexts of one driver: a second context of the device, and one of a second device.

use crate::alone;
use crate::entries::{ENTRIES, Entry};
use crate::objects::{self, Objects};
use cuda_harness::{Spy, skipped};
use cuda_launch::context::ContextOptions;
use cuda_launch::error::GraphError;
use cuda_launch::{CudaContext, Error, ErrorKind};
use std::sync::Arc;

/// What takes objects of two contexts of one driver, and why.
const ALLOWED: &[(&str, &str)] = &[
    ("CudaContext::wait", "any context waits for any event"),
    ("CudaContext::enable_peer_access", "it is about two contexts"),
    ("CudaContext::disable_peer_access", "it is about two contexts"),
    ("CudaDevice::peer_attribute", "it is about two devices"),
    ("CudaStream::wait", "any stream waits for any event"),
    ("CudaStream::wait_with", "any stream waits for any event"),
    ("from_event", "any stream waits for any event"),
    ("CudaGraph::add_event_wait", "any graph waits for any event"),
    ("GraphExec::set_event_wait", "any graph waits for any event"),
    ("CudaLibrary::module", "a library is of the driver, and of no context"),
    ("CudaLibrary::raw_global", "a library is of the driver, and of no context"),
    ("LibraryKernel::function", "a library is of the driver, and of no context"),
    ("LibraryKernel::attribute", "a library is of the driver, and of no context"),
    ("LibraryKernel::set_attribute", "a library is of the driver, and of no context"),
    ("LibraryKernel::set_cache_config", "a library is of the driver, and of no context"),
    ("GreenContext::new", "multiprocessors are of a device, and it compares devices"),
    ("DeviceBuffer::uninit_in", "a pool is of a device; streams of another one allocate from it"),
    ("MemoryPool::export_buffer", "a pool is of a device"),
    ("MemoryPool::import_buffer", "a pool is of a device"),
    ("DeviceViewMut::copy_from_peer", "it copies between two contexts"),
    ("ConstantViewMut::copy_from_peer", "it copies between two contexts"),
    ("CudaStream::copy_region_peer", "it copies between two contexts"),
    ("TensorMap::with_memory", "it writes an address down; the launch compares"),
    ("TiledMap::encode", "it writes an address down; the launch compares"),
    ("Im2colMap::encode", "it writes an address down; the launch compares"),
    ("Mapping::new", "physical memory of any device is mapped at any address"),
    ("MulticastObject::add_device", "an object is of several devices"),
    ("MulticastObject::bind", "an object is of several devices, and it compares those of memory and context"),
];

/// What would give a real driver bytes that none has written, so that only the emulator is called.
const MADE_UP: &[&str] = &["MemoryPool::import_buffer", "TensorMap::with_memory"];

/// What no stream can have, whatever context it is of.
const NEVER: &str = "CudaStream::set_attribute";

/// A context beside the primary one of device 0, and the primary one of device 1 where there is one.
fn contexts() -> (Arc<Spy>, CudaContext, Vec<CudaContext>) {
    let spy = objects::spy();
    let context = CudaContext::with_driver(&spy.driver(), 0).unwrap();
    let mut others = vec![context.device().create_context(&ContextOptions::default()).unwrap()];
    match CudaContext::with_driver(&spy.driver(), 1) {
        Ok(second) => others.push(second),
        Err(_) => skipped("this machine has one device"),
    }
    (spy, context, others)
}

/// The rows that are called here.
fn rows(context: &CudaContext) -> impl Iterator<Item = &'static Entry> {
    let is_emulator = context.device_name().unwrap().contains("emulator");
    ENTRIES.iter().filter(move |entry| is_emulator || !MADE_UP.contains(&entry.name))
}

/// `context`, or what stands for it in a graph.
fn names_the_context(error: &Error) -> bool {
    use GraphError::{ForeignNode, Unfit};
    let other_graph = matches!(error.kind(), ErrorKind::Graph(ForeignNode { .. } | Unfit { .. }));
    (error.is_context_mismatch() && error.to_string().contains("device")) || other_graph
}

#[test]
fn objects_of_two_contexts_meet_only_where_the_driver_has_them_meet() {
    let _alone = alone();
    let (spy, context, others) = contexts();
    let mut wrong = Vec::new();
    for other in others {
        let both = || (Objects::of(&spy, &context), Objects::of(&spy, &other));
        let (mut ours, mut theirs) = both();
        for (Entry { name, call }, swapped) in
            rows(&context).flat_map(|entry| [(entry, false), (entry, true)])
        {
            let is_allowed = ALLOWED.iter().any(|(allowed, _)| allowed == name);
            spy.clear();
            let answer = if swapped { call(&mut theirs, &mut ours) } else { call(&mut ours, &mut theirs) };
            let asked: Vec<_> =
                spy.calls().names().into_iter().filter(|call| !objects::is_harmless(name, call)).collect();
            let of = format!("{name}, device {}", other.ordinal());
            match &answer {
                // What is about devices compares those.
                Err(error) if is_allowed && error.is_context_mismatch() && !error.is_wrong_device() => {
                    wrong.push(format!("{of}: {error}"))
                }
                _ if is_allowed => {}
                Ok(()) => wrong.push(format!("{of} takes them")),
                Err(error) if !names_the_context(error) && *name != NEVER => {
                    wrong.push(format!("{of}: {error}"))
                }
                Err(_) if !asked.is_empty() => wrong.push(format!("{of}: the driver saw {asked:?}")),
                Err(_) => {}
            }
            if answer.is_ok() || is_allowed {
                (ours, theirs) = both();
            }
        }
    }
    assert!(wrong.is_empty(), "objects of two contexts:\n{}", wrong.join("\n"));
}

/// The table refuses nothing else: objects of one context go together.
#[test]
fn objects_of_one_context_do_meet() {
    let _alone = alone();
    let (spy, context, _) = contexts();
    let (mut first, mut second) = (Objects::of(&spy, &context), Objects::of(&spy, &context));
    for Entry { name, call } in rows(&context) {
        if let Err(error) = call(&mut first, &mut second) {
            assert!(!error.is_context_mismatch(), "{name}: {error}");
        }
    }
}

#[test]
fn what_is_allowed_is_in_the_table() {
    for (name, _) in ALLOWED {
        assert!(ENTRIES.iter().any(|entry| entry.name == *name), "{name}");
    }
}
