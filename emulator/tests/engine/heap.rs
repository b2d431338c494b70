//! `malloc` and `free` of device code.

use crate::support::{Args, Device, HEADER, snippet_with};
use cuda_emulator::check::{Checker, Checks, FindingKind};
use cuda_emulator::engine::{FaultKind, Program};
use cuda_emulator::memory::{Heap, Memory};
use std::collections::BTreeSet;
use std::sync::Arc;

const DECLARED: &str =
    ".extern .func (.param .b64 r) malloc (.param .b64 size);\n.extern .func free (.param .b64 p);\n";

/// The calls as nvcc writes them: `%rd1` gets a block of `%rd0` bytes; `%rd1` is given back. Three lines each.
const MALLOC: &str = "{ .param .b64 size; st.param.b64 [size], %rd0; .param .b64 block;\n\
                      call.uni (block), malloc, (size);\nld.param.b64 %rd1, [block]; }\n";
const FREE: &str = "{ .param .b64 block; st.param.b64 [block], %rd1;\ncall.uni free, (block);\n}\n";

fn module(body: &str) -> String {
    let text = snippet_with("", body);
    text.replacen(HEADER, &format!("{HEADER}{}", DECLARED.replace('\n', " ")), 1)
}

fn fault(body: &str) -> (FaultKind, String) {
    let device = Device::new(&module(body));
    let out = device.zeroed::<u8>(64);
    let fault = device.fault("k", [1, 1, 1], [1, 1, 1], &Args::new().add(out));
    (fault.kind, format!("{fault}"))
}

#[test]
fn threads_have_blocks_of_their_own_that_outlive_the_kernel() {
    // Each thread fills a block with its number and leaves the address; a second kernel reads all, checks and gives back.
    let body = format!(
        "add.u32 %r1, %t, 1; mul.wide.u32 %rd0, %r1, 8;\n{MALLOC}\
         cvta.to.global.u64 %rd2, %rd1; mov.u32 %r2, 0;\n\
         fill: mul.wide.u32 %rd3, %r2, 8; add.u64 %rd3, %rd3, %rd2; cvt.u64.u32 %rd4, %t;\n\
         st.global.u64 [%rd3], %rd4; add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, %r1; @%p1 bra fill;\n\
         mul.wide.u32 %rd5, %t, 8; add.u64 %rd5, %rd5, %out; st.global.u64 [%rd5], %rd1;"
    );
    let second = format!(
        "mul.wide.u32 %rd5, %t, 8; add.u64 %rd5, %rd5, %out; ld.global.u64 %rd1, [%rd5];\n\
         mul.wide.u32 %rd3, %t, 8; add.u64 %rd3, %rd3, %rd1; ld.u64 %rd6, [%rd3];\n{FREE}\
         st.global.u64 [%rd5], %rd6;"
    );
    let first = module(&body);
    let second = module(&second);
    let checks = Checks::ALL;
    let memory = Arc::new(Memory::checked(1 << 30, Some(Arc::new(Checker::new(checks)))));
    let load = |text: &str| Device {
        memory: Arc::clone(&memory),
        program: Program::load(text, &memory).unwrap(),
        workers: 2,
    };
    let (first, second) = (load(&first), load(&second));
    let out = first.zeroed::<u64>(64);
    first.launch("k", [1, 1, 1], [64, 1, 1], &Args::new().add(out));
    let blocks: BTreeSet<u64> = first.download::<u64>(out, 64).into_iter().collect();
    assert_eq!(blocks.len(), 64);
    assert!(blocks.iter().all(|block| *block != 0 && block % 16 == 0));
    // The host does not see them.
    assert!(memory.read(*blocks.first().unwrap(), &mut [0; 8]).is_err());
    let leaks = memory.heap().leaks();
    let [leak] = leaks.as_slice() else { panic!("{leaks:?}") };
    assert_eq!((leak.blocks, leak.bytes, leak.by.ptx_line), (64, (1..=64).map(|n| n * 8).sum(), 12));
    second.launch("k", [1, 1, 1], [64, 1, 1], &Args::new().add(out));
    assert_eq!(second.download::<u64>(out, 64), (0..64).collect::<Vec<u64>>());
    assert!(memory.heap().leaks().is_empty());
    assert_eq!(memory.checker().unwrap().take().list, []);
}

#[test]
fn an_exhausted_heap_gives_null_and_what_is_given_back_is_there_again() {
    // Allocates 1,024 bytes until there are none, twice; what it got the first time goes back, from every other block on.
    let body = format!(
        "mov.u64 %rd0, 1024; mov.u32 %r1, 0; mov.u64 %rd9, 0;\n\
         more: {MALLOC}setp.eq.u64 %p1, %rd1, 0; @%p1 bra full; st.u64 [%rd1], %rd9; mov.u64 %rd9, %rd1;\n\
         add.u32 %r1, %r1, 1; bra more;\n\
         full: st.global.u32 [%out], %r1;\n\
         back: setp.eq.u64 %p1, %rd9, 0; @%p1 bra again; mov.u64 %rd1, %rd9; ld.u64 %rd9, [%rd9];\n{FREE}bra back;\n\
         again: mov.u64 %rd0, 8192;\n{MALLOC}setp.ne.u64 %p1, %rd1, 0; selp.u32 %r2, 1, 0, %p1; st.global.u32 [%out+4], %r2;\n{FREE}\
         mov.u64 %rd0, 8193;\n{MALLOC}setp.ne.u64 %p1, %rd1, 0; selp.u32 %r2, 1, 0, %p1; st.global.u32 [%out+8], %r2;\n\
         mov.u64 %rd1, 0;\n{FREE}"
    );
    let heap = Arc::new(Heap::default());
    assert_eq!(heap.limit(), 8 << 20);
    assert!(heap.set_limit(8192) && heap.limit() == 8192);
    let memory = Memory::new(1 << 30).with_heap(Arc::clone(&heap));
    let device = Device {
        program: Program::load(&module(&body), &Arc::new(memory.clone())).unwrap(),
        memory: Arc::new(memory),
        workers: 2,
    };
    let out = device.zeroed::<u32>(3);
    device.launch("k", [1, 1, 1], [1, 1, 1], &Args::new().add(out));
    assert_eq!(device.download::<u32>(out, 3), [8, 1, 0]);
    assert!(!heap.set_limit(4096) && heap.limit() == 8192);
    assert!(device.kernel("k").uses_heap());
}

#[test]
fn many_threads_allocate_and_give_back_at_once() {
    // 64 KiB of heap, 4,096 threads of 4 blocks each of 100 bytes in turn: some get null, none gets what another one has.
    let body = format!(
        "mov.u32 %r9, 0; mov.u32 %r5, %ctaid.x; mad.lo.u32 %r6, %r5, 128, %t; cvt.u64.u32 %rd7, %r6;\n\
         round: mov.u64 %rd0, 100;\n{MALLOC}setp.eq.u64 %p1, %rd1, 0; @%p1 bra next;\n\
         st.u64 [%rd1], %rd7; st.u64 [%rd1+88], %rd7; ld.volatile.u64 %rd2, [%rd1]; ld.volatile.u64 %rd3, [%rd1+88];\n\
         setp.ne.u64 %p2, %rd2, %rd7; setp.ne.or.u64 %p3, %rd3, %rd7, %p2; @%p3 red.global.add.u32 [%out+4], 1;\n\
         red.global.add.u32 [%out], 1;\n{FREE}\
         next: add.u32 %r9, %r9, 1; setp.lt.u32 %p1, %r9, 4; @%p1 bra round;"
    );
    let heap = Arc::new(Heap::default());
    heap.set_limit(64 << 10);
    let memory = Arc::new(Memory::new(1 << 30).with_heap(Arc::clone(&heap)));
    let device = Device { program: Program::load(&module(&body), &memory).unwrap(), memory, workers: 4 };
    let out = device.zeroed::<u32>(2);
    device.launch("k", [32, 1, 1], [128, 1, 1], &Args::new().add(out));
    let [got, wrong] = device.download::<u32>(out, 2).try_into().unwrap();
    assert!(got > 2_000 && wrong == 0, "{got} {wrong}");
    assert!(heap.leaks().is_empty());
}

#[test]
fn mistakes_are_found_and_name_where_the_block_comes_from() {
    let (kind, text) =
        fault(&format!("mov.u64 %rd0, 20;\n{MALLOC}st.u32 [%rd1+16], %r1; st.u32 [%rd1+20], %r1;"));
    assert_eq!(kind, FaultKind::IllegalAddress);
    assert!(text.contains("0 bytes past the end of the block 0x5"), "{text}");
    assert!(text.contains(" of 20 bytes (`malloc` in kernel `k`, PTX line 12) in kernel"), "{text}");
    // A word that begins inside and ends outside.
    let (_, text) = fault(&format!("mov.u64 %rd0, 20;\n{MALLOC}ld.u64 %rd3, [%rd1+16];"));
    assert!(
        text.contains("illegal read of 8 bytes") && text.contains("4 bytes past the end of the block 0x5"),
        "{text}"
    );
    // The instruction hit the block before it was given back.
    let after = format!(
        "mov.u64 %rd0, 20; mov.u32 %r1, 0;\n{MALLOC}use: ld.u32 %r2, [%rd1+8]; setp.eq.u32 %p1, %r1, 1; @%p1 exit;\n{FREE}mov.u32 %r1, 1; bra use;"
    );
    let (kind, text) = fault(&after);
    assert_eq!(kind, FaultKind::IllegalAddress);
    assert!(
        text.contains(
            "(`malloc` in kernel `k`, PTX line 12; `free` in kernel `k`, PTX line 16), at offset 8"
        ),
        "{text}"
    );
    let (kind, text) = fault(&format!("mov.u64 %rd0, 20;\n{MALLOC}{FREE}{FREE}"));
    assert_eq!(kind, FaultKind::IllegalAddress);
    assert!(
        text.contains("`free` of 0x5")
            && text.contains("PTX line 12; `free` in kernel `k`, PTX line 15), at offset 0"),
        "{text}"
    );
    let (_, text) = fault(&format!("mov.u64 %rd0, 20;\n{MALLOC}add.u64 %rd1, %rd1, 4;\n{FREE}"));
    assert!(text.contains("which is not a block of `malloc`: inside the block 0x5"), "{text}");
    let (_, text) = fault(&format!("add.u64 %rd1, %out, 4;\n{FREE}"));
    assert!(text.contains("inside the allocation 0x") && text.contains("of 64 bytes, at offset 4"), "{text}");
}

#[test]
fn the_checks_look_into_blocks() {
    // Two threads share a block whose first word nobody writes, and whose second both write.
    let body = format!(
        ".shared .b64 s; mov.u64 %rd0, 16; setp.ne.u32 %p1, %t, 0; @%p1 bra met;\n{MALLOC}st.shared.u64 [s], %rd1;\n\
         met: bar.sync 0; ld.shared.u64 %rd1, [s];\n\
         ld.u32 %r1, [%rd1];\n\
         st.u32 [%rd1+4], %t;\n\
         st.global.u32 [%at], %r1;"
    );
    let device = Device::checked(&module(&body));
    let out = device.zeroed::<u32>(2);
    device.launch("k", [1, 1, 1], [2, 1, 1], &Args::new().add(out));
    let found: Vec<_> = device
        .findings()
        .into_iter()
        .map(|finding| (finding.kind, finding.access.ptx_line, finding.bytes.unwrap().place))
        .collect();
    let kinds: Vec<_> = found.iter().map(|(kind, line, _)| (*kind, *line)).collect();
    assert_eq!(kinds, [(FindingKind::Uninitialised, 16), (FindingKind::Race, 17)]);
    assert!(
        found
            .iter()
            .all(|(_, _, place)| place.contains("of 16 bytes (`malloc`") && place.contains("PTX line 12")),
        "{found:?}"
    );
    // The bytes of a block that was given back are new in the next one.
    let body = format!(
        "mov.u64 %rd0, 16;\n{MALLOC}st.u64 [%rd1], %rd0;\n{FREE}{MALLOC}ld.u64 %rd2, [%rd1];\nst.u64 [%out], %rd2;"
    );
    let device = Device::checked(&module(&body));
    let out = device.zeroed::<u64>(1);
    device.launch("k", [1, 1, 1], [1, 1, 1], &Args::new().add(out));
    let kinds: Vec<_> =
        device.findings().into_iter().map(|finding| (finding.kind, finding.access.ptx_line)).collect();
    assert_eq!(kinds, [(FindingKind::Uninitialised, 21)]);
}

#[test]
fn compiled_kernels_keep_lists() {
    let device = Device::file("tests/kernels/heap.ptx");
    let (lists, sums) = (device.zeroed::<u64>(64), device.zeroed::<u32>(64));
    device.launch("build", [2, 1, 1], [32, 1, 1], &Args::new().add(lists));
    assert_eq!(device.memory.heap().leaks().iter().map(|leak| leak.blocks).sum::<u64>(), 64 * 63 / 2);
    device.launch("consume", [2, 1, 1], [32, 1, 1], &Args::new().add(lists).add(sums));
    let expected = |n: u32| (1..=n).fold(0u32, |sum, value| sum.wrapping_mul(3).wrapping_add(value));
    assert_eq!(device.download::<u32>(sums, 64), (0..64).map(expected).collect::<Vec<u32>>());
    device.launch("exhaust", [1, 1, 1], [1, 1, 1], &Args::new().add(1u64 << 20).add(sums));
    assert_eq!(device.download::<u32>(sums, 1), [8]);
    assert!(device.memory.heap().leaks().is_empty());
}
