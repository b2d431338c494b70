//! Batches of prefetches and discards of managed memory: codes and effects that an H200 with driver 580 had on 2026-11-29.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::*;
use std::ptr::null_mut;
use std::sync::Arc;
use support::*;

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
const GOOD: CUresult = CUresult::SUCCESS;
const MIB: u64 = 1 << 20;
/// Bytes of the memory that is asked about.
const SIZE: u64 = 4 * MIB;

/// The three functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Prefetch,
    Discard,
    Both,
}
use Kind::{Both, Discard, Prefetch};

/// A location as it is numbered, and the types of them.
type Place = (u32, i32);
const DEVICE: Place = (1, 0);
const HOST: Place = (2, 0);
const NODE: Place = (3, 0);

fn location((kind, id): Place) -> CUmemLocation {
    CUmemLocation { type_: CUmemLocationType(kind), __bindgen_anon_1: CUmemLocation__bindgen_ty_1 { id } }
}

/// A call of one of them.
struct Batch<'a> {
    ranges: &'a [(u64, u64)],
    places: &'a [(usize, Place)],
    flags: u64,
    stream: CUstream,
}

struct Bench {
    cuda: Arc<Driver>,
    stream: CUstream,
    memory: CUdeviceptr,
}

impl Bench {
    fn new() -> Bench {
        let (cuda, _) = with_own_context();
        let stream = stream(&cuda, 1);
        let memory = managed(&cuda, SIZE);
        Bench { cuda, stream, memory }
    }

    fn call(&self, kind: Kind, batch: &Batch<'_>) -> CUresult {
        let cuda = &self.cuda;
        let mut addresses: Vec<u64> = batch.ranges.iter().map(|range| range.0).collect();
        let mut sizes: Vec<usize> = batch.ranges.iter().map(|range| range.1 as usize).collect();
        let mut places: Vec<CUmemLocation> = batch.places.iter().map(|(_, place)| location(*place)).collect();
        let mut starts: Vec<usize> = batch.places.iter().map(|(start, _)| *start).collect();
        let (addresses, sizes, count) = (addresses.as_mut_ptr(), sizes.as_mut_ptr(), addresses.len());
        let (places, starts, number) = (places.as_mut_ptr(), starts.as_mut_ptr(), places.len());
        let (flags, stream) = (batch.flags, batch.stream);
        let code = unsafe {
            match kind {
                Prefetch => cuda
                    .cuMemPrefetchBatchAsync(addresses, sizes, count, places, starts, number, flags, stream),
                Discard => cuda.cuMemDiscardBatchAsync(addresses, sizes, count, flags, stream),
                Both => cuda.cuMemDiscardAndPrefetchBatchAsync(
                    addresses, sizes, count, places, starts, number, flags, stream,
                ),
            }
        };
        ok(unsafe { cuda.cuCtxSynchronize() });
        code
    }

    /// Of parts of the memory, in MiB: start and size.
    fn parts(&self, kind: Kind, parts: &[(u64, u64)], places: &[(usize, Place)]) -> CUresult {
        let ranges: Vec<_> = parts.iter().map(|(at, size)| (self.memory + at * MIB, size * MIB)).collect();
        self.call(kind, &Batch { ranges: &ranges, places, flags: 0, stream: self.stream })
    }

    /// Where a MiB was last prefetched to: as older functions number it, and as a type and a number.
    fn last(&self, at: u64) -> (i32, Place) {
        use CUmem_range_attribute as A;
        let get = |attribute| {
            let (mut value, address) = (0_i32, self.memory + at * MIB);
            ok(unsafe {
                self.cuda.cuMemRangeGetAttribute(argument(&mut value), 4, attribute, address, MIB as usize)
            });
            value
        };
        let place = (
            get(A::CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE) as u32,
            get(A::CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID),
        );
        (get(A::CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION), place)
    }

    /// The bytes as a kernel's copy sees them.
    fn bytes(&self) -> Vec<u8> {
        read(&self.cuda, self.memory, SIZE as usize)
    }
}

fn managed(cuda: &Driver, bytes: u64) -> CUdeviceptr {
    let mut memory = 0;
    ok(unsafe { cuda.cuMemAllocManaged(&mut memory, bytes as usize, 1) });
    memory
}

/// Never prefetched.
const NOWHERE: (i32, Place) = (-2, (0, -2));

#[test]
fn ranges_are_prefetched_to_their_locations() {
    let bench = Bench::new();
    assert_eq!(bench.last(0), NOWHERE);
    for (kind, place, told) in [
        (Prefetch, DEVICE, 0),
        (Both, HOST, -1),
        (Prefetch, (2, 5), -1),
        (Both, NODE, -1),
        (Both, (4, 7), -1),
    ] {
        assert_eq!(bench.parts(kind, &[(0, 1)], &[(0, place)]), GOOD, "{kind:?} {place:?}");
        assert_eq!(bench.last(0), (told, place));
    }
    assert_eq!(bench.last(1), NOWHERE);
    let parts = [(0, 1), (1, 1), (2, 1), (3, 1)];
    assert_eq!(bench.parts(Prefetch, &parts, &[(0, HOST), (2, DEVICE)]), GOOD);
    assert_eq!([0, 1, 2, 3].map(|at| bench.last(at).1), [HOST, HOST, DEVICE, DEVICE]);
    // Of two that begin at range 0 the first has that.
    assert_eq!(bench.parts(Prefetch, &parts[..2], &[(0, DEVICE), (0, NODE)]), GOOD);
    assert_eq!([0, 1].map(|at| bench.last(at).1), [DEVICE, NODE]);
    // Discards leave it as it was.
    assert_eq!(bench.parts(Discard, &parts, &[]), GOOD);
    assert_eq!(bench.last(0).1, DEVICE);
    // One at a time, the host has a number of its own.
    for (place, told) in [(HOST, (2, -1)), ((2, 5), (2, -1)), ((4, 7), (4, 7)), (DEVICE, DEVICE)] {
        let code = unsafe {
            bench.cuda.cuMemPrefetchAsync(bench.memory, MIB as usize, location(place), 0, bench.stream)
        };
        ok(code);
        ok(unsafe { bench.cuda.cuCtxSynchronize() });
        assert_eq!(bench.last(0).1, told);
    }
}

#[test]
fn what_is_wrong_is_refused() {
    for kind in [Prefetch, Discard, Both] {
        refused(kind, &Bench::new());
    }
}

fn refused(kind: Kind, bench: &Bench) {
    let mut pinned = null_mut();
    ok(unsafe { bench.cuda.cuMemAllocHost(&mut pinned, MIB as usize) });
    let (device, pinned, memory) =
        (alloc(&bench.cuda, MIB as usize), pinned.expose_provenance() as u64, bench.memory);
    let to_device: &[(usize, Place)] = &[(0, DEVICE)];
    let one = |ranges: &[(u64, u64)], flags, stream| {
        bench.call(kind, &Batch { ranges, places: to_device, flags, stream })
    };
    for range in [
        (memory, 0),
        (memory, SIZE + 1),
        (memory + MIB, SIZE),
        (memory, u64::MAX),
        (device, MIB),
        (pinned, MIB),
        (0, MIB),
        (1 << 60, MIB),
    ] {
        assert_eq!(one(&[range], 0, bench.stream), INVALID, "{kind:?} {range:x?}");
    }
    let good = [(memory, MIB)];
    assert_eq!(one(&[], 0, bench.stream), INVALID);
    assert_eq!([1, 1 << 40].map(|flags| one(&good, flags, bench.stream)), [INVALID; 2]);
    // The default stream, but that of the thread.
    let streams = [0, 1].map(|handle: usize| one(&good, 0, std::ptr::without_provenance_mut(handle)));
    assert_eq!(streams, [INVALID; 2]);
    assert_eq!(bench.last(0), NOWHERE, "{kind:?}");
    assert_eq!(one(&good, 0, std::ptr::without_provenance_mut(2)), GOOD);
    assert_eq!(one(&[(memory + 5, 100)], 0, bench.stream), GOOD, "no alignment is asked for");
    if kind != Discard {
        let code = unsafe {
            let (mut address, mut size) = (memory, 1);
            let (cuda, none, no_list) = (&bench.cuda, null_mut(), null_mut());
            match kind {
                Prefetch => cuda.cuMemPrefetchBatchAsync(
                    &mut address,
                    &mut size,
                    1,
                    none,
                    no_list,
                    1,
                    0,
                    bench.stream,
                ),
                _ => cuda.cuMemDiscardAndPrefetchBatchAsync(
                    &mut address,
                    &mut size,
                    1,
                    none,
                    no_list,
                    1,
                    0,
                    bench.stream,
                ),
            }
        };
        assert_eq!(code, INVALID, "no locations");
    }
}

/// Locations are looked at before anything is done, ranges one after the other.
#[test]
fn locations_come_first() {
    for kind in [Prefetch, Both] {
        let bench = Bench::new();
        let two = [(0, 1), (2, 1)];
        for places in [
            &[][..],
            &[(1, DEVICE)],
            &[(0, DEVICE), (0, DEVICE), (1, DEVICE)],
            &[(1, HOST), (0, DEVICE)],
            &[(0, HOST), (2, DEVICE)],
            &[(0, HOST), (1, (1, 99))],
            &[(0, (0, 0))],
            &[(0, (1, 1))],
            &[(0, (1, -1))],
            &[(0, (3, 1))],
            &[(0, (3, -1))],
            &[(0, (5, 0))],
        ] {
            assert_eq!(bench.parts(kind, &two, places), INVALID, "{places:?}");
            assert_eq!(bench.last(0), NOWHERE, "{places:?}");
        }
        let (three, descending) = ([(0, 1), (1, 1), (2, 1)], [(0, HOST), (2, HOST), (1, DEVICE)]);
        assert_eq!(bench.parts(kind, &three, &descending), INVALID);
        assert_eq!(bench.last(0), NOWHERE);
        assert_eq!(bench.parts(kind, &[(0, 1), (2, 8)], &[(0, DEVICE)]), INVALID);
        assert_eq!((bench.last(0).1, bench.last(2)), (DEVICE, NOWHERE));
    }
}

/// Whole pages are lost, and nothing else.
#[test]
fn what_is_discarded_is_gone() {
    for kind in [Discard, Both, Prefetch] {
        for (at, size, gone) in [
            (0, SIZE, 0..SIZE),
            (0, 4096, 0..4096),
            (4096, 8192, 4096..12_288),
            (100, 8192, 4096..8192),
            (100, 1000, 0..0),
            (4095, 4097, 4096..8192),
        ] {
            let bench = Bench::new();
            write(&bench.cuda, bench.memory, &vec![0x11; SIZE as usize]);
            let batch = Batch {
                ranges: &[(bench.memory + at, size)],
                places: &[(0, DEVICE)],
                flags: 0,
                stream: bench.stream,
            };
            assert_eq!(bench.call(kind, &batch), GOOD);
            let is_gone = |at: u64| kind != Prefetch && gone.contains(&at);
            let expected: Vec<u8> = (0..SIZE).map(|at| if is_gone(at) { 0 } else { 0x11 }).collect();
            assert!(bench.bytes() == expected, "{kind:?} {at} {size}");
        }
    }
}

/// They are no nodes of graphs.
#[test]
fn captures_are_ended_by_them() {
    let bench = Bench::new();
    let cuda = &bench.cuda;
    for kind in [Prefetch, Discard, Both] {
        ok(unsafe {
            cuda.cuStreamBeginCapture(bench.stream, CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED)
        });
        let mut size = 4096;
        let (mut address, mut place, mut start) = (bench.memory, location(DEVICE), 0);
        let code = unsafe {
            match kind {
                Prefetch => cuda.cuMemPrefetchBatchAsync(
                    &mut address,
                    &mut size,
                    1,
                    &mut place,
                    &mut start,
                    1,
                    0,
                    bench.stream,
                ),
                Discard => cuda.cuMemDiscardBatchAsync(&mut address, &mut size, 1, 0, bench.stream),
                Both => cuda.cuMemDiscardAndPrefetchBatchAsync(
                    &mut address,
                    &mut size,
                    1,
                    &mut place,
                    &mut start,
                    1,
                    0,
                    bench.stream,
                ),
            }
        };
        assert_eq!(code, CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "{kind:?}");
        let end = unsafe { cuda.cuStreamEndCapture(bench.stream, &mut null_mut()) };
        assert_eq!(end, CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    }
    // Without a context the default stream is refused first.
    ok(unsafe { cuda.cuCtxSetCurrent(null_mut()) });
    let (mut address, mut size) = (bench.memory, 4096);
    assert_eq!(unsafe { cuda.cuMemDiscardBatchAsync(&mut address, &mut size, 1, 0, null_mut()) }, INVALID);
}
