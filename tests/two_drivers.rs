//! Two drivers in one process, as `CudaContext::with_driver` promises: a handle of one means nothing to the other, which would
//! follow it as a pointer. Every function that takes two objects refuses those of two drivers, and no driver sees the call; of two contexts
//! of one driver, unless drivers have them meet (`two_drivers/contexts.rs`).

#![allow(unsafe_code)] // A table of functions; unsafe functions that refuse before their duties matter.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "two_drivers/contexts.rs"]
mod contexts;
#[path = "two_drivers/entries.rs"]
mod entries;
#[path = "two_drivers/inside.rs"]
mod inside;
#[path = "two_drivers/objects.rs"]
mod objects;
#[path = "two_drivers/public.rs"]
mod public;
#[path = "support/spies.rs"]
mod spies;

use cuda_harness::skipped;
use cuda_launch::context::ContextOptions;
use cuda_launch::error::{AliasedMemory, GraphError};
use cuda_launch::graph::KernelNode;
use cuda_launch::sys::CUresult;
use cuda_launch::virtual_memory::Mapping;
use cuda_launch::{Attribute, CudaGraph, DeviceBuffer, Error, ErrorKind, cuda_launch, kernel_args};
use entries::{CONFIG, ENTRIES, Entry, OTHERS};
use objects::{N, Objects};
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

/// One test at a time: to a real driver all tables are one, and what one test does breaks another's capture.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    static TWO_DEVICES: Once = Once::new();
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    // Every test comes here before it asks for a driver, whose code reads the variable once.
    TWO_DEVICES.call_once(|| unsafe { std::env::set_var("CUDA_EMULATOR_DEVICES", "2") });
    alone
}

#[test]
fn objects_of_two_drivers_do_not_meet() {
    let _alone = alone();
    let (mut ours, mut theirs) = (Objects::new(), Objects::new());
    let mut wrong = Vec::new();
    for Entry { name, call } in ENTRIES {
        for swapped in [false, true] {
            ours.spy.clear();
            theirs.spy.clear();
            let answer = if swapped { call(&mut theirs, &mut ours) } else { call(&mut ours, &mut theirs) };
            let calls = [ours.spy.calls().names(), theirs.spy.calls().names()].concat();
            let asked: Vec<_> = calls.into_iter().filter(|call| !objects::is_harmless(name, call)).collect();
            match answer {
                Ok(()) => wrong.push(format!("{name} takes them")),
                Err(error) if !is_refusal(&error) => wrong.push(format!("{name}: {error}")),
                Err(_) if !asked.is_empty() => wrong.push(format!("{name}: a driver saw {asked:?}")),
                Err(_) => {}
            }
        }
    }
    assert!(wrong.is_empty(), "objects of two drivers:\n{}", wrong.join("\n"));
}

/// Whether this crate says that two objects do not belong together.
fn is_refusal(error: &Error) -> bool {
    use GraphError::{ForeignNode, Unfit};
    let other_graph = matches!(error.kind(), ErrorKind::Graph(ForeignNode { .. } | Unfit { .. }));
    error.is_context_mismatch() || other_graph || matches!(error.kind(), ErrorKind::Attribute(_))
}

/// A node of a graph is of the graph's context, and an event is recorded in its own.
#[test]
fn some_are_refused_of_another_context_too() {
    let _alone = alone();
    let mut objects = Objects::new();
    let other = objects.context.device().create_context(&ContextOptions::default()).unwrap();
    let (graph, event) = (CudaGraph::new(&other).unwrap(), other.new_event().unwrap());
    let attributes = [Attribute::programmatic_event(&event, false)];
    objects.spy.clear();
    let refused = [
        objects.exec.update(&graph),
        KernelNode::new(&objects.function, CONFIG, &attributes, kernel_args![0u64, N as u32, 1u32]).map(drop),
        unsafe {
            cuda_launch! { kernel: fill, module: objects.module, stream: objects.stream, config: CONFIG,
            args: [ptr_mut(objects.buffer), N as u32, 1u32], attributes: attributes }
        },
    ];
    for answer in refused {
        let error = answer.unwrap_err();
        assert!(error.is_context_mismatch() && !error.is_wrong_device(), "{error}");
        assert!(error.to_string().contains("different contexts of device 0"), "{error}");
    }
    let asked: Vec<_> = objects
        .spy
        .calls()
        .names()
        .into_iter()
        .filter(|call| !objects::is_harmless("GraphExec::update", call))
        .collect();
    assert!(asked.is_empty(), "{asked:?}");
}

#[test]
fn objects_of_one_driver_meet() {
    let _alone = alone();
    let mut objects = Objects::new();
    assert!(objects.works(), "the table above would refuse anything");
    let other = Objects::new();
    assert!(!objects.context.device().can_access_peer(&other.context.device()).unwrap());
    objects.stream.join(&other.stream).unwrap();
}

/// Its bytes are those of the memory that is bound to it, which buffers may have.
#[test]
fn a_multicast_object_is_no_buffer_of_its_own() {
    let _alone = alone();
    let objects = Objects::new();
    let map = || Mapping::new(&objects.addresses, 0, objects.multicast.as_physical()).unwrap();
    let error = DeviceBuffer::<u32>::from_mapping(map(), N).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Aliased(AliasedMemory::Multicast { .. })), "{error}");
    assert_eq!(unsafe { DeviceBuffer::<u32>::from_shared_mapping(map(), N) }.unwrap().len(), N);
}

/// It would be bound on its own device, and then taken out on the context's, where other memory may be bound.
#[test]
fn memory_of_another_device_is_not_bound_for_this_one() {
    let _alone = alone();
    let objects = Objects::new();
    objects.multicast.add_device(&objects.context).unwrap();
    objects::ELSEWHERE.store(true, Ordering::Relaxed);
    let bound = objects.multicast.bind(&objects.context, 0, &objects.physical);
    objects::ELSEWHERE.store(false, Ordering::Relaxed);
    let error = bound.unwrap_err();
    assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_INVALID_DEVICE), "{error}");
    assert!(error.to_string().contains("Device(1)"), "{error}");
    assert_eq!(objects.spy.count("cuMulticastBindMem"), 0);
    drop(objects.multicast.bind(&objects.context, 0, &objects.physical).unwrap());
    assert_eq!((objects.spy.count("cuMulticastBindMem"), objects.spy.count("cuMulticastUnbind")), (1, 1));
}

#[test]
fn no_public_function_is_forgotten() {
    let known: BTreeSet<&str> =
        ENTRIES.iter().map(|entry| entry.name).chain(OTHERS.iter().map(|(name, _)| *name)).collect();
    let Some(found) = public::functions_of_two_objects() else {
        return skipped("the sources are not on this machine");
    };
    assert!(found.len() > 60, "only {} were found", found.len());
    let forgotten: Vec<_> = found.iter().filter(|name| !known.contains(name.as_str())).collect();
    assert!(forgotten.is_empty(), "add a row to ENTRIES or OTHERS, or a type to OBJECTS: {forgotten:?}");
}
