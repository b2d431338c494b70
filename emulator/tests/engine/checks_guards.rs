//! Guards that were never written: what they decide.

use crate::checks_values::{TWO, UNDEFINED, found, found_with, lines, nothing};

/// What runs or not by a register that was never written: whether its lanes pass, which begin as zero, or not.
#[test]
fn guards_of_effects() {
    let mut wrong = Vec::new();
    for (verb, instruction) in [
        ("access guarded by it", "st.global.u32 [%at], 1;"),
        ("access guarded by it", "ld.global.u32 %r9, [%at];"),
        ("access guarded by it", "ld.global.v4.u32 {%r9, %r8, %r7, %r6}, [%out];"),
        ("access guarded by it", "st.shared.u32 [first], %t;"),
        ("access guarded by it", "atom.global.add.u32 %r9, [%out], 1;"),
        ("access guarded by it", "red.global.add.u32 [%out], 1;"),
        ("access guarded by it", "cp.async.ca.shared.global [first], [%out], 4;"),
        ("access guarded by it", "cp.async.wait_all;"),
        ("access guarded by it", "cp.async.commit_group;"),
        ("access guarded by it", "mbarrier.init.shared.b64 [second], 1;"),
        ("access guarded by it", "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r9}, [first];"),
        ("access guarded by it", "st.local.u32 [a], 4;"),
        ("access guarded by it", "ld.local.u32 %r9, [a];"),
        ("fence guarded by it", "membar.gl;"),
        ("barrier guarded by it", "bar.sync 0;"),
        ("barrier guarded by it", "barrier.cta.arrive 1, 64;"),
        ("barrier guarded by it", "bar.red.popc.u32 %r9, 0, %p7;"),
        ("barrier guarded by it", "barrier.cluster.arrive;"),
        ("`bar.warp.sync` guarded by it", "bar.warp.sync -1;"),
        ("exchange between lanes guarded by it", "shfl.sync.idx.b32 %r9, %t, 0, 31, -1;"),
        ("exchange between lanes guarded by it", "vote.sync.ballot.b32 %r9, %p7, -1;"),
        ("branch by it", "bra LAST;"),
        ("branch by it", "brx.idx %r5, ALL;"),
        ("call guarded by it", "call sets, (%out);"),
        ("call guarded by it", "call (%r9), twice, (%t);"),
        ("return guarded by it", "exit;"),
        ("return guarded by it", "ret;"),
    ] {
        for guard in ["@%p6", "@!%p6"] {
            let body = format!(
                "ALL: .branchtargets LAST; .local .align 4 .b8 a[4]; setp.eq.u32 %p7, %t, 0; mov.u32 %r5, 0; st.shared.u32 [first], 0; bar.sync 0;\n\
                 {guard} {instruction}\nLAST: nanosleep.u32 1;"
            );
            let found: Vec<_> =
                found_with(&body, 32, TWO).into_iter().filter(|finding| finding.kind == UNDEFINED).collect();
            if (lines(&found), found.first().map(|found| found.access.verb))
                != (vec![(UNDEFINED, 11, None)], Some(verb))
            {
                wrong.push(format!("{guard} {instruction} {found:?}"));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    // Where a branch goes.
    let table = "ALL: .branchtargets A, B;\nbrx.idx %r5, ALL;\nA: st.global.u32 [%at], 1; B:";
    assert_eq!(lines(&found(table)), [(UNDEFINED, 11, None)]);
    let stops = "setp.eq.u32 %p7, %t, 0;\n@%p6 trap;";
    assert_eq!(lines(&found(stops)), [(UNDEFINED, 11, None)]);
    // Hints have no effect.
    nothing("@%p6 prefetch.global.L1 [%at]; @!%p6 nanosleep.u32 1; @%p6 prefetch.global.L2 [%at];");
}

/// Whether a register is written: what it then holds is undefined, which matters where that decides something.
#[test]
fn guards_of_registers() {
    let last = "add.u32 %r2, %r2, 1;\nst.global.u32 [%at], %r2;";
    for guard in ["@%p1", "@!%p1"] {
        for write in
            ["mov.u32 %r2, 5;", "mul.lo.u32 %r2, %t, 3;", "popc.b32 %r2, %t;", "ld.param.u32 %r2, [more];"]
        {
            nothing(&format!("mov.u32 %r2, 4; {guard} {write}"));
            let body = format!("mov.u32 %r2, 4;\n{guard} {write}\n{last}");
            assert_eq!(lines(&found(&body)), [(UNDEFINED, 13, Some(11))], "{body}");
            // Written again.
            nothing(&format!("{guard} {write} mov.u32 %r2, 4; {last}"));
        }
        // The write of one is no mistake of the other's: it is told once, by the first that decides.
        let both =
            format!("mov.u32 %r2, 4; mov.u32 %r3, 4;\n{guard} mov.u32 %r2, 5;\n@%p1 mov.u32 %r3, 5;\n{last}");
        assert_eq!(lines(&found(&both)), [(UNDEFINED, 14, Some(11))]);
        // A choice is stored although nothing is computed from it.
        let chosen = format!("mov.u32 %r2, 4;\n{guard} mov.u32 %r2, 5;\nst.global.u32 [%at], %r2;");
        assert_eq!(lines(&found(&chosen)), [(UNDEFINED, 12, Some(11))]);
        // It guards what writes itself.
        let own = format!("{guard} setp.lt.u32 %p1, %t, 40;\n@%p1 st.global.u32 [%at], 1;");
        assert_eq!(lines(&found(&own)), [(UNDEFINED, 11, Some(10))]);
    }
    for select in ["selp.u32 %r2, %t, 7, %p1;", "selp.u32 %r2, 7, %t, %p1;"] {
        assert_eq!(lines(&found(&format!("{select}\n{last}"))), [(UNDEFINED, 12, Some(10))]);
        assert_eq!(
            lines(&found(&format!("{select}\nst.global.u32 [%at], %r2;"))),
            [(UNDEFINED, 11, Some(10))]
        );
        nothing(&format!("{select} mov.u32 %r2, 1; {last}"));
    }
    // In the lanes in which the guard is undefined.
    let some = |bound: u32| {
        format!(
            "mov.u32 %r2, 4; setp.lt.u32 %p2, %t, 20; @%p2 setp.lt.u32 %p1, %t, 10; @%p1 mov.u32 %r2, 5; add.u32 %r2, %r2, 1;\n\
             setp.lt.u32 %p3, %t, {bound};\n@%p3 st.global.u32 [%at], %r2;"
        )
    };
    nothing(&some(20));
    let wrong = found(&some(21));
    assert_eq!((lines(&wrong), wrong[0].access.thread), (vec![(UNDEFINED, 12, Some(10))], [20, 0, 0]));
    // In some lanes by the guard, in others from the start.
    let both = "setp.lt.u32 %p2, %t, 20; setp.lt.u32 %p3, %t, 30; @%p2 setp.lt.u32 %p1, %t, 40; @%p3 mov.u32 %r2, 5; @%p1 mov.u32 %r2, 6;\n\
        add.u32 %r2, %r2, 1; setp.ge.u32 %p4, %t, 30; mov.u32 %r3, 4; @%p1 mov.u32 %r3, 5;\n@%p2 st.global.u32 [%at], %r2;\n@%p4 st.global.u32 [%at], %r2;";
    assert_eq!(lines(&found(both)), [(UNDEFINED, 13, Some(10))]);
    // A guard in the lower lanes adds to what was undefined in the upper ones.
    let upper = "setp.lt.u32 %p2, %t, 16; setp.ge.u32 %p3, %t, 16; @%p2 mov.u32 %r2, 4; @%p3 setp.lt.u32 %p1, %t, 0; @%p1 mov.u32 %r2, 6;\n\
        add.u32 %r3, %r2, 1;\n@%p3 st.global.u32 [%at], %r3;";
    assert_eq!(lines(&found(upper)), [(UNDEFINED, 12, Some(10))]);
    // What was undefined before stays so where nobody writes it.
    let before =
        "setp.lt.u32 %p2, %t, 20; @%p2 mov.u32 %r2, 5; add.u32 %r2, %r2, 1;\nst.global.u32 [%at], %r2;";
    assert_eq!(lines(&found(before)), [(UNDEFINED, 11, Some(10))]);
}
