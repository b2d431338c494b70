//! Comparisons of packed halves: one predicate per half, of which the upper one may be left out.

use crate::support::{outputs, snippet};

/// 1, 2 and NaN.
const HALVES: [(&str, [u32; 3]); 2] =
    [("f16x2", [0x3c00, 0x4000, 0x7e00]), ("bf16x2", [0x3f80, 0x4000, 0x7fc0])];

/// Each comparison: whether it is true of 1 and 2, of 2 and 1, of equal numbers, and where there is a NaN.
const COMPARISONS: [(&str, [bool; 4]); 14] = [
    ("eq", [false, false, true, false]),
    ("ne", [true, true, false, false]),
    ("lt", [true, false, false, false]),
    ("le", [true, false, true, false]),
    ("gt", [false, true, false, false]),
    ("ge", [false, true, true, false]),
    ("equ", [false, false, true, true]),
    ("neu", [true, true, false, true]),
    ("ltu", [true, false, false, true]),
    ("leu", [true, false, true, true]),
    ("gtu", [false, true, false, true]),
    ("geu", [false, true, true, true]),
    ("num", [true, true, true, false]),
    ("nan", [false, false, false, true]),
];

/// Pairs of the numbers in [`HALVES`], in the order of the columns of [`COMPARISONS`].
const PAIRS: [[usize; 2]; 4] = [[0, 1], [1, 0], [1, 1], [0, 2]];

/// How a comparison meets a predicate.
type Boolean = (&'static str, fn(bool, bool) -> bool);

const BOOLEANS: [Boolean; 4] =
    [("", |a, _| a), (".and", |a, c| a & c), (".or", |a, c| a | c), (".xor", |a, c| a != c)];

#[test]
fn one_or_two_predicates_come_of_two_halves() {
    for (ty, halves) in HALVES {
        let (mut body, mut wanted) = (String::new(), Vec::new());
        for (comparison, results) in COMPARISONS {
            for (boolean, combine) in BOOLEANS {
                for (low, high, c) in (0..16).flat_map(|n| [(n % 4, n / 4, false), (n % 4, n / 4, true)]) {
                    let packed = |side: usize| halves[PAIRS[low][side]] | halves[PAIRS[high][side]] << 16;
                    let third = if boolean.is_empty() { "" } else { ", %p3" };
                    let (name, at) = (format!("setp.{comparison}{boolean}.{ty}"), 4 * wanted.len());
                    body += &format!(
                        "mov.b32 %r1, {}; mov.b32 %r2, {}; setp.ne.u32 %p3, {}, 0;\n\
                         {name} %p1, %r1, %r2{third}; {name} %p4|%p5, %r1, %r2{third}; {name} _|%p2, %r1, %r2{third};\n\
                         selp.u32 %r3, 1, 0, %p1; @%p2 or.b32 %r3, %r3, 2; @%p4 or.b32 %r3, %r3, 4;\n\
                         @%p5 or.b32 %r3, %r3, 8; st.global.b32 [%out+{at}], %r3;\n",
                        packed(0),
                        packed(1),
                        u32::from(c)
                    );
                    let both = [low, high].map(|pair| u32::from(combine(results[pair], c)));
                    wanted.push(both[0] * 5 + both[1] * 10);
                }
            }
        }
        assert_eq!(outputs::<u32>(&snippet(&body), 1, wanted.len()), wanted, "{ty}");
    }
}
