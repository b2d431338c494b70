//! Every kind of fault, with the place it is blamed on.

use cuda_emulator::engine::{Fault, FaultKind, Launch, run};

use crate::support::{Args, Device, HEADER, launch, snippet, snippet_fault, snippet_with};

fn place(fault: &Fault) -> (FaultKind, &str, [u32; 3], [u32; 3], u32) {
    (fault.kind, &fault.kernel, fault.block, fault.thread, fault.ptx_line)
}

#[test]
fn past_the_end_of_an_allocation() {
    let device = Device::file("tests/kernels/faults.ptx");
    let base = device.zeroed::<u8>(4096);
    let fault =
        device.fault("write_u32", [1, 1, 1], [1, 1, 1], &Args::new().add(base).add(4096i64).add(1u32));
    assert_eq!((fault.kind, fault.address), (FaultKind::IllegalAddress, Some(base + 4096)));
    let expected = format!(
        "illegal write of 4 bytes at 0x{:x}, 0 bytes past the end of the allocation 0x{base:x} of 4096 bytes",
        base + 4096
    );
    assert_eq!(fault.message, expected);
    let fault = device.fault("read_u64", [1, 1, 1], [1, 1, 1], &Args::new().add(base).add(-8i64).add(base));
    assert!(fault.message.contains("8 bytes before the allocation"), "{fault}");
    // The last byte fits, one more does not.
    device.launch("write_u8", [1, 1, 1], [1, 1, 1], &Args::new().add(base).add(4095i64).add(1u8));
    let fault = device.fault("write_u8", [1, 1, 1], [1, 1, 1], &Args::new().add(base).add(4096i64).add(1u8));
    assert_eq!(fault.kind, FaultKind::IllegalAddress);
}

#[test]
fn an_access_that_sticks_out() {
    let device = Device::file("tests/kernels/faults.ptx");
    let base = device.memory.allocate(4100).unwrap();
    let args = Args::new().add(base).add(4096i64).bytes(&[0; 8]);
    let fault = device.fault("write_uint2", [1, 1, 1], [1, 1, 1], &args);
    assert_eq!((fault.kind, fault.address), (FaultKind::IllegalAddress, Some(base + 4096)));
    assert!(fault.message.contains("4 bytes past the end of the allocation"), "{fault}");
}

#[test]
fn freed_null_and_wild() {
    let device = Device::file("tests/kernels/faults.ptx");
    let base = device.zeroed::<u8>(256);
    device.memory.free(base).unwrap();
    let fault = device.fault("write_f32", [1, 1, 1], [1, 1, 1], &Args::new().add(base).add(8i64).add(1f32));
    assert_eq!(fault.kind, FaultKind::IllegalAddress);
    assert!(
        fault.message.contains(&format!("inside the freed allocation 0x{base:x} of 256 bytes, at offset 8")),
        "{fault}"
    );
    let fault = device.fault("write_u32", [1, 1, 1], [1, 1, 1], &Args::new().add(0u64).add(0i64).add(1u32));
    assert!(fault.message.contains("null pointer"), "{fault}");
    for wild in [u64::MAX - 3, 1 << 60, 0x7300_0000_0000, 0x7100_0000_0000] {
        let fault =
            device.fault("write_u32", [1, 1, 1], [1, 1, 1], &Args::new().add(wild).add(0i64).add(1u32));
        assert_eq!((fault.kind, fault.address), (FaultKind::IllegalAddress, Some(wild)));
    }
}

#[test]
fn misaligned() {
    let device = Device::file("tests/kernels/faults.ptx");
    let base = device.zeroed::<u8>(4096);
    let fault = device.fault("read_u32", [1, 1, 1], [1, 1, 1], &Args::new().add(base).add(2i64).add(base));
    assert_eq!((fault.kind, fault.address), (FaultKind::MisalignedAddress, Some(base + 2)));
    assert_eq!(fault.message, format!("misaligned read of 4 bytes at 0x{:x}", base + 2));
    let fault = device.fault("read_uint4", [1, 1, 1], [1, 1, 1], &Args::new().add(base).add(8i64).add(base));
    assert_eq!(fault.kind, FaultKind::MisalignedAddress);
    let fault = device.fault("shared_misaligned", [1, 1, 1], [64, 1, 1], &Args::new().add(2u32).add(base));
    assert_eq!(fault.kind, FaultKind::MisalignedAddress);
    assert!(fault.message.contains("shared address"), "{fault}");
    let fault = snippet_fault(&snippet(".local .u64 l; mov.u64 %rd1, l; ld.local.u32 %r1, [%rd1+2];"), 32, 4);
    assert_eq!(fault.kind, FaultKind::MisalignedAddress);
}

#[test]
fn memory_of_the_host_is_aligned_by_its_address_wherever_it_starts() {
    let next = |lanes: &str| {
        let body = "ld.global.u32 %r1, [%at]; add.u32 %r1, %r1, 1; st.global.u32 [%at], %r1;";
        Device::new(&snippet(&format!("xor.b32 %t, %t, {lanes}; mad.wide.u32 %at, %t, 4, %out;\n{body}")))
    };
    // Lanes in a row, and out of order.
    for device in [next("0"), next("5")] {
        let mut numbers = vec![7u32; 34];
        let start = std::ptr::NonNull::new(numbers.as_mut_ptr().cast::<u8>()).unwrap();
        let base = start.addr().get() as u64;
        // SAFETY: 1: of the 136 bytes of `numbers` all but the first; `base` and `start` come from `as_mut_ptr`, so they are good for reads and
        // writes until `numbers` is next used, after `leave`, and each launch below is over when it returns. `add`: inside those bytes.
        #[allow(unsafe_code)]
        unsafe {
            device.memory.enter_host(start.add(1), 135, true);
        }
        for threads in [1, 32] {
            let args = |address: u64| Args::new().add(address);
            device.launch("k", [1, 1, 1], [threads, 1, 1], &args(base + 4));
            let fault = device.fault("k", [1, 1, 1], [threads, 1, 1], &args(base + 1));
            assert_eq!(fault.kind, FaultKind::MisalignedAddress, "{fault}");
        }
        device.memory.leave(base + 1);
        let written = |numbers: &[u32]| numbers.iter().map(|number| number - 7).sum::<u32>();
        assert_eq!(written(&numbers), 33);
    }
}

#[test]
fn the_guilty_thread_and_no_other() {
    let device = Device::file("tests/kernels/faults.ptx");
    let data = device.zeroed::<u32>(512);
    for (block, thread) in [(0u32, 0u32), (1, 37), (3, 127), (2, 64)] {
        let args = Args::new().add(data).add(block).add(thread).add(100_000i64);
        let launch = launch(&device, "write_one_wrong", [4, 1, 1], [128, 1, 1], &args);
        for workers in [1, 3] {
            let fault = run(&device.kernel("write_one_wrong"), &launch, &device.memory, workers).unwrap_err();
            assert_eq!((fault.block, fault.thread), ([block, 0, 0], [thread, 0, 0]));
            assert_eq!(fault.address, Some(data + 400_000));
        }
    }
}

#[test]
fn threads_in_three_dimensions() {
    let text = format!(
        "{HEADER}.visible .entry k() {{
         .reg .b32 %r<8>; .reg .pred %p<4>;
         mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z; mad.lo.u32 %r1, %r2, 10, %r1; mad.lo.u32 %r1, %r3, 100, %r1;
         setp.ne.u32 %p1, %r1, 214; @%p1 ret; mov.u32 %r1, %ctaid.y; setp.ne.u32 %p1, %r1, 2; @%p1 ret;
         trap;
         }}"
    );
    let device = Device::new(&text);
    let fault = device.fault("k", [2, 3, 1], [5, 4, 3], &Args::new());
    assert_eq!(place(&fault), (FaultKind::Trap, "k", [0, 2, 0], [4, 1, 2], 8));
    assert_eq!(
        fault.to_string(),
        "`trap` executed in kernel `k`, block (0, 2, 0), thread (4, 1, 2), PTX line 8"
    );
}

#[test]
fn source_lines() {
    let text = snippet(".loc 1 42 3\nmov.u64 %rd1, 0;\n.loc 1 43 7\nst.global.u32 [%rd1], 1;\n.loc 1 44 1\n");
    let text = format!("{text}\n.file 1 \"/src/kernel.cu\"\n");
    let fault = snippet_fault(&text, 32, 4);
    assert_eq!(fault.source, Some(("/src/kernel.cu".to_owned(), 43)));
    assert!(fault.to_string().ends_with("PTX line 13 (/src/kernel.cu:43)"), "{fault}");
}

#[test]
fn shared_and_local_bounds() {
    let device = Device::file("tests/kernels/faults.ptx");
    let out = device.zeroed::<u32>(64);
    device.launch("shared_write", [1, 1, 1], [64, 1, 1], &Args::new().add(63u32).add(out));
    for index in [64u32, 1 << 20, 0x3fff_ffff] {
        let fault = device.fault("shared_write", [1, 1, 1], [64, 1, 1], &Args::new().add(index).add(out));
        assert_eq!(fault.kind, FaultKind::IllegalAddress, "{fault}");
    }
    let fault = device.fault("shared_write", [1, 1, 1], [64, 1, 1], &Args::new().add(64u32).add(out));
    assert!(fault.message.contains("past the end of the block's shared memory of 256 bytes"), "{fault}");
    assert!(!fault.message.contains("dynamic"), "{fault}");
    let args = Args::new().add(4u32).add(out);
    let mut launch = launch(&device, "dynamic_write", [1, 1, 1], [1, 1, 1], &args);
    let fault = device.try_launch("dynamic_write", launch.clone()).unwrap_err();
    assert!(fault.message.contains("the launch has 0 bytes of that: set the bytes"), "{fault}");
    launch.dynamic_shared = 16;
    let fault = device.try_launch("dynamic_write", launch.clone()).unwrap_err();
    assert_eq!(fault.kind, FaultKind::IllegalAddress);
    launch.dynamic_shared = 20;
    device.try_launch("dynamic_write", launch).unwrap();
    device.launch("local_write", [1, 1, 1], [32, 1, 1], &Args::new().add(15u32).add(out));
    let fault = device.fault("local_write", [1, 1, 1], [32, 1, 1], &Args::new().add(16u32).add(out));
    assert_eq!(fault.kind, FaultKind::IllegalAddress);
    assert!(fault.message.contains("thread's local memory"), "{fault}");
    let fault = snippet_fault(&snippet("mov.u32 %r1, 0; ld.shared.u32 %r2, [%r1];"), 32, 4);
    assert_eq!(fault.kind, FaultKind::IllegalAddress, "a null shared pointer");
}

#[test]
fn parameters_are_bounded_and_constant() {
    let text = snippet("mov.u64 %rd1, out; ld.param.u64 %rd2, [%rd1+8];");
    assert_eq!(snippet_fault(&text, 32, 4).kind, FaultKind::IllegalAddress);
    let text = snippet("mov.u64 %rd1, out; cvta.param.u64 %rd1, %rd1; st.u32 [%rd1], 1;");
    let fault = snippet_fault(&text, 32, 4);
    assert!(fault.message.contains("parameters, which are constant"), "{fault}");
}

#[test]
fn atomics_are_checked() {
    let device = Device::file("tests/kernels/faults.ptx");
    let base = device.zeroed::<u8>(64);
    let fault = device.fault("atomic_at", [1, 1, 1], [32, 1, 1], &Args::new().add(base).add(64i64));
    assert_eq!(fault.kind, FaultKind::IllegalAddress);
    assert!(fault.message.starts_with("illegal atomic access of 4 bytes"), "{fault}");
    let fault = device.fault("atomic_at", [1, 1, 1], [32, 1, 1], &Args::new().add(base).add(2i64));
    assert_eq!(fault.kind, FaultKind::MisalignedAddress);
    let text =
        snippet(".local .u32 l; mov.u64 %rd1, l; cvta.local.u64 %rd1, %rd1; atom.add.u32 %r1, [%rd1], 1;");
    assert_eq!(snippet_fault(&text, 1, 4).kind, FaultKind::IllegalAddress);
}

#[test]
fn traps_and_asserts() {
    let device = Device::file("tests/kernels/faults.ptx");
    let out = device.zeroed::<u32>(256);
    let fault = device.fault("trap_at", [2, 1, 1], [128, 1, 1], &Args::new().add(1u32).add(77u32).add(out));
    assert_eq!((fault.kind, fault.block, fault.thread), (FaultKind::Trap, [1, 0, 0], [77, 0, 0]));
    let fault = snippet_fault(&snippet("brkpt;"), 1, 4);
    assert_eq!((fault.kind, fault.ptx_line), (FaultKind::Trap, 10));
    let data: Vec<u32> = (0..256).collect();
    let input = device.upload(&data);
    device.launch("assert_below", [2, 1, 1], [128, 1, 1], &Args::new().add(input).add(256u32).add(256u32));
    let fault =
        device.fault("assert_below", [2, 1, 1], [128, 1, 1], &Args::new().add(input).add(256u32).add(200u32));
    assert_eq!((fault.kind, fault.block, fault.thread), (FaultKind::Assert, [1, 0, 0], [72, 0, 0]));
    assert!(fault.message.contains("assertion `data[i] < limit && \"too large\"` failed"), "{fault}");
    assert!(fault.message.contains("faults.cu:"), "{fault}");
}

#[test]
fn deadlocks_say_who_waits_where() {
    let device = Device::file("tests/kernels/faults.ptx");
    let out = device.zeroed::<u32>(64);
    let fault = device.fault("barrier_never_met", [1, 1, 1], [64, 1, 1], &Args::new().add(out));
    assert_eq!((fault.kind, fault.block, fault.thread), (FaultKind::Deadlock, [0, 0, 0], [0, 0, 0]));
    assert!(fault.ptx_line > 0);
    assert!(fault.message.contains("thread (0, 0, 0) and 31 more of its warp: barrier 1"), "{fault}");
    assert!(fault.message.contains("thread (32, 0, 0) and 31 more of its warp: barrier 2"), "{fault}");
    device.launch("barrier_after_exit", [1, 1, 1], [64, 1, 1], &Args::new().add(out));

    // Half a warp waits for the block, the other half for its warp.
    let text =
        snippet("setp.lt.u32 %p1, %t, 16; @%p1 bra A; bar.sync 0; bra.uni E; A:\nbar.warp.sync -1;\nE:");
    let fault = snippet_fault(&text, 32, 4);
    assert_eq!((fault.kind, fault.ptx_line), (FaultKind::Deadlock, 10));
    assert!(fault.message.contains("`bar.warp.sync` with members 0xffffffff"), "{fault}");
    let text = snippet(
        "setp.lt.u32 %p1, %t, 16; @%p1 exit; barrier.cluster.wait; barrier.cluster.arrive; @%p1 ret; barrier.cluster.arrive; barrier.cluster.wait;",
    );
    let device = Device::new(&text);
    let out = device.zeroed::<u32>(1);
    device.launch("k", [1, 1, 1], [32, 1, 1], &Args::new().add(out));
}

#[test]
fn clusters_deadlock_together() {
    // Block 1 never arrives: it waits at its own barrier for a warp that waits for the cluster.
    let text = format!(
        "{HEADER}.visible .entry k() .reqnctapercluster 2 {{ .reg .b32 %r<2>; .reg .pred %p<4>;
         mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32; mov.u32 %r1, %ctaid.x; setp.eq.and.u32 %p2, %r1, 1, %p1;
         @%p2 bra B; barrier.cluster.arrive; barrier.cluster.wait; ret; B: bar.sync 0; bra.uni B; }}"
    );
    let fault = Device::new(&text).fault("k", [2, 1, 1], [64, 1, 1], &Args::new());
    assert_eq!(fault.kind, FaultKind::Deadlock);
    assert!(
        fault.message.contains("the cluster's barrier") && fault.message.contains("block (1, 0, 0)"),
        "{fault}"
    );
}

#[test]
fn shared_memory_ends_with_its_block() {
    // Block 1 reads for more than a turn what block 0 has, which ends or waits for it.
    let text = |end: &str| {
        format!(
            "{HEADER}.visible .entry k() .reqnctapercluster 2 {{ .reg .b32 %r<5>; .reg .pred %p<4>; .shared .b32 s;
             mov.u32 %r1, %cluster_ctarank; setp.eq.u32 %p1, %r1, 0; st.shared.u32 [s], %r1;
             barrier.cluster.arrive; barrier.cluster.wait; @%p1 bra E;
             mov.u32 %r2, 0; mov.u32 %r3, s; mapa.shared::cluster.u32 %r3, %r3, 0;
             L: ld.shared::cluster.u32 %r4, [%r3]; add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 20000; @%p2 bra L;
             E: {end} ret; }}"
        )
    };
    let fault = Device::new(&text("")).fault("k", [2, 1, 1], [32, 1, 1], &Args::new());
    assert_eq!((fault.kind, fault.block), (FaultKind::IllegalAddress, [1, 0, 0]));
    assert!(
        fault.message.contains("in the shared memory of the cluster's block 0, which has ended"),
        "{fault}"
    );
    let waits = "barrier.cluster.arrive; barrier.cluster.wait;";
    Device::new(&text(waits)).launch("k", [2, 1, 1], [32, 1, 1], &Args::new());
}

#[test]
fn unknown_instructions_stop_the_kernel_that_reaches_them() {
    let text = snippet(
        "setp.eq.u32 %p1, %t, 3;\n@%p1 multimem.ld_reduce.global.add.u32 %r1, [%rd1];\nst.global.u32 [%at], 1;",
    );
    let device = Device::new(&text);
    let out = device.zeroed::<u32>(32);
    device.launch("k", [1, 1, 1], [3, 1, 1], &Args::new().add(out));
    let fault = device.fault("k", [1, 1, 1], [32, 1, 1], &Args::new().add(out));
    assert_eq!(place(&fault), (FaultKind::UnsupportedInstruction, "k", [0; 3], [3, 0, 0], 11));
    assert!(fault.message.contains("`multimem.ld_reduce.global.add.u32` cannot be executed"), "{fault}");
    let kernel = device.kernel("k");
    let refused: Vec<(u32, &str)> = kernel.unsupported().collect();
    assert_eq!(refused.len(), 1);
    assert_eq!(refused[0].0, 11);
}

#[test]
fn stacks_are_finite() {
    let text = snippet_with(
        ".func f(.param .b32 a) { .reg .b32 %r<2>; ld.param.b32 %r1, [a];
           { .param .b32 b; st.param.b32 [b], %r1; call f, (b); } ret; }",
        "{ .param .b32 a; st.param.b32 [a], %t; call f, (a); }",
    );
    let fault = snippet_fault(&text, 32, 4);
    assert_eq!(fault.kind, FaultKind::StackOverflow);
    assert!(fault.message.contains("`f`"), "{fault}");
    let device = Device::file("tests/kernels/faults.ptx");
    let out = device.zeroed::<u32>(1);
    device.launch("stack_depth", [1, 1, 1], [1, 1, 1], &Args::new().add(100u32).add(out));
    assert_eq!(device.download::<u32>(out, 1), [5050]);
    let fault = device.fault("stack_depth", [1, 1, 1], [1, 1, 1], &Args::new().add(100_000u32).add(out));
    assert_eq!(fault.kind, FaultKind::StackOverflow);
}

#[test]
fn calls_of_what_is_no_function() {
    let text = snippet(
        "mov.u64 %rd1, 16; { .param .b32 a; st.param.b32 [a], 1;
         proto: .callprototype _ (.param .b32 _);
         call %rd1, (a), proto; }",
    );
    let fault = snippet_fault(&text, 32, 4);
    assert_eq!((fault.kind, fault.address), (FaultKind::InvalidCall, Some(16)));
}

#[test]
fn faults_inside_functions_name_them() {
    let text = snippet_with(
        ".func f(.param .b64 a) {\n.reg .b64 %rd<2>;\nld.param.b64 %rd1, [a];\nst.global.u32 [%rd1], 1;\nret; }",
        "{ .param .b64 a; st.param.b64 [a], 64; call f, (a); }",
    );
    let fault = snippet_fault(&text, 32, 4);
    assert_eq!((fault.kind, fault.kernel.as_str(), fault.ptx_line), (FaultKind::IllegalAddress, "k", 4));
    assert!(fault.message.ends_with("in function `f`"), "{fault}");
}

#[test]
fn impossible_launches() {
    let device = Device::new(&snippet(""));
    let kernel = device.kernel("k");
    let good = Launch { parameters: vec![0; 8].into(), ..Launch::default() };
    run(&kernel, &good, &device.memory, 0).unwrap();
    for bad in [
        Launch { grid: [0, 1, 1], ..good.clone() },
        Launch { block: [1025, 1, 1], ..good.clone() },
        Launch { block: [u32::MAX, u32::MAX, u32::MAX], ..good.clone() },
        Launch { grid: [3, 1, 1], cluster: [2, 1, 1], ..good.clone() },
        Launch { grid: [32, 1, 1], cluster: [32, 1, 1], ..good.clone() },
        Launch { dynamic_shared: u32::MAX, ..good.clone() },
    ] {
        assert_eq!(
            run(&kernel, &bad, &device.memory, 1).unwrap_err().kind,
            FaultKind::OutOfResources,
            "{bad:?}"
        );
    }
    // Missing parameters read as zero.
    run(&kernel, &Launch::default(), &device.memory, 1).unwrap();
}

#[test]
fn a_fault_stops_the_other_workers() {
    // Block 5 faults; the others would run forever.
    let text = format!(
        "{HEADER}.visible .entry k() {{ .reg .b32 %r<2>; .reg .pred %p<2>; .reg .b64 %rd<2>;
         mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 5; @%p1 trap; L: bra L; }}"
    );
    let device = Device::new(&text);
    for workers in [1, 2, 4] {
        let launch = launch(&device, "k", [8, 1, 1], [32, 1, 1], &Args::new());
        let fault = run(&device.kernel("k"), &launch, &device.memory, workers).unwrap_err();
        assert_eq!((fault.kind, fault.block), (FaultKind::Trap, [5, 0, 0]));
    }
}
