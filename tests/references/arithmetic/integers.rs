//! Integers of 32 bits.

use super::operands::integers;
use super::table::{Want, table};
use crate::references::Gpu;

const PTX: &str = include_str!("../../kernels/integers.ptx");
const COUNT: usize = 3000;

fn wants(values: &[u32]) -> Vec<Want> {
    values.iter().map(|&value| Want::exactly(value)).collect()
}

fn check(kernel: &str, names: &[&str], reference: impl Fn(u32, u32, u32) -> Vec<u32>) {
    let gpu = Gpu::new();
    table::<u32, u32>(&gpu, &gpu.module(PTX), kernel, names, &integers(32, COUNT), |x| {
        wants(&reference(x[0] as u32, x[1] as u32, x[2] as u32))
    });
}

fn signed(x: u32) -> i64 {
    i64::from(x as i32)
}

/// The lower 24 bits, with or without sign.
fn low24(x: u32) -> u64 {
    u64::from(x & 0xff_ffff)
}

fn low24_signed(x: u32) -> i64 {
    i64::from((x << 8) as i32 >> 8)
}

#[test]
fn arithmetic_u32() {
    let names = [
        "a+b",
        "a-b",
        "a*b",
        "a*b+c",
        "umulhi",
        "a/b",
        "a%b",
        "a/7",
        "a%1000",
        "min",
        "max",
        "-a",
        "usad",
        "uhadd",
        "urhadd",
        "umul24",
        "a<b",
        "a<=b",
        "a==b",
        "wide >> 16",
        "wide mad >> 20",
        "select",
    ];
    check("arithmetic_u32", &names, |a, b, c| {
        let (wide, c64) = (u64::from(a) * u64::from(b), u64::from(c));
        vec![
            a.wrapping_add(b),
            a.wrapping_sub(b),
            a.wrapping_mul(b),
            a.wrapping_mul(b).wrapping_add(c),
            (wide >> 32) as u32,
            a.checked_div(b).unwrap_or(0),
            a.checked_rem(b).unwrap_or(0),
            a / 7,
            a % 1000,
            a.min(b),
            a.max(b),
            a.wrapping_neg(),
            a.abs_diff(b).wrapping_add(c),
            ((u64::from(a) + u64::from(b)) / 2) as u32,
            (u64::from(a) + u64::from(b)).div_ceil(2) as u32,
            (low24(a) * low24(b)) as u32,
            (a < b).into(),
            (a <= b).into(),
            (a == b).into(),
            (wide >> 16) as u32,
            (wide.wrapping_add(c64) >> 20) as u32,
            if a > b { c } else { !c },
        ]
    });
}

#[test]
fn arithmetic_i32() {
    let names = [
        "a+b",
        "a*b+c",
        "mulhi",
        "a/b",
        "a%b",
        "a/7",
        "a/16",
        "a%8",
        "min",
        "max",
        "abs",
        "sad",
        "hadd",
        "rhadd",
        "mul24",
        "a<b",
        "wide >> 16",
    ];
    check("arithmetic_i32", &names, |a, b, c| {
        let (x, y) = (a as i32, b as i32);
        let sum = signed(a) + signed(b);
        vec![
            a.wrapping_add(b),
            a.wrapping_mul(b).wrapping_add(c),
            (signed(a) * signed(b) >> 32) as u32,
            x.checked_div(y).unwrap_or(0) as u32,
            x.checked_rem(y).unwrap_or(0) as u32,
            (x / 7) as u32,
            (x / 16) as u32,
            (x % 8) as u32,
            x.min(y) as u32,
            x.max(y) as u32,
            x.unsigned_abs(),
            x.abs_diff(y).wrapping_add(c),
            (sum >> 1) as u32,
            (sum + 1 >> 1) as u32,
            (low24_signed(a) * low24_signed(b)) as u32,
            (x < y).into(),
            (signed(a) * signed(b) >> 16) as u32,
        ]
    });
}

#[test]
fn carry_i32() {
    let names = ["add.sat", "sub.sat", "add.cc", "addc", "subc", "madc.hi"];
    check("carry_i32", &names, |a, b, c| {
        let (x, y) = (a as i32, b as i32);
        let (sum, carry) = a.overflowing_add(b);
        let (_, borrow) = a.overflowing_sub(b);
        vec![
            x.saturating_add(y) as u32,
            x.saturating_sub(y) as u32,
            sum,
            c.wrapping_add(carry.into()),
            c.wrapping_sub(borrow.into()),
            (u64::from(a) * u64::from(b) + u64::from(c) >> 32) as u32,
        ]
    });
}

/// Shifts of 32 and more give nothing, or copies of the sign.
fn shl(a: u32, n: u32) -> u32 {
    a.checked_shl(n).unwrap_or(0)
}

fn shr(a: u32, n: u32) -> u32 {
    a.checked_shr(n).unwrap_or(0)
}

fn sar(a: u32, n: u32) -> u32 {
    (a as i32 >> n.min(31)) as u32
}

/// `bfe`: `length` bits from `position` on; past the end zeros or the sign, and none is zero.
fn bfe(a: u32, position: u32, length: u32, sign_extended: bool) -> u32 {
    let (position, length) = (position & 0xff, length & 0xff);
    let sign_at = (position + length).saturating_sub(1).min(31);
    let sign = sign_extended && length > 0 && a >> sign_at & 1 == 1;
    (0..32).fold(0, |d, i| {
        let inside = i < length && position + i <= 31;
        let bit = if inside { a >> (position + i) & 1 == 1 } else { sign };
        d | u32::from(bit) << i
    })
}

/// `bfi`: the lower `length` bits of `a` in place of those of `b` from `position` on.
fn bfi(a: u32, b: u32, position: u32, length: u32) -> u32 {
    let (position, length) = (position & 0xff, length & 0xff);
    (0..length).take_while(|i| position + i <= 31).fold(b, |d, i| {
        let at = position + i;
        d & !(1 << at) | (a >> i & 1) << at
    })
}

/// Default `prmt`: four bytes picked of eight; bit 3 of a selector repeats the byte's sign instead.
fn prmt(a: u32, b: u32, selectors: u32) -> u32 {
    let bytes = [a.to_le_bytes(), b.to_le_bytes()].concat();
    u32::from_le_bytes(std::array::from_fn(|i| {
        let selector = selectors >> (4 * i);
        let byte = bytes[(selector & 7) as usize];
        match (selector & 8, byte & 0x80) {
            (0, _) => byte,
            (_, 0) => 0,
            _ => 0xff,
        }
    }))
}

#[test]
fn bits_u32() {
    let names = [
        "and",
        "or",
        "xor",
        "not",
        "choose",
        "majority",
        "<<",
        ">>",
        ">> signed",
        "shl",
        "shr.u32",
        "shr.s32",
        "funnel l",
        "funnel r",
        "funnel lc",
        "funnel rc",
        "popc",
        "clz",
        "ffs",
        "brev",
        "byte_perm",
        "field",
        "insert",
        "bfe.u32",
        "bfe.s32",
        "bfi",
    ];
    check("bits_u32", &names, |a, b, c| {
        let both = u64::from(b) << 32 | u64::from(a);
        vec![
            a & b,
            a | b,
            a ^ b,
            !a,
            a & b | !a & c,
            a & b ^ a & c ^ b & c,
            a << (b % 32),
            a >> (b % 32),
            sar(a, b % 32),
            shl(a, b),
            shr(a, b),
            sar(a, b),
            (both << (c % 32) >> 32) as u32,
            (both >> (c % 32)) as u32,
            (both << c.min(32) >> 32) as u32,
            (both >> c.min(32)) as u32,
            a.count_ones(),
            a.leading_zeros(),
            if a == 0 { 0 } else { a.trailing_zeros() + 1 },
            a.reverse_bits(),
            prmt(a, b, c & 0x7777),
            a >> 5 & 0x3ff,
            a & !0xff00 | (b & 0xff) << 8,
            bfe(a, b, c, false),
            bfe(a, b, c, true),
            bfi(a, b, c, c >> 8),
        ]
    });
}

/// The highest bit that is not the sign; all ones if there is none.
fn bfind(a: u32) -> u32 {
    if a == 0 { u32::MAX } else { 31 - a.leading_zeros() }
}

/// `b` ones from bit `a` on.
fn bmsk(a: u32, b: u32) -> u32 {
    let ones = if b >= 32 { u32::MAX } else { (1 << b) - 1 };
    shl(ones, a)
}

fn dot<T: Into<i64> + Copy>(a: [T; 4], b: [T; 4], c: u32) -> u32 {
    let products: i64 = a.iter().zip(b).map(|(&x, y)| x.into() * y.into()).sum();
    (products as u32).wrapping_add(c)
}

#[test]
fn special_u32() {
    let names = [
        "bfind.u32",
        "bfind.s32",
        "bfind.shiftamt",
        "bmsk.clamp",
        "bmsk.wrap",
        "szext",
        "lop3 0x96",
        "lop3 0xca",
        "prmt.f4e",
        "prmt.rc16",
        "dp4a.u32",
        "dp4a.s32",
        "slct",
        "set.lt",
        "vadd4",
        "vabsdiff4",
        "cnot",
    ];
    check("special_u32", &names, |a, b, c| {
        let highest = bfind(a);
        let (p, q) = (a.to_le_bytes(), b.to_le_bytes());
        let bytes = |f: fn(u8, u8) -> u8| u32::from_le_bytes(std::array::from_fn(|i| f(p[i], q[i])));
        let half = a >> (16 * (c & 1)) & 0xffff;
        vec![
            highest,
            bfind(if (a as i32) < 0 { !a } else { a }),
            if highest == u32::MAX { highest } else { 31 - highest },
            bmsk(a, b),
            bmsk(a % 32, b % 32),
            if b >= 32 {
                a
            } else if b == 0 {
                0
            } else {
                ((a << (32 - b)) as i32 >> (32 - b)) as u32
            },
            a ^ b ^ c,
            a & b | !a & c,
            ((u64::from(b) << 32 | u64::from(a)) >> (8 * (c & 3))) as u32,
            half << 16 | half,
            dot(p, q, c),
            dot(p.map(|x| x as i8), q.map(|x| x as i8), c),
            if (c as i32) >= 0 { a } else { b },
            if a < b { u32::MAX } else { 0 },
            bytes(u8::wrapping_add),
            bytes(u8::abs_diff),
            (a == 0).into(),
        ]
    });
}

/// PTX leaves division by zero open; what an H200 gives.
#[test]
fn divide_by_zero() {
    use cuda_launch::{LaunchConfig, cuda_launch};
    let gpu = Gpu::new();
    let module = gpu.module(PTX);
    let a = [0u32, 1, 2, 7, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];
    let n = a.len();
    let (input, mut out) = (gpu.put(&a), gpu.zeros::<u32>(n * 6));
    // SAFETY: 1, 2: the kernel takes inputs, a divisor, outputs and a count; it reads n inputs and writes 6 n results, which the
    // buffers have; 3, 4: `get` below waits before they end, and nothing else uses them; 5: it writes integers; 6: it ends.
    unsafe {
        cuda_launch! { kernel: divide_by_zero, module: module, stream: gpu.stream,
        config: LaunchConfig::for_num_elems(n as u32),
        args: [input.as_device_ptr(), 0u32, out.as_mut_device_ptr(), n as u32] }
    }
    .unwrap();
    let got = gpu.get(&out);
    for (i, a) in a.into_iter().enumerate() {
        let results: [u32; 6] = std::array::from_fn(|k| got[k * n + i]);
        // All ones, whatever is divided; the one signed quotient that overflows wraps.
        let ones = u32::MAX;
        assert_eq!(results, [ones, ones, ones, ones, 0x8000_0000, 0], "{a:#x} by zero");
    }
}
