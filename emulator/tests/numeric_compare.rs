//! Comparisons and selection (PTX ISA, "Comparison and Selection Instructions" and "Half Precision Comparison
//! Instructions").
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod numeric_support;

use cuda_emulator::numeric::compare::{self, *};
use numeric_support::{BF16, F16, F32, F64, Layout, Random, cases};
use std::cmp::Ordering;

const CASES: usize = cases(100_000);

/// The order of two floats from their bits alone; none for NaN.
fn order(layout: Layout, a: u64, b: u64) -> Option<Ordering> {
    let key = |a: u64| {
        let magnitude = (a & !layout.sign()) as i128;
        if a & layout.sign() == 0 { magnitude } else { -magnitude }
    };
    let number = !layout.is_nan(a) && !layout.is_nan(b);
    number.then(|| key(a).cmp(&key(b)))
}

/// The ISA's table: what each operator says for less, equal, greater and unordered.
const TABLE: [(&str, [bool; 4]); 14] = [
    ("eq", [false, true, false, false]),
    ("ne", [true, false, true, false]),
    ("lt", [true, false, false, false]),
    ("le", [true, true, false, false]),
    ("gt", [false, false, true, false]),
    ("ge", [false, true, true, false]),
    ("equ", [false, true, false, true]),
    ("neu", [true, false, true, true]),
    ("ltu", [true, false, false, true]),
    ("leu", [true, true, false, true]),
    ("gtu", [false, false, true, true]),
    ("geu", [false, true, true, true]),
    ("num", [true, true, true, false]),
    ("nan", [false, false, false, true]),
];

fn expected(order: Option<Ordering>) -> [bool; 14] {
    let column = match order {
        Some(Ordering::Less) => 0,
        Some(Ordering::Equal) => 1,
        Some(Ordering::Greater) => 2,
        None => 3,
    };
    TABLE.map(|(_, row)| row[column])
}

/// All fourteen operators of one instruction.
macro_rules! all {
    ($function:ident [$($flag:literal)?] $a:expr, $b:expr) => {
        [
            compare::$function::<Eq $(, $flag)?>($a, $b),
            compare::$function::<Ne $(, $flag)?>($a, $b),
            compare::$function::<Lt $(, $flag)?>($a, $b),
            compare::$function::<Le $(, $flag)?>($a, $b),
            compare::$function::<Gt $(, $flag)?>($a, $b),
            compare::$function::<Ge $(, $flag)?>($a, $b),
            compare::$function::<Equ $(, $flag)?>($a, $b),
            compare::$function::<Neu $(, $flag)?>($a, $b),
            compare::$function::<Ltu $(, $flag)?>($a, $b),
            compare::$function::<Leu $(, $flag)?>($a, $b),
            compare::$function::<Gtu $(, $flag)?>($a, $b),
            compare::$function::<Geu $(, $flag)?>($a, $b),
            compare::$function::<Num $(, $flag)?>($a, $b),
            compare::$function::<Nan $(, $flag)?>($a, $b),
        ]
    };
}

fn pairs(layout: Layout) -> impl Iterator<Item = (u64, u64)> {
    let specials = layout.specials();
    let all = specials.clone();
    let product = specials.into_iter().flat_map(move |a| all.clone().into_iter().map(move |b| (a, b)));
    let mut random = Random::new(21);
    product.chain(
        std::iter::repeat_with(move || {
            let a = layout.any(&mut random);
            (a, layout.near(a, &mut random))
        })
        .take(CASES),
    )
}

#[test]
fn float_comparisons_follow_the_table() {
    for (a, b) in pairs(F32) {
        assert_eq!(all!(f32[false] a as u32, b as u32), expected(order(F32, a, b)), "{a:x} {b:x}");
        let flushed = order(F32, F32.flush(a), F32.flush(b));
        assert_eq!(all!(f32[true] a as u32, b as u32), expected(flushed), "ftz {a:x} {b:x}");
    }
    for (a, b) in pairs(F64) {
        assert_eq!(all!(f64[] a, b), expected(order(F64, a, b)), "{a:x} {b:x}");
    }
    for (a, b) in pairs(F16) {
        assert_eq!(all!(f16[false] a as u16, b as u16), expected(order(F16, a, b)), "{a:x} {b:x}");
        let flushed = order(F16, F16.flush(a), F16.flush(b));
        assert_eq!(all!(f16[true] a as u16, b as u16), expected(flushed), "ftz {a:x} {b:x}");
    }
    for (a, b) in pairs(BF16) {
        assert_eq!(all!(bf16[] a as u16, b as u16), expected(order(BF16, a, b)), "{a:x} {b:x}");
    }
}

#[test]
fn integer_comparisons() {
    let mut random = Random::new(22);
    for _ in 0..CASES {
        let (a, b) = (random.integer(32) as u32, random.integer(32) as u32);
        let holds = [
            compare::int::<Eq, u32>(a, b),
            compare::int::<Ne, u32>(a, b),
            compare::int::<Lt, u32>(a, b),
            compare::int::<Le, i32>(a as i32, b as i32),
            compare::int::<Gt, i32>(a as i32, b as i32),
            compare::int::<Ge, u32>(a, b),
        ];
        assert_eq!(holds, [a == b, a != b, a < b, a as i32 <= b as i32, a as i32 > b as i32, a >= b]);
    }
}

#[test]
fn results_of_set_and_selections() {
    assert_eq!([set_u32(true), set_u32(false)], [u32::MAX, 0]);
    assert_eq!([set_u16(true), set_u16(false)], [u16::MAX, 0]);
    assert_eq!([set_f32(true), set_f32(false)], [1f32.to_bits(), 0]);
    assert_eq!([set_f16(true), set_f16(false)], [0x3c00, 0]);
    assert_eq!([set_bf16(true), set_bf16(false)], [0x3f80, 0]);
    assert_eq!([selp(1, 2, true), selp(1, 2, false)], [1, 2]);
    assert_eq!([0, 1, -1, i32::MIN].map(|c| slct_s32('a', 'b', c)), ['a', 'a', 'b', 'b']);
    // "negative zero equals zero"; "if operand c is NaN, ... operand b is selected".
    let cases = [0.0, -0.0, 1.0, -1.0, f32::NAN, -f32::from_bits(1), f32::NEG_INFINITY];
    assert_eq!(
        cases.map(|c| slct_f32::<_, false>('a', 'b', c.to_bits())),
        ['a', 'a', 'a', 'b', 'b', 'b', 'b']
    );
    assert_eq!(
        cases.map(|c| slct_f32::<_, true>('a', 'b', c.to_bits())),
        ['a', 'a', 'a', 'b', 'b', 'a', 'b']
    );
}
