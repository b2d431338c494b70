//! Launches under several orders: what they leave alone, and what they report.

use std::collections::BTreeMap;

use cuda_emulator::engine::{Launch, run};
use cuda_emulator::{Checks, DifferenceKind, FindingKind, OneOrderReason, ScheduleDifference, Schedules};

use crate::support::{Args, Device, Output, launch, snippet, snippet_with};

fn device(body: &str, schedules: Schedules) -> Device {
    Device::scheduled(&snippet(body), schedules, None)
}

const LOST: &str = "ld.global.u32 %r1, [%out]; add.u32 %r1, %r1, 1; st.global.u32 [%out], %r1;";

#[test]
fn each_seed_is_the_same_each_time_whatever_ran_before() {
    let once = |schedules: Schedules| {
        let device = device(LOST, schedules);
        let out = device.zeroed::<u32>(1);
        device.launch("k", [8, 1, 1], [32, 1, 1], &Args::new().add(out));
        device.differences()
    };
    let alone: BTreeMap<u64, _> =
        (1..=40).filter_map(|seed| Some((seed, once(Schedules::new(1).seed(seed)).pop()?))).collect();
    assert!(alone.len() > 10);
    for (seed, difference) in &alone {
        assert_eq!(difference.seed, *seed);
        assert_eq!(once(Schedules::new(1).seed(*seed)).pop().as_ref(), Some(difference));
    }
    let together = once(Schedules::new(40)).pop().unwrap();
    assert_eq!((together.times, together.orders), (alone.len() as u64, 40));
    let (first, of_first) = alone.first_key_value().unwrap();
    assert_eq!((&together.seed, &together.kind), (first, &of_first.kind));
    let counts: std::collections::BTreeSet<_> = alone
        .values()
        .map(|difference| match &difference.kind {
            DifferenceKind::Memory(bytes) => bytes.contents[1],
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(counts.len() > 1, "the orders are different ones: {counts:?}");
}

#[test]
fn the_program_goes_on_with_the_ordinary_order() {
    let device = device(LOST, Schedules::new(10));
    let out = device.zeroed::<u32>(1);
    for launches in 1..4 {
        device.launch("k", [8, 1, 1], [32, 1, 1], &Args::new().add(out));
        assert_eq!(device.download::<u32>(out, 1), [launches * 8]);
    }
    let found = device.differences();
    assert_eq!(found.len(), 1, "launches of a kernel are told together");
    assert_eq!(found[0].orders, 30);
    assert!(device.differences().is_empty());
}

#[test]
fn without_schedules_nothing_is_noted() {
    let ordinary = Device::new(&snippet(LOST));
    let out = ordinary.zeroed::<u32>(1);
    let plain = ordinary.launch("k", [8, 1, 1], [32, 1, 1], &Args::new().add(out));
    let none = device(LOST, Schedules::new(0));
    let out = none.zeroed::<u32>(1);
    let zero = none.launch("k", [8, 1, 1], [32, 1, 1], &Args::new().add(out));
    assert_eq!(plain, zero);
    assert!(none.differences().is_empty());
}

#[test]
fn what_is_done_once_is_done_once() {
    let device = Device::scheduled(
        &format!(
            "{}.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
             .global .align 1 .b8 text[6] = {{104, 101, 108, 108, 111, 0}};
             .visible .entry k() {{
             .reg .b64 %a; .reg .b32 %r;
             mov.u64 %a, text; cvta.global.u64 %a, %a;
             {{ .param .b64 f; st.param.b64 [f], %a; .param .b64 v; st.param.b64 [v], 0; .param .b32 r;
             call.uni (r), vprintf, (f, v); ld.param.b32 %r, [r]; }}
             ret; }}",
            crate::support::HEADER
        ),
        Schedules::new(5),
        None,
    );
    let output = Output::default();
    let launch = Launch { printer: output.printer(), ..launch(&device, "k", [1; 3], [1; 3], &Args::new()) };
    run(&device.kernel("k"), &launch, &device.memory, 1).unwrap();
    assert_eq!(output.text(), "hello");
}

#[test]
fn a_check_may_find_something_under_a_seed_alone() {
    // Who comes first reads a number that nobody has written. In the ordinary order that is nobody.
    let text = snippet(
        "setp.ne.u32 %p1, %t, 0; @%p1 bra SECOND; st.volatile.global.u32 [%out+64], 1; exit;
         SECOND: setp.ne.u32 %p2, %t, 32; @%p2 exit; ld.volatile.global.u32 %r1, [%out+64];",
    );
    let checks = Checks::parse("init").unwrap();
    let device = Device::scheduled(&text, Schedules::new(20), Some(checks));
    let out = device.memory.allocate(128).unwrap();
    device.launch("k", [1; 3], [64, 1, 1], &Args::new().add(out));
    let found = device.differences();
    let check = found.iter().find_map(|difference| match &difference.kind {
        DifferenceKind::Check(finding) => Some(finding),
        _ => None,
    });
    assert_eq!(check.map(|finding| finding.kind), Some(FindingKind::Uninitialised), "{found:?}");
    assert!(device.findings().is_empty(), "it is no finding of the ordinary order");
}

#[test]
fn a_report_says_what_each_warp_waits_for() {
    // The first warp waits at a barrier for the second one, which waits for a number that the third one does not store if it comes late.
    let device = device(
        "shr.u32 %r1, %t, 5; setp.eq.u32 %p1, %r1, 0; @%p1 bra FIRST; setp.eq.u32 %p1, %r1, 2; @%p1 bra THIRD;
         st.volatile.global.u32 [%out+4], 1;
         WAIT: ld.volatile.global.u32 %r2, [%out]; setp.eq.u32 %p2, %r2, 0; @%p2 bra WAIT;
         FIRST: bar.sync 3, 64; exit;
         THIRD: ld.volatile.global.u32 %r3, [%out+4]; setp.eq.u32 %p3, %r3, 7; @%p3 exit;
         atom.global.exch.b32 %r4, [%out+8], 1; setp.eq.u32 %p4, %r3, 0; @%p4 exit; st.volatile.global.u32 [%out], 1;",
        Schedules::new(40),
    );
    let out = device.zeroed::<u32>(3);
    device.launch("k", [1; 3], [96, 1, 1], &Args::new().add(out));
    let found = device.differences();
    let hang = found.iter().find_map(|difference| match &difference.kind {
        DifferenceKind::Hang(fault) => Some(fault.message.clone()),
        _ => None,
    });
    let hang = hang.unwrap_or_else(|| panic!("{found:?}"));
    println!("{hang}");
    assert!(hang.starts_with("livelock"), "{hang}");
    assert!(
        hang.contains("thread (0, 0, 0) and 31 more of its warp: barrier 3 with a thread count, PTX line 13"),
        "{hang}"
    );
    assert!(
        hang.contains("thread (32, 0, 0) and 31 more of its warp: loops; PTX line 12 accesses 4 bytes at"),
        "{hang}"
    );
    assert!(hang.contains("at offset 0, which hold 0"), "{hang}");
}

#[test]
fn long_loops_are_no_hangs() {
    // One that computes, one that reads what does not change, one that waits for the second.
    let device = device(
        "setp.eq.u32 %p1, %t, 0; @%p1 bra COMPUTE; setp.eq.u32 %p1, %t, 32; @%p1 bra READ; setp.ne.u32 %p1, %t, 64; @%p1 exit;
         WAIT: nanosleep.u32 100; ld.volatile.global.u32 %r2, [%out]; setp.lt.u32 %p2, %r2, 2; @%p2 bra WAIT; exit;
         COMPUTE: mov.u32 %r1, 0;
         L: mad.lo.u32 %r3, %r1, 3, 7; add.u32 %r1, %r1, 1; setp.lt.u32 %p3, %r1, 100000; @%p3 bra L;
         red.global.add.u32 [%out], 1; exit;
         READ: mov.u32 %r1, 0;
         M: ld.global.u32 %r3, [%out+64]; add.u32 %r1, %r1, 1; setp.lt.u32 %p3, %r1, 30000; @%p3 bra M;
         red.global.add.u32 [%out], 1;",
        Schedules::new(12),
    );
    let out = device.zeroed::<u32>(32);
    device.launch("k", [1; 3], [96, 1, 1], &Args::new().add(out));
    assert_eq!(device.differences(), []);
}

#[test]
fn float_atomics_differ_by_their_nature() {
    let device = device(
        "and.b32 %r1, %t, 31; setp.ne.u32 %p1, %r1, 0; @%p1 exit; setp.eq.u32 %p2, %t, 0; selp.f32 %f1, 0f4B800000, 0f3F800000, %p2;
         red.global.add.f32 [%out], %f1;",
        Schedules::new(20),
    );
    let out = device.zeroed::<f32>(1);
    device.launch("k", [1; 3], [128, 1, 1], &Args::new().add(out));
    assert!(matches!(device.differences()[0].kind, DifferenceKind::Memory(_)));
}

#[test]
fn late_stores_can_be_left_out() {
    let body = "setp.eq.u32 %p1, %t, 0; @%p1 bra PRODUCE; setp.ne.u32 %p2, %t, 32; @%p2 exit;
         WAIT: ld.volatile.global.u32 %r1, [%out]; setp.eq.u32 %p3, %r1, 0; @%p3 bra WAIT;
         ld.volatile.global.u32 %r2, [%out+64]; st.global.u32 [%out+128], %r2; exit;
         PRODUCE: st.global.u32 [%out+64], 42; st.volatile.global.u32 [%out], 1;";
    for (late, found) in [(true, true), (false, false)] {
        let device = device(body, Schedules::new(40).late_stores(late));
        let out = device.zeroed::<u32>(64);
        device.launch("k", [1; 3], [64, 1, 1], &Args::new().add(out));
        assert_eq!(!device.differences().is_empty(), found);
    }
}

#[test]
fn warps_of_code_for_older_gpus_stay_together() {
    let body = ".shared .b32 s[1];
         setp.ne.u32 %p1, %t, 0; @%p1 bra READ;
         st.volatile.shared.u32 [s], 77;
         READ: ld.volatile.shared.u32 %r1, [s]; st.global.u32 [%at], %r1;";
    for (target, found) in [("sm_90", true), ("sm_60", false)] {
        let text = snippet(body).replace("sm_90", target);
        let device = Device::scheduled(&text, Schedules::new(40), None);
        let out = device.zeroed::<u32>(32);
        device.launch("k", [1; 3], [32, 1, 1], &Args::new().add(out));
        assert_eq!(!device.differences().is_empty(), found, "{target}");
    }
}

#[test]
fn stores_that_others_do_not_see_are_told() {
    let device = device(
        "setp.eq.u32 %p1, %t, 0; @%p1 bra PRODUCE; setp.ne.u32 %p2, %t, 32; @%p2 exit;
         WAIT: ld.volatile.global.u32 %r1, [%out]; setp.eq.u32 %p3, %r1, 0; @%p3 bra WAIT;
         ld.volatile.global.u32 %r2, [%out+64]; st.volatile.global.u32 [%out+128], %r2; exit;
         PRODUCE: st.global.u32 [%out+64], 42; st.volatile.global.u32 [%out], 1;",
        Schedules::new(40),
    );
    let out = device.zeroed::<u32>(64);
    device.launch("k", [1; 3], [64, 1, 1], &Args::new().add(out));
    let found = device.differences();
    assert_eq!(found[0].unseen_stores, [[13, 12]]);
    assert!(
        found[0].to_string().ends_with("; PTX line 12 did not see what line 13 had stored"),
        "{}",
        found[0]
    );
}

/// Correct kernels of 64 threads, whose warps an order separates at the stores. They have shared memory `s`, and a function `hand` that calls
/// two barriers.
const TOGETHER: [&str; 6] = [
    // A warp hands over to another one, which hands back.
    "mad.lo.u32 %r1, %t, 4, 0; mov.u32 %r2, s; add.u32 %r1, %r1, %r2; setp.ge.u32 %p1, %t, 32; @%p1 bra TAKE;
     st.shared.u32 [%r1], %t; bar.arrive 1, 64; bar.sync 2, 64; bra.uni E;
     TAKE: bar.sync 1, 64; ld.shared.u32 %r3, [%r1+-128]; bar.arrive 2, 64; st.global.u32 [%at], %r3; E:",
    // The same inside a function, which the parts call one after the other.
    "st.global.u32 [%at], %t; setp.ge.u32 %p1, %t, 32; @%p1 bra TAKE;
     call hand, (1, 2); bra.uni E; TAKE: bar.sync 1, 64; bar.arrive 2, 64; E:",
    "st.global.u32 [%at], %t; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
     st.global.u32 [%at], %r1; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;",
    "st.global.u32 [%at], %t; barrier.cluster.arrive; st.global.u32 [%at], %r1; barrier.cluster.wait.aligned;",
    "st.global.u32 [%at], %t; bar.red.popc.u32 %r2, 1, %p1; st.global.u32 [%at], %r2; bar.sync 1; st.global.u32 [%at], %r2;
     barrier.cta.red.or.aligned.pred %p2, 1, %p1;",
    // A part of each warp meets the same part of the other one, which the rest waits for.
    "and.b32 %r1, %t, 31; setp.lt.u32 %p1, %r1, 16; @%p1 bra REST; st.global.u32 [%at], %t; barrier.sync 1, 32;
     REST: bar.sync 0; st.global.u32 [%at], %r1;",
];

const HAND: &str = ".shared .b32 s[64];
    .func hand(.param .b32 a, .param .b32 b) { .reg .b32 %a, %b; ld.param.b32 %a, [a]; ld.param.b32 %b, [b]; bar.arrive %a, 64; bar.sync %b, 64; ret; }";

#[test]
fn a_warp_that_an_order_separated_comes_to_a_barrier_together() {
    for body in TOGETHER {
        let device = Device::scheduled(&snippet_with(HAND, body), Schedules::new(60), Some(Checks::KERNELS));
        let out = device.zeroed::<u32>(64);
        let asked = launch(&device, "k", [1; 3], [64, 1, 1], &Args::new().add(out));
        device.try_launch("k", Launch { cluster: [1; 3], ..asked }).unwrap();
        assert_eq!((device.findings(), device.differences()), (vec![], vec![]), "{body}");
    }
}

#[test]
fn the_time_is_part_of_the_order() {
    let timer = "atom.global.add.u32 %r1, [%out], 1; mov.u64 %rd1, %globaltimer; mul.wide.u32 %rd2, %r1, 8; add.u64 %rd2, %rd2, %out;
                 st.global.u64 [%rd2+64], %rd1;";
    let once = |seed: u64| {
        let device = device(timer, Schedules::new(1).seed(seed));
        let launch = || {
            let out = device.zeroed::<u64>(64);
            device.launch("k", [2, 1, 1], [3, 1, 1], &Args::new().add(out));
            (device.differences(), device.download::<u64>(out + 64, 6))
        };
        [launch(), launch()]
    };
    let all: Vec<_> = (1..10).map(once).collect();
    assert!((1..10).map(once).eq(all.iter().cloned()), "a seed is the same each time");
    assert!(all.iter().flatten().any(|(differences, _)| !differences.is_empty()), "they look at the time");
    // It passes from one launch to the next.
    let [(_, first), (_, second)] = &all[0];
    assert!(first.iter().max() < second.iter().min(), "{first:?} {second:?}");
}

#[test]
fn the_time_never_goes_back() {
    // Warps keep the latest time that one has read. Who reads an earlier one than was there before says so.
    // Instructions that follow an access in a block are not executed yet when others go first.
    let follow = "add.u32 %r10, %r10, 1; ".repeat(60);
    let body =
        "mov.u32 %r9, 0; L: ld.volatile.global.u64 %rd1, [%out+64]; mov.u64 %rd2, %globaltimer; setp.lt.u64 %p1, %rd2, %rd1;
         @%p1 st.global.u32 [%out], 1; atom.global.max.u64 %rd3, [%out+64], %rd2; add.u32 %r9, %r9, 1;
         FOLLOW setp.lt.u32 %p2, %r9, 20; @%p2 bra L;";
    let device = device(&body.replace("FOLLOW", &follow), Schedules::new(30));
    let out = device.zeroed::<u64>(32);
    device.launch("k", [3, 1, 1], [64, 1, 1], &Args::new().add(out));
    let goes_back = |difference: &ScheduleDifference| match &difference.kind {
        DifferenceKind::Memory(bytes) => bytes.address == out,
        _ => true,
    };
    let found = device.differences();
    assert!(!found.iter().any(goes_back), "{found:?}");
    assert_eq!(device.download::<u32>(out, 1), [0]);
}

/// A kernel has one order if what it can reach itself cannot be undone, and not because of other kernels of its module.
#[test]
fn a_kernel_that_cannot_be_undone_runs_once_and_says_so() {
    let text = ".version 8.5\n.target sm_90\n.address_size 64
.extern .func (.param .b64 r) malloc (.param .b64 n);
.extern .func free (.param .b64 p);
.func give () {
    .reg .b64 %a; .param .b64 p;
    mov.u64 %a, 0; st.param.b64 [p], %a; call free, (p); ret; }
.visible .entry lost (.param .u64 p) {
    .reg .b64 %a; .reg .b32 %n;
    ld.param.u64 %a, [p];
    ld.global.u32 %n, [%a]; add.u32 %n, %n, 1; st.global.u32 [%a], %n; ret; }
.visible .entry allocates (.param .u64 p) {
    .reg .b64 %a; .reg .b32 %n;
    ld.param.u64 %a, [p];
    call give;
    ld.global.u32 %n, [%a]; add.u32 %n, %n, 1; st.global.u32 [%a], %n; ret; }
.visible .entry stores (.param .u64 p, .param .u64 s) {
    .reg .b64 %a; .reg .b32 %n; .reg .pred %q;
    ld.param.u64 %a, [s];
    setp.eq.u64 %q, %a, 0;
    @!%q sust.b.1d.b32.trap [%a, {%n}], {%n};
    ld.param.u64 %a, [p];
    ld.global.u32 %n, [%a]; add.u32 %n, %n, 1; st.global.u32 [%a], %n; ret; }
";
    let device = Device::scheduled(text, Schedules::new(10), None);
    let launch = |kernel: &str, arguments: Args| {
        device.launch(kernel, [4, 1, 1], [1, 1, 1], &arguments);
        let once = device.one_order().into_iter().map(|once| (once.kernel, once.launches, once.reason));
        (device.differences().len(), once.collect::<Vec<_>>())
    };
    let memory = device.upload(&[0_u32]);
    assert_eq!(launch("lost", Args::new().add(memory)), (1, vec![]));
    let heap = ("allocates".to_owned(), 1, OneOrderReason::Heap);
    assert_eq!(launch("allocates", Args::new().add(memory)), (0, vec![heap]));
    let surfaces = ("stores".to_owned(), 1, OneOrderReason::Surfaces);
    assert_eq!(launch("stores", Args::new().add(memory).add(0_u64)), (0, vec![surfaces]));
    assert_eq!(device.download::<u32>(memory, 1), [12], "all in the ordinary order");
    let none = Device::scheduled(text, Schedules::new(0), None);
    none.launch("allocates", [1, 1, 1], [1, 1, 1], &Args::new().add(none.upload(&[0_u32])));
    assert_eq!(none.one_order(), []);
}
