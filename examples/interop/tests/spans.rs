//! What a subscriber of `tracing` is told.

#![allow(unsafe_code)] // Launches.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cuda_launch::module::{CudaLibrary, JitOptions};
use cuda_launch::{CudaContext, DeviceBuffer, LaunchConfig, cuda_launch};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

const VECADD: &str = include_str!("../../kernels/vecadd.ptx");

/// A span: target, name, level, and fields as text.
#[derive(Clone, Debug)]
struct Seen {
    target: &'static str,
    name: &'static str,
    level: Level,
    fields: Fields,
    /// Times entered, and left.
    visits: (usize, usize),
}

impl Seen {
    fn field(&self, name: &str) -> &str {
        self.fields.0.get(name).map_or("", String::as_str)
    }
}

#[derive(Clone, Debug, Default)]
struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.into());
    }
}

/// Keeps all spans up to a level.
#[derive(Clone)]
struct Collector(Level, Arc<Mutex<Vec<Seen>>>);

impl Collector {
    fn change(&self, id: &Id, change: impl FnOnce(&mut Seen)) {
        change(&mut self.1.lock().unwrap()[id.into_u64() as usize - 1]);
    }
}

impl Subscriber for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.0
    }

    fn max_level_hint(&self) -> Option<tracing::level_filters::LevelFilter> {
        Some(self.0.into())
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut fields = Fields::default();
        span.record(&mut fields);
        let (meta, mut all) = (span.metadata(), self.1.lock().unwrap());
        let (target, name, level) = (meta.target(), meta.name(), *meta.level());
        all.push(Seen { target, name, level, fields, visits: (0, 0) });
        Id::from_u64(all.len() as u64)
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        self.change(id, |seen| values.record(&mut seen.fields));
    }

    fn enter(&self, id: &Id) {
        self.change(id, |seen| seen.visits.0 += 1);
    }

    fn exit(&self, id: &Id) {
        self.change(id, |seen| seen.visits.1 += 1);
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}
}

/// The spans of crate `cuda_launch` up to this level while `work` runs, on this thread.
fn spans(level: Level, work: impl FnOnce()) -> Vec<Seen> {
    let collector = Collector(level, Arc::default());
    tracing::subscriber::with_default(collector.clone(), work);
    let mut all = collector.1.lock().unwrap().clone();
    all.retain(|seen| seen.target.starts_with("cuda_launch"));
    assert!(all.iter().all(|seen| seen.visits == (1, 1)), "{all:?}");
    all
}

fn of<'s>(all: &'s [Seen], name: &str) -> Vec<&'s Seen> {
    all.iter().filter(|seen| seen.name == name).collect()
}

fn add(ctx: &CudaContext, levels: Level) -> (Vec<Seen>, String) {
    let mut label = String::new();
    let all = spans(levels, || {
        let module = ctx.load_module(VECADD).unwrap();
        let stream = ctx.new_stream().unwrap();
        label = format!("{:?}", stream.raw());
        let a = DeviceBuffer::from_host(&stream, &[1.0f32; 1000]).unwrap();
        let mut c = DeviceBuffer::<f32>::zeroed(&stream, 1000).unwrap();
        // The first launch is examined, the second is not.
        for _ in 0..2 {
            // SAFETY: 1, 2: vecadd takes three slices and stays inside them; 3, 4: the buffers live, and nobody else uses them,
            // until to_host_vec below has waited for the stream; 5: it writes floats; 6: it ends.
            unsafe {
                cuda_launch! {
                    kernel: vecadd, stream: stream, module: module, config: LaunchConfig::for_num_elems(1000),
                    args: [slice(a), slice(a), slice_mut(c)]
                }
            }
            .unwrap();
        }
        assert_eq!(c.to_host_vec(&stream).unwrap(), [2.0; 1000]);
    });
    (all, label)
}

#[test]
fn spans_name_what_was_asked() {
    let ctx = CudaContext::new(0).unwrap();
    let (all, stream) = add(&ctx, Level::DEBUG);
    let device = ctx.ordinal().to_string();

    let [module] = of(&all, "module")[..] else { panic!("{all:?}") };
    assert_eq!((module.target, module.level), ("cuda_launch::module", Level::INFO));
    assert_eq!((module.field("call"), module.field("asked")), ("cuModuleLoadDataEx", "image in memory"));
    assert_eq!(module.field("device"), device);

    let launches = of(&all, "launch");
    assert_eq!(launches.len(), 2);
    for launch in launches {
        assert_eq!((launch.target, launch.level), ("cuda_launch::launch", Level::DEBUG));
        assert_eq!((launch.field("kernel"), launch.field("call")), ("vecadd", "cuLaunchKernelEx"));
        assert_eq!((launch.field("grid"), launch.field("block")), ("(4, 1, 1)", "(256, 1, 1)"));
        assert_eq!((launch.field("device"), launch.field("stream")), (device.as_str(), stream.as_str()));
        assert_eq!((launch.field("shared_bytes"), launch.field("refused")), ("0", ""));
    }

    let copies = of(&all, "copy");
    let calls: Vec<&str> = copies.iter().map(|copy| copy.field("call")).collect();
    assert_eq!(calls, ["cuMemcpyHtoDAsync", "cuMemsetD8Async", "cuMemcpyDtoHAsync"]);
    let asked = format!("4000 bytes, stream {stream}");
    assert!(copies.iter().all(|copy| copy.target == "cuda_launch::copy" && copy.field("asked") == asked));

    let waits = of(&all, "wait");
    assert_eq!(waits.len(), 2, "one for each copy from or to the host");
    assert!(waits.iter().all(|wait| wait.field("asked") == format!("stream {stream}")), "{waits:?}");
    assert!(of(&all, "memory").iter().all(|memory| memory.target == "cuda_launch::memory"));
    assert!(of(&all, "memory").len() >= 4, "two allocations, both given back");
    assert!(of(&all, "call").is_empty(), "these are for TRACE");
}

#[test]
fn a_level_chooses_what_is_told() {
    let ctx = CudaContext::new(0).unwrap();
    let (all, _) = add(&ctx, Level::INFO);
    assert_eq!(all.iter().map(|seen| seen.name).collect::<Vec<_>>(), ["module"]);
    let (all, _) = add(&ctx, Level::TRACE);
    assert!(of(&all, "call").iter().any(|call| call.field("call") == "cuStreamCreateWithPriority"));
}

#[test]
fn a_refusal_is_told_with_its_code() {
    let ctx = CudaContext::new(0).unwrap();
    let all = spans(Level::TRACE, || {
        let error = ctx.load_module(VECADD).unwrap().load_function("vecsub").unwrap_err();
        assert!(error.to_string().contains("vecsub"));
        // The text of the error is that of the span: it is made once.
        let error = DeviceBuffer::<u8>::uninit_plain(&ctx, 1 << 60).unwrap_err();
        assert!(error.to_string().contains(&format!("{} bytes", 1u64 << 60)), "{error}");
    });
    let refused: Vec<_> = all.iter().filter(|seen| !seen.field("refused").is_empty()).collect();
    let [lookup, memory] = refused[..] else { panic!("{refused:?}") };
    assert!(lookup.field("asked").contains("vecsub") && lookup.field("refused").contains("NOT_FOUND"));
    assert!(memory.field("asked").contains(&format!("{} bytes", 1u64 << 60)), "{memory:?}");
    assert!(memory.field("refused").contains("OUT_OF_MEMORY"), "{memory:?}");
}

#[test]
fn libraries_and_options_are_modules_too() {
    let ctx = CudaContext::new(0).unwrap();
    let all = spans(Level::INFO, || {
        CudaLibrary::load(ctx.driver(), VECADD).unwrap();
        ctx.load_module_with(VECADD, &JitOptions::new()).unwrap();
    });
    let calls: Vec<&str> = all.iter().map(|seen| seen.field("call")).collect();
    assert_eq!(calls, ["cuLibraryLoadData", "cuModuleLoadDataEx"]);
}

/// Panics where the span of this driver call is left: the call is made by then. Counts how often.
struct Panics(&'static str, Mutex<Vec<bool>>, Arc<AtomicUsize>);

impl Subscriber for Panics {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut fields = Fields::default();
        span.record(&mut fields);
        let mut all = self.1.lock().unwrap();
        let is_it = span.metadata().name() == self.0 || fields.0.values().any(|value| value == self.0);
        all.push(is_it);
        Id::from_u64(all.len() as u64)
    }

    fn exit(&self, id: &Id) {
        let is_it = self.1.lock().unwrap()[id.into_u64() as usize - 1];
        if is_it && !std::thread::panicking() {
            self.2.fetch_add(1, Ordering::Relaxed);
            panic!("on purpose");
        }
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn enter(&self, _: &Id) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}
}

/// A node that the driver has added when a subscriber panics finds its memory.
#[test]
fn a_subscriber_that_panics_takes_nothing_from_a_graph() {
    use cuda_launch::graph::{InstantiateFlags, MemsetNode};
    use cuda_launch::{CaptureMode, CudaGraph};
    let ctx = CudaContext::new(0).unwrap();
    let stream = ctx.new_stream().unwrap();
    let run = |call: &'static str, work: &mut dyn FnMut()| {
        let panics = Arc::new(AtomicUsize::new(0));
        let subscriber = Panics(call, Mutex::default(), panics.clone());
        let watched = std::panic::AssertUnwindSafe(|| tracing::subscriber::with_default(subscriber, work));
        let result = std::panic::catch_unwind(watched);
        assert!(panics.load(Ordering::Relaxed) > 0, "{call} has a span");
        result
    };
    let panics = |call, work: &mut dyn FnMut()| assert!(run(call, work).is_err(), "{call} tells its caller");
    let contains = |call, work: &mut dyn FnMut()| {
        assert!(run(call, work).is_ok(), "{call} is made by a destructor, or gives something back")
    };
    for way in ["added", "changed", "removed", "recorded", "recorded and removed"] {
        let mut lost = DeviceBuffer::<u32>::zeroed(&stream, 1000).unwrap();
        let mut graph = CudaGraph::new(&ctx).unwrap();
        let mut first = DeviceBuffer::<u32>::zeroed(&stream, 1000).unwrap();
        let node = graph.add_memset(&[], MemsetNode::new(&mut first, 1).unwrap()).unwrap();
        let mut exec = graph.instantiate(InstantiateFlags::empty()).unwrap();
        let mut record = |graph: &mut CudaGraph, fails: bool| {
            let done = graph.capture_into(&[], CaptureMode::ThreadLocal, |stream| {
                lost.view_mut().fill(stream, 7)?;
                if fails { stream.synchronize() } else { Ok(()) }
            });
            drop(done);
        };
        match way {
            "added" => panics("cuGraphAddMemsetNode", &mut || {
                drop(graph.add_memset(&[], MemsetNode::new(&mut lost, 7).unwrap()));
            }),
            "changed" => panics("cuGraphExecMemsetNodeSetParams", &mut || {
                drop(exec.set_memset(node, MemsetNode::new(&mut lost, 7).unwrap()));
            }),
            "removed" => panics("cuGraphDestroyNode", &mut || drop(graph.remove(node))),
            "recorded" => contains("cuStreamEndCapture", &mut || record(&mut graph, false)),
            _ => contains("cuGraphDestroyNode", &mut || record(&mut graph, true)),
        }
        drop((lost, first));
        // Memory that was freed would be given out again.
        let others: Vec<_> =
            (0..4).map(|_| DeviceBuffer::from_host(&stream, &[9u32; 1000]).unwrap()).collect();
        exec.launch(&stream).unwrap();
        let mut fresh = graph.instantiate(InstantiateFlags::empty()).unwrap();
        fresh.launch(&stream).unwrap();
        stream.synchronize().unwrap_or_else(|error| panic!("{way}: {error}"));
        for other in &others {
            assert_eq!(other.to_host_vec(&stream).unwrap(), [9; 1000], "{way}");
        }
        if way == "removed" {
            assert!(graph.remove(node).unwrap_err().is_graph_error(), "its handle is not used again");
        }
    }
}
