//! What can be changed about the nodes of an executable graph, one by one and by another graph.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)]

use cuda_driver_sys::*;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

use crate::support::graphs::{graph, instantiate, kernel};
use crate::support::*;
use crate::{Case, Row};

pub(crate) const CASES: &[(&str, Case)] = &[
    ("copy_source_changed", copy_source),
    ("copy_target_changed", copy_target),
    ("copy_shape_changed", copy_shape),
    ("fill_changed", fill),
    ("kernel_node_changed", kernel_node),
];

/// Bytes of all memory here but a variable and an array, which have 16.
const BYTES: usize = 4096;

/// Where an operand is.
#[derive(Clone, Copy)]
enum Place {
    Host(u64),
    Device(u64),
    Array(CUarray),
}

/// Memory of every kind, and two of the plainest. Nobody gives it back: each case has a process.
fn places(cuda: &Driver, context: CUcontext) -> Vec<(&'static str, Place)> {
    let (stream, mut pooled, mut managed, mut variable) = (stream(cuda, 1), 0, 0, 0);
    let (mut pinned, mut other, mut array) = (null_mut(), null_mut(), null_mut());
    let leak = || Vec::leak(vec![0_u64; 2 * BYTES / 8]).as_mut_ptr();
    let registered = leak();
    unsafe {
        ok(cuda.cuMemAllocHost(&mut pinned, BYTES));
        ok(cuda.cuMemHostRegister(registered.cast(), BYTES, 0));
        ok(cuda.cuMemAllocAsync(&mut pooled, BYTES, stream));
        ok(cuda.cuStreamSynchronize(stream));
        ok(cuda.cuMemAllocManaged(&mut managed, BYTES, 1));
        ok(cuda.cuModuleGetGlobal(&mut variable, null_mut(), load(cuda, KERNELS), c"counter".as_ptr()));
        let format = CUarray_format::CU_AD_FORMAT_UNSIGNED_INT32;
        let row = CUDA_ARRAY_DESCRIPTOR { Width: 4, Height: 0, Format: format, NumChannels: 1 };
        ok(cuda.cuArrayCreate(&mut array, &row));
        ok(cuda.cuCtxCreate(&mut other, null_mut(), 0, 0));
    }
    let elsewhere = alloc(cuda, BYTES);
    ok(unsafe { cuda.cuCtxSetCurrent(context) });
    let pinned = pinned.expose_provenance() as u64;
    vec![
        ("pageable", Place::Host(leak().expose_provenance() as u64)),
        ("pageable2", Place::Host(leak().expose_provenance() as u64)),
        ("pinned", Place::Host(pinned)),
        ("registered", Place::Host(registered.expose_provenance() as u64)),
        ("pinned as device", Place::Device(pinned)),
        ("device", Place::Device(alloc(cuda, BYTES))),
        ("device2", Place::Device(alloc(cuda, BYTES))),
        ("of another context", Place::Device(elsewhere)),
        ("pooled", Place::Device(pooled)),
        ("mapped", Place::Device(mapped(cuda))),
        ("variable", Place::Device(variable)),
        ("managed", Place::Device(managed)),
        ("array", Place::Array(array)),
    ]
}

fn mapped(cuda: &Driver) -> CUdeviceptr {
    let pinned = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
    let mut wanted = CUmemAllocationProp { type_: pinned, ..Default::default() };
    wanted.location.type_ = CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
    let flags = CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    let access = CUmemAccessDesc { location: wanted.location, flags };
    let (mut address, mut memory, bytes) = (0, 0, 2 << 20);
    unsafe {
        ok(cuda.cuMemCreate(&mut memory, bytes, &wanted, 0));
        ok(cuda.cuMemAddressReserve(&mut address, bytes, 0, 0, 0));
        ok(cuda.cuMemMap(address, bytes, 0, memory, 0));
        ok(cuda.cuMemSetAccess(address, bytes, &access, 1));
    }
    address
}

/// A copy of one row.
fn copy(target: Place, source: Place, bytes: usize) -> CUDA_MEMCPY3D {
    use CUmemorytype as T;
    let mut copy = CUDA_MEMCPY3D { WidthInBytes: bytes, Height: 1, Depth: 1, ..Default::default() };
    match source {
        Place::Host(address) => {
            copy.srcMemoryType = T::CU_MEMORYTYPE_HOST;
            copy.srcHost = std::ptr::with_exposed_provenance(address as usize);
        }
        Place::Device(address) => (copy.srcMemoryType, copy.srcDevice) = (T::CU_MEMORYTYPE_DEVICE, address),
        Place::Array(array) => (copy.srcMemoryType, copy.srcArray) = (T::CU_MEMORYTYPE_ARRAY, array),
    }
    match target {
        Place::Host(address) => {
            copy.dstMemoryType = T::CU_MEMORYTYPE_HOST;
            copy.dstHost = std::ptr::with_exposed_provenance_mut(address as usize);
        }
        Place::Device(address) => (copy.dstMemoryType, copy.dstDevice) = (T::CU_MEMORYTYPE_DEVICE, address),
        Place::Array(array) => (copy.dstMemoryType, copy.dstArray) = (T::CU_MEMORYTYPE_ARRAY, array),
    }
    copy
}

/// A copy of rows.
fn rows(target: Place, source: Place, [width, height]: [usize; 2], pitch: usize) -> CUDA_MEMCPY3D {
    let copy = copy(target, source, width);
    CUDA_MEMCPY3D { Height: height, srcPitch: pitch, dstPitch: pitch, ..copy }
}

/// The node's own function, and the update by a graph: code, and why not. Each is asked of an executable graph of its own.
fn answers<P>(
    cuda: &Driver,
    (old, new): (&P, &P),
    add: impl Fn(CUgraph, &P) -> Result<CUgraphNode, CUresult>,
    set: impl Fn(CUgraphExec, CUgraphNode, &P) -> CUresult,
) -> String {
    let (one, other) = (graph(cuda), graph(cuda));
    let node = match add(one, old) {
        Ok(node) => node,
        Err(refused) => return format!("no first node: {}", refused.0),
    };
    let set = set(instantiate(cuda, one), node, new).0;
    if let Err(refused) = add(other, new) {
        return format!("{set}/no node: {}", refused.0);
    }
    let (exec, mut info) = (instantiate(cuda, one), CUgraphExecUpdateResultInfo::default());
    let update = unsafe { cuda.cuGraphExecUpdate(exec, other, &mut info) };
    format!("{set}/{}({})", update.0, info.result.0)
}

/// The same with zeros between its members: of several rows a driver compares all bytes, these included.
fn zero_between(copy: &CUDA_MEMCPY3D) -> Box<CUDA_MEMCPY3D> {
    let mut whole = Box::new(MaybeUninit::<CUDA_MEMCPY3D>::zeroed());
    let to = whole.as_mut_ptr();
    macro_rules! members {
        ($($member:ident)*) => { $( unsafe { (&raw mut (*to).$member).write(copy.$member) }; )* };
    }
    members! {
        srcXInBytes srcY srcZ srcLOD srcMemoryType srcHost srcDevice srcArray
        reserved0 srcPitch srcHeight dstXInBytes dstY dstZ dstLOD dstMemoryType
        dstHost dstDevice dstArray reserved1 dstPitch dstHeight WidthInBytes Height
        Depth
    }
    unsafe { whole.assume_init() }
}

fn copy_answers(cuda: &Driver, context: CUcontext, old: &CUDA_MEMCPY3D, new: &CUDA_MEMCPY3D) -> String {
    let add = |graph, copy: &CUDA_MEMCPY3D| {
        let mut node = null_mut();
        let code = unsafe { cuda.cuGraphAddMemcpyNode(&mut node, graph, null(), 0, copy, context) };
        if code == CUresult::SUCCESS { Ok(node) } else { Err(code) }
    };
    let set = |exec, node, copy: &CUDA_MEMCPY3D| unsafe {
        cuda.cuGraphExecMemcpyNodeSetParams(exec, node, copy, context)
    };
    answers(cuda, (&*zero_between(old), &*zero_between(new)), add, set)
}

/// From memory of every kind to memory of every kind; the other side stays.
fn operands(row: &mut Row, of: impl Fn(Place, Place) -> CUDA_MEMCPY3D) {
    let (cuda, context) = with_context();
    let fixed = Place::Device(alloc(&cuda, BYTES));
    let places = places(&cuda, context);
    for (from, old) in &places {
        for (to, new) in &places {
            let answer = copy_answers(&cuda, context, &of(fixed, *old), &of(fixed, *new));
            row.text(format!("{from} > {to}={answer}"));
        }
    }
}

fn copy_source(row: &mut Row) {
    operands(row, |fixed, changed| copy(fixed, changed, 8));
}

fn copy_target(row: &mut Row) {
    operands(row, |fixed, changed| copy(changed, fixed, 8));
}

fn copy_shape(row: &mut Row) {
    let (cuda, context) = with_context();
    let [a, b, c, d] = [(); 4].map(|()| Place::Device(alloc(&cuda, BYTES)));
    let host = Place::Host(Vec::leak(vec![0_u64; BYTES / 8]).as_ptr().expose_provenance() as u64);
    let line = copy(a, b, 64);
    let box_ = rows(a, b, [64, 4], 128);
    let deep = CUDA_MEMCPY3D { Depth: 2, srcHeight: 4, dstHeight: 4, ..box_ };
    for (label, old, new) in [
        ("same", line, line),
        ("longer", line, copy(a, b, 256)),
        ("shorter", line, copy(a, b, 3)),
        ("none", line, copy(a, b, 0)),
        ("further on", line, CUDA_MEMCPY3D { srcXInBytes: 64, dstXInBytes: 32, ..line }),
        ("both elsewhere", line, copy(c, d, 64)),
        ("the other way round", line, copy(b, a, 64)),
        ("up to down", copy(a, host, 64), copy(host, a, 64)),
        ("down to up", copy(host, a, 64), copy(a, host, 64)),
        ("across to up", line, copy(a, host, 64)),
        ("up to across", copy(a, host, 64), line),
        ("line to rows", line, box_),
        ("line to one row of a pitch", line, CUDA_MEMCPY3D { Height: 1, ..box_ }),
        ("rows to line", box_, line),
        ("rows same", box_, box_),
        ("rows elsewhere", box_, rows(c, d, [64, 4], 128)),
        ("rows wider", box_, rows(a, b, [96, 4], 128)),
        ("rows of another pitch", box_, rows(a, b, [64, 4], 256)),
        ("more rows", box_, rows(a, b, [64, 5], 128)),
        ("rows to planes", box_, deep),
        ("planes same", deep, deep),
        ("line to planes", line, deep),
    ] {
        row.text(format!("{label}={}", copy_answers(&cuda, context, &old, &new)));
    }
}

fn fill(row: &mut Row) {
    let (cuda, context) = with_context();
    let [a, b] = [(); 2].map(|()| alloc(&cuda, BYTES));
    let line = CUDA_MEMSET_NODE_PARAMS { dst: a, pitch: 0, value: 1, elementSize: 4, width: 16, height: 1 };
    let rows = CUDA_MEMSET_NODE_PARAMS { pitch: 128, height: 4, ..line };
    let add = |graph, fill: &CUDA_MEMSET_NODE_PARAMS| {
        let mut node = null_mut();
        let code = unsafe { cuda.cuGraphAddMemsetNode(&mut node, graph, null(), 0, fill, context) };
        if code == CUresult::SUCCESS { Ok(node) } else { Err(code) }
    };
    let set = |exec, node, fill: &CUDA_MEMSET_NODE_PARAMS| unsafe {
        cuda.cuGraphExecMemsetNodeSetParams(exec, node, fill, context)
    };
    for (label, old, new) in [
        ("same", line, line),
        ("value", line, CUDA_MEMSET_NODE_PARAMS { value: 2, ..line }),
        ("elsewhere", line, CUDA_MEMSET_NODE_PARAMS { dst: b, ..line }),
        ("wider", line, CUDA_MEMSET_NODE_PARAMS { width: 17, ..line }),
        ("much wider", line, CUDA_MEMSET_NODE_PARAMS { width: 1024, ..line }),
        ("narrower", line, CUDA_MEMSET_NODE_PARAMS { width: 1, ..line }),
        ("bytes", line, CUDA_MEMSET_NODE_PARAMS { elementSize: 1, width: 64, ..line }),
        ("pitch of one row", line, CUDA_MEMSET_NODE_PARAMS { pitch: 256, ..line }),
        ("line to rows", line, rows),
        ("rows to line", rows, line),
        ("rows same", rows, rows),
        ("rows value", rows, CUDA_MEMSET_NODE_PARAMS { value: 2, ..rows }),
        ("rows elsewhere", rows, CUDA_MEMSET_NODE_PARAMS { dst: b, ..rows }),
        ("rows wider", rows, CUDA_MEMSET_NODE_PARAMS { width: 17, ..rows }),
        ("more rows", rows, CUDA_MEMSET_NODE_PARAMS { height: 5, ..rows }),
        ("rows of another pitch", rows, CUDA_MEMSET_NODE_PARAMS { pitch: 256, ..rows }),
        ("rows of bytes", rows, CUDA_MEMSET_NODE_PARAMS { elementSize: 1, width: 64, ..rows }),
    ] {
        row.text(format!("{label}={}", answers(&cuda, (&old, &new), add, set)));
    }
    let kinds: Vec<_> = places(&cuda, context)
        .into_iter()
        .filter_map(|(name, place)| match place {
            Place::Device(dst) => Some((name, CUDA_MEMSET_NODE_PARAMS { dst, width: 1, ..line })),
            _ => None,
        })
        .collect();
    for (from, old) in &kinds {
        for (to, new) in &kinds {
            row.text(format!("{from} > {to}={}", answers(&cuda, (old, new), add, set)));
        }
    }
}

fn kernel_node(row: &mut Row) {
    let (cuda, context) = with_context();
    let module = load(&cuda, KERNELS);
    let (store, add_) = (function(&cuda, module, "store"), function(&cuda, module, "add"));
    let again = function(&cuda, load(&cuda, KERNELS), "store");
    let mut other = null_mut();
    ok(unsafe { cuda.cuCtxCreate(&mut other, null_mut(), 0, 0) });
    let elsewhere = function(&cuda, load(&cuda, KERNELS), "store");
    ok(unsafe { cuda.cuCtxSetCurrent(context) });
    let (mut memory, mut number) = (alloc(&cuda, BYTES), 1_u32);
    let mut arguments = [argument(&mut memory), argument(&mut number)];
    let plain = kernel(store, &mut arguments);
    // Whether it is cooperative, and its priority, are attributes of the node.
    type Asked = (CUDA_KERNEL_NODE_PARAMS, Option<(CUlaunchAttributeID, i32)>);
    let add = |graph, asked: &Asked| {
        let mut node = null_mut();
        let code = unsafe { cuda.cuGraphAddKernelNode(&mut node, graph, null(), 0, &asked.0) };
        if let Some((id, number)) = asked.1 {
            let value = CUlaunchAttributeValue { cooperative: number };
            ok(unsafe { cuda.cuGraphKernelNodeSetAttribute(node, id, &value) });
        }
        if code == CUresult::SUCCESS { Ok(node) } else { Err(code) }
    };
    let set =
        |exec, node, asked: &Asked| unsafe { cuda.cuGraphExecKernelNodeSetParams(exec, node, &asked.0) };
    let cooperative = Some((CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 1));
    let urgent = Some((CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PRIORITY, -3));
    let of = |func| CUDA_KERNEL_NODE_PARAMS { func, ..plain };
    for (label, old, new) in [
        ("same", (plain, None), (plain, None)),
        ("function", (plain, None), (of(add_), None)),
        ("function of another module", (plain, None), (of(again), None)),
        ("function of another context", (plain, None), (of(elsewhere), None)),
        ("grid", (plain, None), (CUDA_KERNEL_NODE_PARAMS { gridDimX: 3, ..plain }, None)),
        ("block", (plain, None), (CUDA_KERNEL_NODE_PARAMS { blockDimX: 64, ..plain }, None)),
        ("shared memory", (plain, None), (CUDA_KERNEL_NODE_PARAMS { sharedMemBytes: 64, ..plain }, None)),
        ("cooperative", (plain, None), (plain, cooperative)),
        ("cooperative no more", (plain, cooperative), (plain, None)),
        ("priority", (plain, None), (plain, urgent)),
    ] {
        row.text(format!("{label}={}", answers(&cuda, (&old, &new), add, set)));
    }
}
