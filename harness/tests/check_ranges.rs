//! Rule `out-of-range`: each function up to the last byte, and one further. `cli/tests/check` has programs with it.
#![cfg(feature = "check")]
#![allow(unsafe_code)] // Calls of C functions, some of which ask for more than there is; the emulator refuses these.
#![allow(clippy::unwrap_used, clippy::undocumented_unsafe_blocks)]

mod support;

use cuda_driver_sys::*;
use cuda_emulator::Instance;
use cuda_harness::check::{Check, Rule};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::{Arc, Mutex};
use support::{Cuda, ok};

/// Bytes of what is copied to and from, which is filled from its first to its last one.
const BYTES: usize = 4096;

struct Rig {
    found: Arc<Mutex<Vec<(Rule, String)>>>,
    cuda: Cuda,
    _check: Check,
    stream: CUstream,
    /// Device memory of `BYTES`.
    x: u64,
    y: u64,
    /// Memory of the host, which the driver does not know.
    host: Vec<u8>,
    /// 4 rows of 64 bytes.
    array: CUarray,
    /// 2 planes of 4 rows of 32 bytes.
    volume: CUarray,
    _instance: Instance,
}

impl Rig {
    fn new() -> Rig {
        let instance = Instance::new().unwrap();
        let found = Arc::new(Mutex::new(Vec::new()));
        let told = found.clone();
        let listener = move |finding: &cuda_harness::check::Finding| {
            told.lock().unwrap().push((finding.rule(), finding.message().to_owned()));
        };
        let check = Check::over(&instance.driver(), listener).unwrap();
        let cuda = Cuda::new(check.driver());
        let (stream, x, y) = (cuda.stream(), cuda.alloc(BYTES).unwrap(), cuda.alloc(BYTES).unwrap());
        let (mut array, mut volume) = (null_mut(), null_mut());
        let rows = CUDA_ARRAY_DESCRIPTOR {
            Width: 16,
            Height: 4,
            Format: CUarray_format::CU_AD_FORMAT_FLOAT,
            NumChannels: 1,
        };
        let planes = CUDA_ARRAY3D_DESCRIPTOR {
            Width: 8,
            Height: 4,
            Depth: 2,
            Format: CUarray_format::CU_AD_FORMAT_UNSIGNED_INT8,
            NumChannels: 4,
            Flags: 0,
        };
        unsafe {
            ok(cuda.driver.cuArrayCreate(&mut array, &rows)).unwrap();
            ok(cuda.driver.cuArray3DCreate(&mut volume, &planes)).unwrap();
            for memory in [x, y] {
                ok(cuda.driver.cuMemsetD8(memory, 0, BYTES)).unwrap();
            }
        }
        let host = vec![0; BYTES];
        ok(unsafe { cuda.driver.cuCtxSynchronize() }).unwrap();
        Rig { found, cuda, _check: check, stream, x, y, host, array, volume, _instance: instance }
    }

    /// What is found in a call, and what it answers.
    fn call(&self, call: impl FnOnce(&Driver) -> CUresult) -> (Vec<(Rule, String)>, CUresult) {
        self.found.lock().unwrap().clear();
        let answer = call(&self.cuda.driver);
        (std::mem::take(&mut *self.found.lock().unwrap()), answer)
    }

    /// A call that uses the last byte of what it is given, and with `1` the one behind it: only that is found.
    #[track_caller]
    fn ends(&self, words: &str, call: impl Fn(&Driver, usize) -> CUresult) {
        let (found, answer) = self.call(|cuda| call(cuda, 0));
        assert_eq!((found, answer), (vec![], CUresult::SUCCESS), "{words}");
        let (found, answer) = self.call(|cuda| call(cuda, 1));
        assert_eq!(found.iter().map(|(rule, _)| *rule).collect::<Vec<_>>(), [Rule::OutOfRange], "{words}");
        assert_eq!(found[0].1, words);
        assert_ne!(answer, CUresult::SUCCESS, "{words}");
        // What comes next may use the same memory on another stream.
        ok(unsafe { self.cuda.driver.cuCtxSynchronize() }).unwrap();
    }

    fn host(&self) -> *mut c_void {
        self.host.as_ptr().cast_mut().cast()
    }
}

/// From device memory to device memory, in rows of 100 bytes every 128.
fn rows(to: u64, from: u64) -> CUDA_MEMCPY2D {
    CUDA_MEMCPY2D {
        srcMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
        srcDevice: from,
        srcPitch: 128,
        dstMemoryType: CUmemorytype::CU_MEMORYTYPE_UNIFIED,
        dstDevice: to,
        dstPitch: 128,
        WidthInBytes: 100,
        Height: 4,
        ..CUDA_MEMCPY2D::default()
    }
}

fn planes(to: u64, from: u64) -> CUDA_MEMCPY3D {
    CUDA_MEMCPY3D {
        srcMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
        srcDevice: from,
        srcPitch: 64,
        srcHeight: 4,
        dstMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
        dstDevice: to,
        dstPitch: 64,
        dstHeight: 4,
        WidthInBytes: 60,
        Height: 3,
        Depth: 2,
        ..CUDA_MEMCPY3D::default()
    }
}

#[test]
fn rows_end_with_the_last_byte_of_the_last_one() {
    let rig = Rig::new();
    // 3 rows and 100 bytes: 484 bytes.
    let (near, far) = (rig.x + (BYTES as u64 - 484), rig.y);
    let writes = "writes 4 rows of 100 bytes at memory#1+3613, 484 bytes with a pitch of 128, but memory#1 has 4096 bytes";
    let reads = "reads 4 rows of 100 bytes at memory#1+3613, 484 bytes with a pitch of 128, but memory#1 has 4096 bytes";
    rig.ends(writes, |cuda, more| unsafe { cuda.cuMemcpy2D(&rows(near + more as u64, far)) });
    rig.ends(reads, |cuda, more| unsafe { cuda.cuMemcpy2DUnaligned(&rows(far, near + more as u64)) });
    rig.ends(writes, |cuda, more| unsafe {
        cuda.cuMemcpy2DAsync(&rows(near + more as u64, far), rig.stream)
    });
    // Offsets count from the address.
    rig.ends(writes, |cuda, more| unsafe {
        let copy = CUDA_MEMCPY2D { dstXInBytes: 12 + more, dstY: 2, ..rows(near - 12 - 256, far) };
        cuda.cuMemcpy2D(&copy)
    });
    ok(unsafe { rig.cuda.driver.cuStreamSynchronize(rig.stream) }).unwrap();
}

#[test]
fn planes_end_with_the_last_byte_of_the_last_one() {
    let rig = Rig::new();
    // A plane of 4 rows, 2 rows, and 60 bytes: 444 bytes.
    let (near, far) = (rig.x + (BYTES as u64 - 444), rig.y);
    let words = "writes 2 planes of 3 rows of 60 bytes at memory#1+3653, 444 bytes with a pitch of 64 and 4 rows from plane to plane, but memory#1 has 4096 bytes";
    rig.ends(words, |cuda, more| unsafe { cuda.cuMemcpy3D(&planes(near + more as u64, far)) });
    rig.ends(words, |cuda, more| unsafe {
        cuda.cuMemcpy3DAsync(&planes(near + more as u64, far), rig.stream)
    });
    rig.ends(words, |cuda, more| unsafe {
        let copy =
            CUDA_MEMCPY3D { dstXInBytes: 4 + more, dstY: 1, dstZ: 1, ..planes(near - 4 - 64 - 256, far) };
        cuda.cuMemcpy3D(&copy)
    });
    let peer = |more: u64| CUDA_MEMCPY3D_PEER {
        srcMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
        srcDevice: near + more,
        srcContext: rig.cuda.context,
        srcPitch: 64,
        srcHeight: 4,
        dstMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
        dstDevice: far,
        dstContext: rig.cuda.context,
        dstPitch: 64,
        dstHeight: 4,
        WidthInBytes: 60,
        Height: 3,
        Depth: 2,
        ..CUDA_MEMCPY3D_PEER::default()
    };
    let words = words.replace("writes", "reads");
    rig.ends(&words, |cuda, more| unsafe { cuda.cuMemcpy3DPeer(&peer(more as u64)) });
    rig.ends(&words, |cuda, more| unsafe { cuda.cuMemcpy3DPeerAsync(&peer(more as u64), rig.stream) });
    ok(unsafe { rig.cuda.driver.cuStreamSynchronize(rig.stream) }).unwrap();
}

#[test]
fn copies_between_contexts_and_fills_of_rows_end_so_too() {
    let rig = Rig::new();
    let context = rig.cuda.context;
    let words = "writes 257 bytes at memory#1+3840, but memory#1 has 4096 bytes";
    let to = rig.x + (BYTES as u64 - 256);
    rig.ends(words, |cuda, more| unsafe { cuda.cuMemcpyPeer(to, context, rig.y, context, 256 + more) });
    rig.ends(words, |cuda, more| unsafe {
        cuda.cuMemcpyPeerAsync(to, context, rig.y, context, 256 + more, rig.stream)
    });
    // 3 rows with a pitch of 128, and 25 numbers in each: 356 bytes, of 1, 2 and 4 bytes.
    for (unit, at) in [(1, 281), (2, 306), (4, 356)] {
        // Where the fill may be, and ends at the last bytes.
        let to = rig.x + (BYTES as u64 - at) / 4 * 4;
        let fill = |cuda: &Driver, asynchronous: bool, more: usize| unsafe {
            let (width, stream) = (25, rig.stream);
            let to = if more == 0 { to } else { to + 4 };
            match (unit, asynchronous) {
                (1, false) => cuda.cuMemsetD2D8(to, 128, 1, width, 3),
                (1, true) => cuda.cuMemsetD2D8Async(to, 128, 1, width, 3, stream),
                (2, false) => cuda.cuMemsetD2D16(to, 128, 1, width, 3),
                (2, true) => cuda.cuMemsetD2D16Async(to, 128, 1, width, 3, stream),
                (_, false) => cuda.cuMemsetD2D32(to, 128, 1, width, 3),
                (_, true) => cuda.cuMemsetD2D32Async(to, 128, 1, width, 3, stream),
            }
        };
        let offset = to + 4 - rig.x;
        let words = format!(
            "writes 3 rows of {} bytes at memory#1+{offset}, {at} bytes with a pitch of 128, but memory#1 has 4096 bytes",
            25 * unit
        );
        for asynchronous in [false, true] {
            rig.ends(&words, |cuda, more| fill(cuda, asynchronous, more));
        }
    }
    ok(unsafe { rig.cuda.driver.cuStreamSynchronize(rig.stream) }).unwrap();
}

#[test]
fn boxes_stay_in_their_array() {
    let rig = Rig::new();
    let (array, volume) = (rig.array, rig.volume);
    let flat = |x, y, width, height| CUDA_MEMCPY2D {
        dstMemoryType: CUmemorytype::CU_MEMORYTYPE_ARRAY,
        dstArray: array,
        dstXInBytes: x,
        dstY: y,
        WidthInBytes: width,
        Height: height,
        ..rows(0, rig.x)
    };
    let rows_of_array = "but array#1 has 4 rows of 64 bytes";
    rig.ends(&format!("writes 4 rows of 68 bytes of array#1, {rows_of_array}"), |cuda, more| unsafe {
        cuda.cuMemcpy2D(&flat(0, 0, 64 + 4 * more, 4))
    });
    rig.ends(
        &format!("writes 3 rows of 4 bytes of array#1 from byte 60 of row 2 of plane 0, {rows_of_array}"),
        |cuda, more| unsafe { cuda.cuMemcpy2D(&flat(60, 2 - (1 - more), 4, 3)) },
    );
    let whole = |z, depth, reads: bool| {
        let mut copy = CUDA_MEMCPY3D { WidthInBytes: 32, Height: 4, Depth: depth, ..planes(rig.x, rig.y) };
        let kind = CUmemorytype::CU_MEMORYTYPE_ARRAY;
        if reads {
            (copy.srcMemoryType, copy.srcArray, copy.srcZ) = (kind, volume, z);
        } else {
            (copy.dstMemoryType, copy.dstArray, copy.dstZ) = (kind, volume, z);
        }
        copy
    };
    let planes_of_array = "but array#2 has 2 planes of 4 rows of 32 bytes";
    rig.ends(
        &format!("writes 3 planes of 4 rows of 32 bytes of array#2, {planes_of_array}"),
        |cuda, more| unsafe { cuda.cuMemcpy3D(&whole(0, 2 + more, false)) },
    );
    rig.ends(
        &format!("reads 2 planes of 4 rows of 32 bytes of array#2 from byte 0 of row 0 of plane 1, {planes_of_array}"),
        |cuda, more| unsafe { cuda.cuMemcpy3D(&whole(1, 1 + more, true)) },
    );
    // An array that was destroyed has no extent; a new one with its handle has its own.
    ok(unsafe { rig.cuda.driver.cuArrayDestroy(array) }).unwrap();
    let (found, _) = rig.call(|cuda| unsafe { cuda.cuMemcpy2D(&flat(0, 0, 68, 4)) });
    assert!(found.iter().all(|(rule, _)| *rule != Rule::OutOfRange), "{found:?}");
}

#[test]
fn bytes_stay_in_their_array() {
    let rig = Rig::new();
    let (array, host) = (rig.array, rig.host());
    let words = |does: &str| format!("{does} 250 bytes at byte 7 of array#1, but array#1 has 256 bytes");
    let (reads, writes) = (words("reads"), words("writes"));
    rig.ends(&writes, |cuda, more| unsafe { cuda.cuMemcpyHtoA(array, 6 + more, host, 250) });
    rig.ends(&writes, |cuda, more| unsafe { cuda.cuMemcpyHtoAAsync(array, 6 + more, host, 250, rig.stream) });
    rig.ends(&writes, |cuda, more| unsafe { cuda.cuMemcpyDtoA(array, 6 + more, rig.x, 250) });
    rig.ends(&reads, |cuda, more| unsafe { cuda.cuMemcpyAtoH(host, array, 6 + more, 250) });
    rig.ends(&reads, |cuda, more| unsafe { cuda.cuMemcpyAtoHAsync(host, array, 6 + more, 250, rig.stream) });
    rig.ends(&reads, |cuda, more| unsafe { cuda.cuMemcpyAtoD(rig.x, array, 6 + more, 250) });
    rig.ends("writes 8 bytes at byte 249 of array#1, but array#1 has 256 bytes", |cuda, more| unsafe {
        cuda.cuMemcpyAtoA(array, 248 + more, array, 0, 8)
    });
    rig.ends("writes 200 bytes at memory#1+3897, but memory#1 has 4096 bytes", |cuda, more| unsafe {
        cuda.cuMemcpyAtoD(rig.x + (BYTES - 200 + more) as u64, array, 0, 200)
    });
    ok(unsafe { rig.cuda.driver.cuStreamSynchronize(rig.stream) }).unwrap();
}

#[test]
fn each_copy_of_a_list_is_looked_at() {
    let rig = Rig::new();
    let mut how = CUmemcpyAttributes {
        srcAccessOrder: CUmemcpySrcAccessOrder::CU_MEMCPY_SRC_ACCESS_ORDER_STREAM,
        ..CUmemcpyAttributes::default()
    };
    let mut first = 0;
    for newer in [true, false] {
        rig.ends(
            "element 1 of the batch reads 257 bytes at memory#2+3840, but memory#2 has 4096 bytes",
            |cuda, more| {
                let (mut to, mut from) = ([rig.x, rig.x + 256], [rig.y, rig.y + 3840]);
                let (mut sizes, mut how, mut first, mut failed) = ([256, 256 + more], how, first, 0);
                let (to, from, sizes) = (to.as_mut_ptr(), from.as_mut_ptr(), sizes.as_mut_ptr());
                unsafe {
                    match newer {
                        true => cuda
                            .cuMemcpyBatchAsync_v2(to, from, sizes, 2, &mut how, &mut first, 1, rig.stream),
                        false => cuda.cuMemcpyBatchAsync_v1(
                            to,
                            from,
                            sizes,
                            2,
                            &mut how,
                            &mut first,
                            1,
                            &mut failed,
                            rig.stream,
                        ),
                    }
                }
            },
        );
        rig.ends(
            "element 1 of the batch writes 3 rows of 100 bytes at memory#1+3741, 356 bytes with a pitch of 128, but memory#1 has 4096 bytes",
            |cuda, more| {
                let mut copies = [copy_of_rows(rig.x, rig.y), copy_of_rows(rig.x + (3740 + more) as u64, rig.y)];
                let mut failed = 0;
                unsafe {
                    match newer {
                        true => cuda.cuMemcpy3DBatchAsync_v2(2, copies.as_mut_ptr(), 0, rig.stream),
                        false => cuda.cuMemcpy3DBatchAsync_v1(2, copies.as_mut_ptr(), &mut failed, 0, rig.stream),
                    }
                }
            },
        );
        // Extents and offsets count elements where an array takes part: of 4 bytes each.
        rig.ends(
            "element 0 of the batch writes 3 rows of 16 bytes of array#1 from byte 52 of row 1 of plane 0, but array#1 has 4 rows of 64 bytes",
            |cuda, more| {
                let mut copy = copy_of_rows(0, rig.y);
                copy.dst.type_ = CUmemcpy3DOperandType::CU_MEMCPY_OPERAND_TYPE_ARRAY;
                copy.dst.op.array = CUmemcpy3DOperand_op_array {
                    array: rig.array,
                    offset: CUoffset3D { x: 12 + more, y: 1, z: 0 },
                };
                copy.extent = CUextent3D { width: 4, height: 3, depth: 1 };
                let mut failed = 0;
                unsafe {
                    match newer {
                        true => cuda.cuMemcpy3DBatchAsync_v2(1, &mut copy, 0, rig.stream),
                        false => cuda.cuMemcpy3DBatchAsync_v1(1, &mut copy, &mut failed, 0, rig.stream),
                    }
                }
            },
        );
    }
    // Nothing is read where there is nothing.
    let (found, _) = rig.call(|cuda| unsafe {
        cuda.cuMemcpyBatchAsync_v2(null_mut(), null_mut(), null_mut(), 2, &mut how, &mut first, 1, rig.stream)
    });
    assert_eq!(found, []);
    let (found, _) = rig.call(|cuda| unsafe { cuda.cuMemcpy3DBatchAsync_v2(2, null_mut(), 0, rig.stream) });
    assert_eq!(found, []);
    ok(unsafe { rig.cuda.driver.cuStreamSynchronize(rig.stream) }).unwrap();
}

/// 3 rows of 100 bytes, without gaps to rows with a pitch of 128.
fn copy_of_rows(to: u64, from: u64) -> CUDA_MEMCPY3D_BATCH_OP {
    let operand = |ptr, row, rows| {
        let mut operand = CUmemcpy3DOperand {
            type_: CUmemcpy3DOperandType::CU_MEMCPY_OPERAND_TYPE_POINTER,
            ..CUmemcpy3DOperand::default()
        };
        operand.op.ptr =
            CUmemcpy3DOperand_op_ptr { ptr, rowLength: row, layerHeight: rows, ..Default::default() };
        operand
    };
    CUDA_MEMCPY3D_BATCH_OP {
        src: operand(from, 0, 0),
        dst: operand(to, 128, 3),
        extent: CUextent3D { width: 100, height: 3, depth: 1 },
        srcAccessOrder: CUmemcpySrcAccessOrder::CU_MEMCPY_SRC_ACCESS_ORDER_STREAM,
        flags: 0,
    }
}

#[test]
fn host_memory_of_the_driver_has_an_end_too() {
    let rig = Rig::new();
    let mut host = null_mut();
    ok(unsafe { rig.cuda.driver.cuMemHostAlloc(&mut host, 300, 0) }).unwrap();
    let found = |bytes| {
        let (found, _) = rig.call(|cuda| unsafe { cuda.cuMemcpyHtoD(rig.x, host, bytes) });
        found.into_iter().map(|(_, message)| message).collect::<Vec<_>>()
    };
    assert_eq!(found(300), [""; 0]);
    assert_eq!(found(301), ["reads 301 bytes at pinned#1, but pinned#1 has 300 bytes"]);
    ok(unsafe { rig.cuda.driver.cuMemFreeHost(host) }).unwrap();
    // Memory that was registered goes on behind its end, as far as is known.
    let mut block = vec![0_u8; 8192];
    let start = block.as_mut_ptr();
    ok(unsafe { rig.cuda.driver.cuMemHostRegister(start.cast(), 4096, 0) }).unwrap();
    let (found, _) = rig.call(|cuda| unsafe { cuda.cuMemcpyHtoD(rig.x, start.add(4000).cast(), 200) });
    assert_eq!(found, []);
    ok(unsafe { rig.cuda.driver.cuMemHostUnregister(start.cast()) }).unwrap();
}

/// Nothing is computed beyond 64 bits, and nothing that is empty is looked at.
#[test]
fn numbers_that_cannot_be_are_taken_as_they_come() {
    let huge = usize::MAX;
    let odd = [0, 1, 2, 127, huge / 2, huge - 1, huge];
    let copies = |rig: &Rig, a: usize, b: usize| {
        let flat = [
            CUDA_MEMCPY2D { dstPitch: a, Height: b, ..rows(rig.x, rig.y) },
            CUDA_MEMCPY2D { dstXInBytes: a, dstY: b, ..rows(rig.x, rig.y) },
            CUDA_MEMCPY2D { WidthInBytes: a, dstPitch: a, Height: b, ..rows(rig.x, rig.y) },
        ];
        let whole = [
            CUDA_MEMCPY3D { dstHeight: a, Depth: b, ..planes(rig.x, rig.y) },
            CUDA_MEMCPY3D { dstZ: a, dstHeight: b, ..planes(rig.x, rig.y) },
            CUDA_MEMCPY3D { WidthInBytes: a, Height: b, Depth: a, ..planes(rig.x, rig.y) },
            CUDA_MEMCPY3D { dstMemoryType: CUmemorytype(b as u32), srcLOD: a, ..planes(rig.x, rig.y) },
        ];
        (flat, whole)
    };
    let mut told = 0;
    for (a, b) in odd.into_iter().flat_map(|a| odd.map(|b| (a, b))) {
        // Of one place only so many findings are told.
        let rig = Rig::new();
        let (flat, whole) = copies(&rig, a, b);
        let flat = flat.map(|copy| rig.call(|cuda| unsafe { cuda.cuMemcpy2D(&copy) }));
        let whole = whole.map(|copy| rig.call(|cuda| unsafe { cuda.cuMemcpy3D(&copy) }));
        let fills = [
            rig.call(|cuda| unsafe { cuda.cuMemsetD2D32(rig.x, a, 1, b, a) }),
            rig.call(|cuda| unsafe { cuda.cuMemcpyHtoA(rig.array, a, rig.host(), b) }),
            rig.call(|cuda| unsafe {
                cuda.cuMemcpyPeer(rig.x, rig.cuda.context, rig.y, rig.cuda.context, a)
            }),
        ];
        for (found, answer) in flat.into_iter().chain(whole).chain(fills) {
            let answers = [CUresult::SUCCESS, CUresult::CUDA_ERROR_INVALID_VALUE];
            assert!(answers.contains(&answer), "{a} {b} {answer:?}");
            // What succeeds is right.
            assert!(found.is_empty() || answer != CUresult::SUCCESS, "{a} {b} {found:?}");
            told += found.len();
        }
    }
    assert!(told > 50, "{told}");
    let rig = Rig::new();
    let (found, _) = rig.call(|cuda| unsafe {
        cuda.cuMemcpy2D(&CUDA_MEMCPY2D { dstPitch: huge / 2, Height: 9, ..rows(rig.x, rig.y) })
    });
    assert!(
        found[0].1.contains("more bytes than there are addresses, but memory#1 has 4096 bytes"),
        "{found:?}"
    );
    let nothing = CUDA_MEMCPY2D { WidthInBytes: 0, dstY: 1000, ..rows(rig.x, rig.y) };
    assert_eq!(rig.call(|cuda| unsafe { cuda.cuMemcpy2D(&nothing) }), (vec![], CUresult::SUCCESS));
    // No structure, and memory that nobody knows.
    let (found, _) = rig.call(|cuda| unsafe { cuda.cuMemcpy3D(std::ptr::null()) });
    assert_eq!(found, []);
    let nowhere = CUDA_MEMCPY2D {
        dstMemoryType: CUmemorytype::CU_MEMORYTYPE_HOST,
        dstHost: rig.host(),
        ..rows(0, rig.y)
    };
    assert_eq!(rig.call(|cuda| unsafe { cuda.cuMemcpy2D(&nowhere) }), (vec![], CUresult::SUCCESS));
}

/// Where its address is an argument the types of arguments tell; in structures and lists nothing else does.
#[test]
fn memory_that_was_freed_is_found_in_structures_too() {
    let rig = Rig::new();
    let freed = rig.cuda.alloc(BYTES).unwrap();
    let x = rig.x;
    ok(unsafe { rig.cuda.driver.cuMemFree(freed) }).unwrap();
    let found = |call: &dyn Fn(&Driver) -> CUresult| -> Vec<Rule> {
        rig.call(call).0.into_iter().map(|(rule, _)| rule).collect()
    };
    let one = [Rule::UseAfterFree];
    let mut copy = rows(x, freed);
    assert_eq!(found(&|cuda| unsafe { cuda.cuMemcpy2D(&copy) }), one);
    copy = rows(freed, x);
    assert_eq!(found(&|cuda| unsafe { cuda.cuMemcpy2D(&copy) }), one);
    assert_eq!(found(&|cuda| unsafe { cuda.cuMemcpyDtoD(x, freed, 8) }), one);
    assert_eq!(found(&|cuda| unsafe { cuda.cuMemsetD8(freed, 1, 8) }), one);
    copy = rows(rig.y, x);
    assert_eq!(found(&|cuda| unsafe { cuda.cuMemcpy2D(&copy) }), []);
}
