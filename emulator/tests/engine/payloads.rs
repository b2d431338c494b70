//! Of two NaN operands: whose payload the result has. The answers are an H200's (driver 580), of which these are some.

use crate::support::*;

/// A kernel that loads `a`, `b` and `c` in some order, and stores the result of each instruction.
fn kernel(loads: &str, instructions: &[&str]) -> String {
    let mut text = String::from(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out, .param .f64 x, .param .f64 y)\n{\n\
         .reg .b64 %from, %to;\n.reg .f64 %a, %b, %c, %z, %x, %y, %r;\nld.param.u64 %from, [in];\nld.param.u64 %to, [out];\n",
    );
    for name in loads.chars() {
        let line = match name {
            'x' | 'y' => format!("ld.param.f64 %{name}, [{name}];\n"),
            _ => format!("ld.global.f64 %{name}, [%from+{}];\n", 8 * (name as u32 - 'a' as u32)),
        };
        text.push_str(&line);
    }
    for (index, instruction) in instructions.iter().enumerate() {
        text.push_str(&format!("{instruction};\nst.global.f64 [%to+{}], %r;\n", 8 * index));
    }
    text + "ret;\n}\n"
}

/// Signalling and quiet, of both signs; what an instruction gives is quiet.
const A: u64 = 0x7ff0_0000_0000_0003;
const B: u64 = 0xfff8_0000_0000_0002;
const C: u64 = 0xfff0_0000_0000_0004;
const QUIET: u64 = 1 << 51;

fn results(loads: &str, instructions: &[&str]) -> Vec<u64> {
    let device = Device::new(&kernel(loads, instructions));
    let (input, output) = (device.upload(&[A, B, C]), device.zeroed::<u64>(instructions.len()));
    device.launch("k", [1; 3], [1; 3], &Args::new().add(input).add(output).add(A).add(B));
    device.download(output, instructions.len())
}

#[test]
fn the_one_that_was_computed_last_wins_whatever_the_order_of_the_operands() {
    let instructions = [
        "add.f64 %r, %a, %b",
        "add.rn.f64 %r, %b, %a",
        "sub.f64 %r, %a, %b",
        "sub.rz.f64 %r, %b, %a",
        "mul.f64 %r, %a, %b",
        "mul.rp.f64 %r, %b, %a",
        "min.f64 %r, %a, %b",
        "max.f64 %r, %b, %a",
        "fma.rn.f64 %r, %a, %b, %c",
        "fma.rz.f64 %r, %b, %a, %c",
    ];
    assert_eq!(results("abc", &instructions), [B | QUIET; 10]);
    assert_eq!(results("bac", &instructions), [A | QUIET; 10]);
    // Division has its order from the text.
    assert_eq!(results("ba", &["div.rn.f64 %r, %a, %b", "div.rn.f64 %r, %b, %a"]), [A | QUIET, B | QUIET]);
}

#[test]
fn a_copy_is_as_old_as_its_value_and_a_result_is_new() {
    let copied = ["mov.f64 %z, %a;\nadd.f64 %r, %z, %b", "neg.f64 %z, %a;\nadd.f64 %r, %z, %b"];
    assert_eq!(results("ab", &copied), [B | QUIET; 2]);
    let chain =
        ["mul.f64 %z, %a, %b;\nadd.f64 %r, %c, %z", "add.f64 %r, %z, %c", "fma.rn.f64 %r, %c, %z, %a"];
    assert_eq!(results("abc", &chain), [B | QUIET; 3]);
}

/// As ptxas 13.0 orders them: it reads a parameter as the last operand, and of two the first one so.
#[test]
fn a_parameter_of_the_kernel_comes_last() {
    let one = ["add.f64 %r, %x, %b", "add.f64 %r, %b, %x"];
    assert_eq!(results("xb", &one), [A | QUIET; 2]);
    assert_eq!(results("bx", &one), [A | QUIET; 2]);
    assert_eq!(results("xy", &["mul.f64 %r, %x, %y", "mul.f64 %r, %y, %x"]), [A | QUIET, B | QUIET]);
}
