//! Functions of LTO IR that only PTX calls: nvJitLink, which does not get the PTX, would take them for unused and remove them.
//!
//! It gets one input more, which has a variable with the address of each. What remains of such a function is internal to the
//! PTX that nvJitLink makes, so it is made visible there.
#![allow(unsafe_code)] // Calls of the program's own NVRTC.

use std::ffi::{CStr, CString};

use crate::real::Compiler;

/// What the emulator has itself, or refuses by name.
const OF_THE_DRIVER: [&str; 4] = ["vprintf", "malloc", "free", "__assertfail"];

/// The same of the device runtime: what names begin with.
pub(crate) const OF_THE_RUNTIME: [&str; 4] =
    ["cudaCG", "__cudaCDP2", "cudaGetParameterBuffer", "cudaLaunchDevice"];

/// The functions that some PTX declares and none defines, by name.
pub(crate) fn asked(pieces: &[Vec<u8>]) -> Vec<String> {
    let (mut declared, mut defined) = (Vec::new(), Vec::new());
    for piece in pieces {
        let text = String::from_utf8_lossy(piece);
        for line in text.lines().map(str::trim_start).filter(|line| !line.starts_with("//")) {
            let Some((before, after)) = line.split_once(".func") else { continue };
            // A declaration may be on more than one line: then its name is missed, and the emulator's linker says so.
            let Some(name) = name(after) else { continue };
            if before.contains(".extern") { declared.push(name) } else { defined.push(name) }
        }
    }
    let is_ours =
        |name: &String| OF_THE_DRIVER.iter().chain(&OF_THE_RUNTIME).any(|own| name.starts_with(own));
    declared.retain(|name| !defined.contains(name) && !is_ours(name));
    declared.sort_unstable();
    declared.dedup();
    declared
}

/// The name in `  (.param .b64 result) name(`, if it is one in C, too.
fn name(text: &str) -> Option<String> {
    let text = text.trim_start();
    let text = if text.starts_with('(') { text.split_once(')')?.1.trim_start() } else { text };
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    let (name, rest) = text.split_at_checked(end)?;
    let is_whole = rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n', '(', ';']);
    (is_whole && name.starts_with(|c: char| !c.is_ascii_digit())).then(|| name.to_owned())
}

/// Makes these functions visible.
pub(crate) fn exported(text: &[u8], names: &[String]) -> Vec<u8> {
    let mut made = Vec::with_capacity(text.len());
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let function = line.strip_prefix(b".func").map(String::from_utf8_lossy);
        if function.and_then(|function| name(&function)).is_some_and(|name| names.contains(&name)) {
            made.extend_from_slice(b".visible ");
        }
        made.extend_from_slice(line);
    }
    made
}

/// LTO IR that refers to these functions, for the architecture that the link is for; `None` where the program has no NVRTC that makes it.
pub(crate) fn keeper(names: &[String], arch: &CStr) -> Option<Vec<u8>> {
    let variable = |name: &String| {
        format!(
            "extern \"C\" __device__ void {name}(); extern \"C\" __device__ void (*__cuda_launch_keeps_{name})() = {name};\n"
        )
    };
    let source = CString::new(names.iter().map(variable).collect::<String>()).ok()?;
    Compiler::Nvrtc.is_found().then(|| lto_ir(&source, arch)).flatten()
}

/// What NVRTC makes of a text.
fn lto_ir(source: &CStr, arch: &CStr) -> Option<Vec<u8>> {
    // SAFETY: 1: all functions here take up to six numbers and pointers. 2: each call below says why its own keep the contract.
    let call = |name: &CStr, [a, b, c, d, e, f]: [usize; 6]| unsafe {
        (Compiler::Nvrtc.call(name, [a, b, c, d, e, f], 1) as u32 == 0).then_some(())
    };
    let mut program = 0_usize;
    let (text, name) = (source.as_ptr() as usize, c"keeps.cu".as_ptr() as usize);
    // A place for the handle; two texts with their NUL; no headers, whose lists may be null. All outlive the call.
    call(c"nvrtcCreateProgram", [&raw mut program as usize, text, name, 0, 0, 0])?;
    let options = [c"-dlto".as_ptr(), c"-rdc=true".as_ptr(), arch.as_ptr()];
    let mut size = 0_usize;
    // The program from above; as many options as are said, each with its NUL. Then a place for a size.
    let made = call(c"nvrtcCompileProgram", [program, options.len(), options.as_ptr() as usize, 0, 0, 0])
        .and_then(|()| call(c"nvrtcGetLTOIRSize", [program, &raw mut size as usize, 0, 0, 0, 0]));
    let code = made.and_then(|()| {
        let mut code = vec![0_u8; size];
        // The same program, and as many bytes as it has just asked for.
        call(c"nvrtcGetLTOIR", [program, code.as_mut_ptr() as usize, 0, 0, 0, 0]).map(|()| code)
    });
    // The place of the handle, which is not used again.
    call(c"nvrtcDestroyProgram", [&raw mut program as usize, 0, 0, 0, 0, 0])?;
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_that_are_declared_and_not_defined_are_asked_for() {
        let one = b".extern .func  (.param .b64 func_retval0) alloc\n(\n.param .b64 a\n)\n;\n.extern .func plain();\n.extern .func (.param .b32 r) vprintf(\n\
            // .extern .func said\n.visible .func own()\n{\n\tcall.uni (r), alloc, (a);\n}\n";
        let other = b"\t.extern .func own;\n.extern .func  _Z1fi(.param .b32 x);\n.extern .func odd$name;\n.extern .func plain();";
        let names = asked(&[one.to_vec(), other.to_vec()]);
        assert_eq!(names, ["_Z1fi", "alloc", "plain"]);
    }

    #[test]
    fn what_is_kept_is_visible() {
        let text = b".func  (.param .b64 func_retval0) alloc\n(\n)\n;\n.func  (.param .b64 func_retval0) alloc(\n.func alloc2()\n.visible .func alloc()\n.func plain()";
        let made = exported(text, &["alloc".into(), "plain".into()]);
        let expected = b".visible .func  (.param .b64 func_retval0) alloc\n(\n)\n;\n.visible .func  (.param .b64 func_retval0) alloc(\n.func alloc2()\n.visible .func alloc()\n.visible .func plain()";
        assert_eq!(String::from_utf8_lossy(&made), String::from_utf8_lossy(expected));
    }
}
