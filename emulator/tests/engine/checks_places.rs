//! Accesses that lead into another variable or allocation, writes to constant memory, and mbarriers that are made twice: what is found, and
//! what is not.

use cuda_emulator::Checks;
use cuda_emulator::check::FindingKind;

use crate::checks_values::{TWO, found, found_with, lines, nothing};
use crate::support::{Args, Device, launch, snippet_with};

const OUTSIDE: FindingKind = FindingKind::OutOfBounds;

#[test]
fn from_one_shared_variable_into_the_next() {
    let at = |base: &str, offset: i64| {
        let both = "mov.u32 %r1, first; mov.u32 %r2, second; shl.b32 %r3, %t, 2; add.u32 %r4, %r1, %r3; add.u32 %r5, %r2, %r3; \
            st.shared.u32 [%r4], 0; st.shared.u32 [%r5], 0; bar.sync 0;";
        format!("{both} {base}\nld.shared.u32 %r9, [%r8+{offset}]; st.global.u32 [%at], %r9;")
    };
    let run = |base: &str, offset| found_with(&at(base, offset), 32, TWO);
    let wrong = run("add.u32 %r8, %r1, %r3;", 128);
    assert_eq!(lines(&wrong), [(OUTSIDE, 11, None)]);
    assert!(
        wrong[0].to_string().contains("at offset 128 of variable `first`, which has 128 bytes"),
        "{}",
        wrong[0]
    );
    for (base, offset) in [
        ("add.u32 %r8, %r2, %r3;", -4),
        ("mad.lo.u32 %r8, %t, 4, %r1;", 4),
        ("mov.u32 %r8, first; L: add.u32 %r8, %r8, 4; setp.lt.u32 %p1, %r8, 1148; @%p1 bra L;", 4),
        // What a variable has is a number, by itself or in a vector.
        ("st.shared.u32 [%r4], 128; ld.shared.u32 %r7, [%r4]; add.u32 %r8, %r4, %r7;", 0),
        (
            "st.shared.u32 [%r4], 128; bar.sync 0; ld.shared.v2.u32 {%r6, %r7}, [%r1]; add.u32 %r8, %r4, %r7;",
            0,
        ),
    ] {
        assert_eq!(lines(&run(base, offset)), [(OUTSIDE, 11, None)], "{base}");
    }
    for (base, offset) in [
        ("add.u32 %r8, %r1, %r3;", 0),
        ("mad.lo.u32 %r8, %t, 4, %r2;", 0),
        // Below the variable, until the offset is added.
        ("sub.u32 %r8, %r2, 64;", 64),
        // One of two; the distance of two; a number.
        ("setp.lt.u32 %p1, %t, 5; selp.u32 %r8, %r1, %r2, %p1;", 0),
        ("mov.u32 %r8, first; setp.lt.u32 %p1, %t, 5; @%p1 mov.u32 %r8, second;", 0),
        ("sub.u32 %r7, %r2, %r1; add.u32 %r8, %r1, %r7;", 0),
        ("shl.b32 %r7, %r2, 0; sub.u32 %r7, %r7, %r1; add.u32 %r8, %r1, %r7;", 0),
        ("mov.u32 %r8, 1152;", 0),
        // The distance of two, by a product and in pieces.
        ("sub.u32 %r7, %r2, %r1; mad.lo.u32 %r8, %r7, 1, %r1;", 0),
        ("shl.b32 %r6, %r1, 0; shl.b32 %r7, %r2, 0; sub.u32 %r7, %r7, %r6; add.u32 %r8, %r1, %r7;", 0),
        // Half of a pair with one.
        ("mov.u32 %r7, 1152; mov.b64 %rd1, {%r1, %r7}; mov.b64 {%r6, %r8}, %rd1;", 0),
    ] {
        assert_eq!(run(base, offset), [], "{base}");
    }
}

/// The array that the launch makes begins behind the variables.
#[test]
fn from_dynamic_shared_memory_into_a_variable() {
    let module = ".shared .align 16 .b8 first[128];\n.extern .shared .align 16 .b8 rest[];";
    let run = |offset: i64| {
        let body = format!(
            "mov.u32 %r2, first; mov.u32 %r1, rest; add.u32 %r1, %r1, %t;\nst.shared.u8 [%r1+{offset}], %t;"
        );
        let device = Device::checked(&snippet_with(module, &body));
        let out = device.zeroed::<u32>(32);
        let mut launch = launch(&device, "k", [1; 3], [32, 1, 1], &Args::new().add(out));
        launch.dynamic_shared = 64;
        device.try_launch("k", launch).unwrap();
        device.findings()
    };
    for offset in [0, 32] {
        assert_eq!(run(offset), [], "{offset}");
    }
    let wrong = run(-1);
    assert_eq!((lines(&wrong), wrong[0].access.thread), (vec![(OUTSIDE, 11, None)], [0; 3]));
    assert!(wrong[0].to_string().contains("at offset -1 of variable `rest`:"), "{}", wrong[0]);
}

#[test]
fn from_one_local_variable_into_the_next() {
    let run = |body: &str| {
        found(&format!(
            "{{ .local .align 16 .b8 a[32]; .local .align 16 .b8 b[32]; mov.u64 %rd1, a; mov.u64 %rd2, b;\n{body} }}"
        ))
    };
    for (body, place) in [
        ("st.local.u32 [%rd1+32], 1;", "at offset 32 of variable `a`, which has 32 bytes"),
        ("st.local.u32 [%rd2+-4], 1;", "at offset -4 of variable `b`, which has 32 bytes"),
        ("st.local.u32 [a+32], 1;", "at offset 32 of variable `a`, which has 32 bytes"),
        ("st.local.u32 [b+-32], 1;", "at offset -32 of variable `b`, which has 32 bytes"),
        (
            "cvta.local.u64 %rd3, %rd1; st.u32 [%rd3+36], 1;",
            "at offset 36 of variable `a`, which has 32 bytes",
        ),
        (
            "cvta.local.u64 %rd3, %rd1; ld.u32 %r1, [%rd3+32];",
            "at offset 32 of variable `a`, which has 32 bytes",
        ),
        ("ld.local.v2.u32 {%r1, %r2}, [%rd1+32];", "at offset 32 of variable `a`, which has 32 bytes"),
    ] {
        let wrong = run(body);
        assert_eq!(lines(&wrong), [(OUTSIDE, 11, None)], "{body}");
        assert!(wrong[0].to_string().contains(place), "{}", wrong[0]);
        assert!(wrong[0].to_string().contains(" bytes of local memory at 0x"), "{}", wrong[0]);
    }
    for body in [
        "st.local.u32 [%rd1+28], 1; st.local.u32 [a+28], 1; st.local.u32 [b], 1;",
        "cvta.local.u64 %rd3, %rd2; st.u32 [%rd3], 1; ld.u32 %r1, [%rd3+28];",
        "st.local.v4.u32 [%rd1+16], {%t, %t, %t, %t}; ld.local.v4.u32 {%r1, %r2, %r3, %r4}, [%rd2+16];",
        "setp.lt.u32 %p1, %t, 7; selp.b64 %rd3, %rd1, %rd2, %p1; st.local.u32 [%rd3+28], 1;",
        // The address of one is stored in the other.
        "st.local.u64 [%rd2], %rd1; st.local.u64 [a], %rd2; ld.local.u64 %rd3, [%rd1]; st.local.u32 [%rd3], 1;",
        // A function has its own, and reaches its caller's.
        "cvta.local.u64 %rd3, %rd2; call fills, (%rd3);",
    ] {
        assert_eq!(run(body), [], "{body}");
    }
    // In a function that is called.
    let wrong = run("cvta.local.u64 %rd3, %rd2; call leaves, (%rd3);");
    assert_eq!(lines(&wrong), [(OUTSIDE, 4, None)]);
    assert_eq!(wrong[0].access.function.as_deref(), Some("leaves"));
}

/// From each space into each other one, by a distance that is a number in memory.
#[test]
fn from_one_space_into_another() {
    let addresses = [("first", "shared"), ("a", "local"), ("g", "global"), ("%rd40", "")];
    let targets = [("second", "shared"), ("b", "local"), ("h", "global"), ("%rd41", "")];
    let into = |(name, space): (&str, &str), register: &str| match space {
        "" => format!("mov.u64 {register}, {name};"),
        space => format!("mov.u64 {register}, {name}; cvta.{space}.u64 {register}, {register};"),
    };
    let run = |from, to, access: &str| {
        let body = format!(
            "{{ .local .align 16 .b8 a[32]; .local .align 16 .b8 b[32]; {} {} sub.u64 %rd4, %rd2, %rd1; st.global.u64 [%out+2048], %rd4;\n\
             ld.global.u64 %rd5, [%out+2048]; add.u64 %rd3, %rd1, %rd5;\n{access} }}",
            into(from, "%rd1"),
            into(to, "%rd2")
        );
        found_with(&body, 1, TWO)
    };
    for from in addresses {
        for (to, place) in targets.into_iter().zip([
            "in the shared memory of a block",
            "in the local memory of the thread",
            "inside the allocation",
            "inside the allocation",
        ]) {
            for access in ["st.u32 [%rd3], %t;", "ld.u32 %r1, [%rd3];", "st.v2.u32 [%rd3], {%t, %t};"] {
                let found = run(from, to, access);
                let wrong: Vec<_> = found.iter().filter(|finding| finding.kind == OUTSIDE).cloned().collect();
                assert_eq!(lines(&wrong), [(OUTSIDE, 12, None)], "{from:?} {to:?} {access} {found:?}");
                let text = wrong[0].to_string();
                let is_same = from.1 == to.1 && ["shared", "local"].contains(&from.1);
                assert!(is_same || text.contains(place), "{from:?} {to:?} {text}");
                let own = if from.1.is_empty() { "`more`" } else { &format!("variable `{}`", from.0) };
                assert!(text.contains(own), "{from:?} {to:?} {text}");
            }
            // Atomics have no local memory.
            if to.1 != "local" {
                assert!(run(from, to, "red.add.u32 [%rd3], 1;").iter().any(|found| found.kind == OUTSIDE));
            }
        }
        let own = run(from, from, "st.u32 [%rd3], %t; ld.u32 %r1, [%rd3]; red.add.u32 [%out], 1;");
        assert_eq!(own, [], "{from:?}");
    }
    // Numbers among the parameters are no addresses, wherever they lead.
    let number = "ld.param.u64 %rd9, [more+16]; mov.u64 %rd1, first; cvta.shared.u64 %rd1, %rd1; add.u64 %rd2, %rd9, 0x700000000400; st.u32 [%rd2], %t;";
    assert_eq!(found_with(number, 1, TWO), []);
}

#[test]
fn from_one_allocation_into_another() {
    // The distance is a number, which memory has.
    let far = |from: &str, to: &str| {
        format!(
            "sub.u64 %rd1, {to}, {from}; st.global.u64 [%out+2048], %rd1; bar.warp.sync -1; ld.global.u64 %rd2, [%out+2048];\n\
             setp.eq.u32 %p1, %t, 0; add.u64 %rd3, {from}, %rd2;\n@%p1 st.global.u32 [%rd3], 7;"
        )
    };
    let wrong = found(&far("%rd40", "%rd41"));
    assert_eq!(lines(&wrong), [(OUTSIDE, 12, None)]);
    assert!(wrong[0].to_string().contains("not in that of parameter `more`"), "{}", wrong[0]);
    nothing(&far("%rd40", "%rd40"));
    let variables =
        "mov.u64 %rd4, g; mov.u64 %rd5, h; cvta.global.u64 %rd6, %rd4; cvta.global.u64 %rd7, %rd5; ";
    let wrong = found(&format!("{variables}{}", far("%rd6", "%rd7")));
    assert_eq!(lines(&wrong), [(OUTSIDE, 12, None)]);
    assert!(wrong[0].to_string().contains("not in variable `g`"), "{}", wrong[0]);
    nothing(&format!("{variables}{}", far("%rd6", "%rd6")));
    // A number among the parameters that is added to an address.
    nothing(
        "sub.u64 %rd1, %rd41, %rd41; add.u64 %rd1, %rd1, %rd40; setp.eq.u32 %p1, %t, 0; @%p1 st.global.u32 [%rd1], 7;",
    );
    nothing("setp.eq.u32 %p1, %t, 0; selp.b64 %rd1, %rd40, %rd41, %p1; st.global.u32 [%rd1], 7;");
}

#[test]
fn constant_memory_is_not_written() {
    let store = |to: &str| {
        format!(
            "mov.u64 %rd1, {to}; {}\nsetp.eq.u32 %p1, %t, 0; @%p1 st.u32 [%rd1], 7;",
            if to == "c" { "cvta.const.u64 %rd1, %rd1;" } else { "cvta.global.u64 %rd1, %rd1;" }
        )
    };
    let wrong = found(&store("c"));
    assert_eq!(lines(&wrong), [(FindingKind::ConstantWrite, 11, None)]);
    assert!(
        wrong[0].to_string().starts_with("write to constant memory in kernel `k`: 4 bytes"),
        "{}",
        wrong[0]
    );
    nothing(&store("g"));
    nothing("ld.const.u32 %r1, [c]; st.global.u32 [%at], %r1;");
}

#[test]
fn an_mbarrier_is_made_once() {
    let bar = ".shared .align 8 .b64 bar; .shared .align 8 .b64 other;";
    let run = |between: &str| {
        let init = "@%p1 mbarrier.init.shared.b64 [%r1], 1;";
        found_with(
            &format!(
                "mov.u32 %r1, bar; mov.u32 %r2, other; setp.eq.u32 %p1, %t, 0; {init} bar.sync 0;\n{between}\n{init}"
            ),
            32,
            bar,
        )
    };
    assert_eq!(lines(&run("")), [(FindingKind::LiveMbarrier, 12, None)]);
    assert!(run("")[0].to_string().contains("`mbarrier.inval` has to come before"), "{}", run("")[0]);
    assert_eq!(run("@%p1 mbarrier.inval.shared.b64 [%r1]; bar.sync 0;"), []);
    assert_eq!(
        lines(&run("@%p1 mbarrier.inval.shared.b64 [%r2]; bar.sync 0;")),
        [(FindingKind::LiveMbarrier, 12, None)]
    );
    // For who asks for it.
    let text = snippet_with(".shared .align 8 .b64 bar;", &"mbarrier.init.shared.b64 [bar], 1;\n".repeat(2));
    for (checks, count) in [("init,race", 0), ("barrier", 1)] {
        let device = Device::checked_for(&text, Checks::parse(checks).unwrap());
        device.launch("k", [1; 3], [1; 3], &Args::new().add(device.zeroed::<u32>(1)));
        assert_eq!(device.findings().len(), count, "{checks}");
    }
    // All threads of a warp make it together: that is one instruction.
    let together = "mov.u32 %r1, bar; mbarrier.init.shared.b64 [%r1], 1;";
    assert_eq!(found_with(together, 32, bar), []);
}

/// Constant memory without an initial value is zero, so that a program is asked whether it means that.
#[test]
fn constants_that_nobody_set_are_found_if_asked_for() {
    let declarations = ".const .u32 set = 7;\n.const .u32 never[4];";
    let body = "ld.const.u32 %r1, [set]; add.u32 %r1, %r1, %t;\nld.const.u32 %r2, [never+4];\nadd.u32 %r1, %r1, %r2; st.global.u32 [%at], %r1;";
    let text = snippet_with(declarations, body);
    let found = |checks: Checks, sets: bool| {
        let device = Device::checked_for(&text, checks);
        if sets {
            let (address, bytes) = device.program.global("never").unwrap();
            device.memory.write(address, &vec![0; bytes as usize]).unwrap();
        }
        let out = device.zeroed::<u32>(32);
        device.launch("k", [1, 1, 1], [32, 1, 1], &Args::new().add(out));
        let found = device.findings();
        found
            .iter()
            .map(|one| (one.kind, one.access.ptx_line, one.bytes.as_ref().unwrap().count))
            .collect::<Vec<_>>()
    };
    let asked = Checks::parse("constant").unwrap();
    assert_eq!(found(asked, false), [(FindingKind::Uninitialised, 11, 4)]);
    assert_eq!(found(asked, true), []);
    for other in ["all", "init", "race,barrier,leak"] {
        assert_eq!(found(Checks::parse(other).unwrap(), false), [], "{other}");
    }
    assert_eq!(found(Checks::parse("constant,all").unwrap(), false).len(), 1);
    assert_eq!(Checks::parse("all,constant"), Checks::parse("constant,all"));
}
