//! The linker's C functions: codes, logs, and what stays valid how long.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::*;
use std::ffi::{CString, c_void};
use std::ptr::{null, null_mut, without_provenance_mut};
use support::*;

const PTX: CUjitInputType = CUjitInputType::CU_JIT_INPUT_PTX;
const HEAD: &str = ".version 7.0\n.target sm_52\n.address_size 64\n";

fn create(cuda: &Driver) -> CUlinkState {
    let mut state = null_mut();
    ok(unsafe { cuda.cuLinkCreate(0, null_mut(), null_mut(), &mut state) });
    state
}

fn add(cuda: &Driver, state: CUlinkState, kind: CUjitInputType, data: &[u8]) -> CUresult {
    let data_ = data.as_ptr().cast_mut().cast();
    unsafe { cuda.cuLinkAddData(state, kind, data_, data.len(), c"it".as_ptr(), 0, null_mut(), null_mut()) }
}

fn complete(cuda: &Driver, state: CUlinkState) -> (CUresult, *mut c_void, usize) {
    let (mut image, mut size) = (null_mut(), 0);
    (unsafe { cuda.cuLinkComplete(state, &mut image, &mut size) }, image, size)
}

#[test]
fn a_link_is_an_image_until_it_is_destroyed() {
    let (cuda, _) = with_own_context();
    let state = create(&cuda);
    // With and without a NUL at its end.
    let callee = format!("{HEAD}.visible .func f() {{ ret; }}");
    let caller = format!("{HEAD}.extern .func f();\n.visible .entry k() {{ call f; ret; }}\0");
    ok(add(&cuda, state, PTX, callee.as_bytes()));
    ok(add(&cuda, state, PTX, caller.as_bytes()));
    let (code, image, size) = complete(&cuda, state);
    ok(code);
    assert!(!image.is_null() && size > callee.len() + caller.len() - 100);
    assert_eq!(complete(&cuda, state).1, image, "the same image again");
    let mut module = null_mut();
    ok(unsafe { cuda.cuModuleLoadData(&mut module, image) });
    assert!(!function(&cuda, module, "k").is_null());
    assert_eq!(add(&cuda, state, PTX, callee.as_bytes()), CUresult::CUDA_ERROR_INVALID_VALUE, "it is done");
    ok(unsafe { cuda.cuLinkDestroy(state) });
    assert_eq!(unsafe { cuda.cuLinkDestroy(state) }, CUresult::CUDA_ERROR_INVALID_HANDLE);
    assert_eq!(complete(&cuda, state).0, CUresult::CUDA_ERROR_INVALID_HANDLE);
    assert_eq!(add(&cuda, state, PTX, callee.as_bytes()), CUresult::CUDA_ERROR_INVALID_HANDLE);
}

/// Functions and variables may have the names of instructions, and each part may have some of its own.
#[test]
fn private_names_that_are_those_of_instructions() {
    let (cuda, _) = with_own_context();
    let add = |number: u32| {
        format!(
            ".func (.reg .u32 o) add(.reg .u32 i) {{ add.u32 o, i, {number}; ret; }}\n.global .u32 ret = {number};\n"
        )
    };
    let kernel = ".extern .func (.reg .u32 o) other(.reg .u32 i);\n.visible .entry k(.param .u64 p) {\n.reg .b64 a; .reg .u32 n, m;\n\
                  ld.param.u64 a, [p]; ld.global.u32 n, [ret]; call (n), add, (n); call (n), other, (n); st.global.u32 [a], n; ret; }";
    let other = ".visible .func (.reg .u32 o) other(.reg .u32 i) { .reg .u32 m; call (o), add, (i); ld.global.u32 m, [ret]; add.u32 o, o, m; ret; }";
    let parts = [format!("{HEAD}{}{kernel}", add(1)), format!("{HEAD}{}{other}", add(100))];
    let module = linked(&cuda, &parts.each_ref().map(|part| (PTX, part.as_bytes())));
    let (mut address, mut result) = (0_u64, 0_u32);
    ok(unsafe { cuda.cuMemAlloc(&mut address, 4) });
    let mut params = [(&raw mut address).cast::<c_void>()];
    let k = function(&cuda, module, "k");
    ok(unsafe { cuda.cuLaunchKernel(k, 1, 1, 1, 1, 1, 1, 0, null_mut(), params.as_mut_ptr(), null_mut()) });
    ok(unsafe { cuda.cuMemcpyDtoH((&raw mut result).cast(), address, 4) });
    assert_eq!(result, 1 + 1 + 100 + 100);
}

#[test]
fn inputs_that_are_none() {
    let (cuda, _) = with_own_context();
    let state = create(&cuda);
    let image = |name: &str| {
        std::fs::read(format!("{}/../tests/kernels/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
    };
    // What compilers put around a fatbin in a program: an address, which means nothing in an input with a length.
    let fatbin = image("vecadd.fatbin");
    let address = fatbin.as_ptr().expose_provenance() as u64;
    let wrapper = [0x1_4662_43b1_u64.to_le_bytes(), address.to_le_bytes(), [0; 8]].concat();
    for (kind, data, expected) in [
        (0, image("vecadd_sm90.cubin"), CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU),
        (1, b"hello".to_vec(), CUresult::CUDA_ERROR_INVALID_IMAGE),
        (1, HEAD.replace("7.0", "9.9").into_bytes(), CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION),
        (1, format!("{HEAD}.visible .entry k() {{ frob; }}").into_bytes(), CUresult::CUDA_ERROR_INVALID_PTX),
        (2, image("vecadd.fatbin"), CUresult::SUCCESS),
        (2, wrapper, CUresult::CUDA_ERROR_INVALID_IMAGE),
        (3, b"\x7fELF".to_vec(), CUresult::CUDA_ERROR_INVALID_IMAGE),
        (4, b"!<arch>\n".to_vec(), CUresult::CUDA_ERROR_INVALID_IMAGE),
        (
            4,
            archive("a.o", &[&fatbin_of(2, &image("vecadd_sm90.cubin"))]),
            CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU,
        ),
        (5, b"BC".to_vec(), CUresult::CUDA_ERROR_NOT_SUPPORTED),
        (6, b"x".to_vec(), CUresult::CUDA_ERROR_INVALID_VALUE),
    ] {
        assert_eq!(add(&cuda, state, CUjitInputType(kind), &data), expected, "kind {kind}");
    }
    unsafe {
        let add = |data: *mut c_void, size| {
            cuda.cuLinkAddData(state, PTX, data, size, null(), 0, null_mut(), null_mut())
        };
        assert_eq!(add(null_mut(), 5), CUresult::CUDA_ERROR_INVALID_VALUE);
        // No data has so many bytes.
        for size in [0, isize::MAX.unsigned_abs(), usize::MAX, usize::MAX / 2 + 1] {
            assert_eq!(add(c"x".as_ptr().cast_mut().cast(), size), CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let file = cuda.cuLinkAddFile(state, PTX, c"no/such/file".as_ptr(), 0, null_mut(), null_mut());
        assert_eq!(file, CUresult::CUDA_ERROR_FILE_NOT_FOUND);
        assert_eq!(
            cuda.cuLinkCreate(0, null_mut(), null_mut(), null_mut()),
            CUresult::CUDA_ERROR_INVALID_VALUE
        );
        assert_eq!(cuda.cuLinkComplete(state, null_mut(), &mut 0), CUresult::CUDA_ERROR_INVALID_VALUE);
        assert_eq!(complete(&cuda, create(&cuda)).0, CUresult::CUDA_ERROR_INVALID_VALUE, "nothing to link");
    }
}

/// The log of each step stands in the buffers that the link was made with.
#[test]
fn logs_are_written_as_long_as_the_link_lasts() {
    let (cuda, _) = with_own_context();
    let mut log = vec![0_u8; 400];
    let mut ids = [CUjit_option::CU_JIT_ERROR_LOG_BUFFER, CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), without_provenance_mut(log.len())];
    let mut state = null_mut();
    ok(unsafe { cuda.cuLinkCreate(2, ids.as_mut_ptr(), values.as_mut_ptr(), &mut state) });
    let text = |log: &[u8]| {
        String::from_utf8_lossy(log.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
    };
    let bad = format!("{HEAD}.visible .entry k() {{\nfrob;\n}}");
    assert_eq!(add(&cuda, state, PTX, bad.as_bytes()), CUresult::CUDA_ERROR_INVALID_PTX);
    assert!(
        text(&log).contains("line 5; error   : Not a name of any known instruction: 'frob'"),
        "{}",
        text(&log)
    );
    let definition = format!("{HEAD}.visible .global .u32 x;");
    ok(add(&cuda, state, PTX, definition.as_bytes()));
    assert_eq!((text(&log).as_str(), values[1].addr()), ("", 0));
    assert_eq!(add(&cuda, state, PTX, definition.as_bytes()), CUresult::CUDA_ERROR_INVALID_SOURCE);
    assert_eq!(text(&log), "error   : Multiple definition of 'x' in 'it', first defined in 'it'");
    assert_eq!(values[1].addr(), text(&log).len());
    assert_eq!(complete(&cuda, state).0, CUresult::CUDA_ERROR_INVALID_SOURCE);
    ok(unsafe { cuda.cuLinkDestroy(state) });
}

/// A link of these parts, each with a name, up to the first that is refused: what `cuLinkComplete` answers then, and the log of the refusal.
fn link_of(cuda: &Driver, parts: &[&str]) -> (CUresult, String) {
    let mut log = vec![0_u8; 1000];
    let mut ids = [CUjit_option::CU_JIT_ERROR_LOG_BUFFER, CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), without_provenance_mut(log.len())];
    let mut state = null_mut();
    ok(unsafe { cuda.cuLinkCreate(2, ids.as_mut_ptr(), values.as_mut_ptr(), &mut state) });
    let mut refused = CUresult::SUCCESS;
    for (part, name) in parts.iter().zip([c"a", c"b", c"c"]) {
        let text = format!("{HEAD}{part}");
        let data = text.as_ptr().cast_mut().cast();
        let added = unsafe {
            cuda.cuLinkAddData(state, PTX, data, text.len(), name.as_ptr(), 0, null_mut(), null_mut())
        };
        // Nothing can be added after that.
        assert!(refused == CUresult::SUCCESS || added == refused, "{part}");
        refused = added;
    }
    let code = complete(cuda, state).0;
    assert!(refused == CUresult::SUCCESS || code == refused, "{parts:?}");
    ok(unsafe { cuda.cuLinkDestroy(state) });
    let text = log.split(|byte| *byte == 0).next().unwrap_or_default();
    (code, String::from_utf8_lossy(text).into_owned())
}

fn caller(parameter: &str) -> String {
    format!(".extern .func f({parameter});\n.visible .entry k() {{ {{ {parameter}; call f, (x); }} ret; }}")
}

/// As an H200 with driver 580 answers.
#[test]
fn prototypes_have_to_match() {
    let (cuda, _) = with_own_context();
    for (declared, defined, is_taken) in [
        (".param .b32 x", ".param .b32 other", true),
        (".param .b32 x", ".param .u32 x", true),
        (".param .b64 x", ".param .s64 x", true),
        (".param .b16 x", ".param .f16 x", true),
        (".param .b8 x[1]", ".param .b8 x", true),
        (".param .align 4 .b8 x[8]", ".param .align 8 .b8 x[8]", true),
        (".param .b32 x", ".param .b64 x", false),
        (".param .b32 x", ".param .f32 x", false),
        (".param .u64 x", ".param .f64 x", false),
        (".param .b32 x", ".param .b32 x, .param .b32 y", false),
        (".param .align 8 .b8 x[8]", ".param .b64 x", false),
        (".param .align 8 .b8 x[8]", ".param .align 8 .b8 x[16]", false),
        (".param .align 4 .b32 x[2]", ".param .align 4 .b8 x[8]", false),
    ] {
        for linkage in [".visible", ".weak"] {
            let (user, definition) = (caller(declared), format!("{linkage} .func f({defined}) {{ ret; }}"));
            for parts in [[&user, &definition], [&definition, &user]] {
                let (code, log) = link_of(&cuda, &parts.map(String::as_str));
                let wanted = if is_taken { CUresult::SUCCESS } else { CUresult::CUDA_ERROR_INVALID_SOURCE };
                assert_eq!(code, wanted, "{declared}, {defined}: {log}");
            }
        }
    }
    let (user, with_a_result) =
        (caller(".param .b32 x"), ".visible .func (.param .b32 r) f(.param .b32 x) { ret; }");
    let (code, log) = link_of(&cuda, &[&user, with_a_result, ".visible .entry l() { ret; }"]);
    assert_eq!(code, CUresult::CUDA_ERROR_INVALID_SOURCE);
    let line = "error   : Prototype doesn't match for 'f' in 'b', first defined in 'b': (.b32) f(.b32) there, f(.b32) in 'a'";
    assert_eq!(log, line);
    // What is declared and not used is not compared, but what only has its address taken is.
    let unused = ".extern .func f(.param .b32 x);\n.visible .entry k() { ret; }";
    assert_eq!(link_of(&cuda, &[unused, with_a_result]).0, CUresult::SUCCESS);
    let address = unused.replace("ret;", ".reg .u64 a; mov.u64 a, f; ret;");
    assert_eq!(link_of(&cuda, &[&address, with_a_result]).0, CUresult::CUDA_ERROR_INVALID_SOURCE);
    // Nor is what a part keeps to itself.
    let own = ".func f(.param .b64 x) { ret; }\n.visible .entry l() { ret; }";
    assert_eq!(
        link_of(&cuda, &[own, &user, ".visible .func f(.param .b32 x) { ret; }"]).0,
        CUresult::SUCCESS
    );
}

/// Of a library, only what is linked is compared.
#[test]
fn prototypes_of_libraries_have_to_match() {
    let (cuda, _) = with_own_context();
    let wrong = fatbin_of(1, format!("{HEAD}.visible .func f(.param .b64 x) {{ ret; }}").as_bytes());
    let library = archive("f.o", &[&wrong]);
    let other = ".visible .entry k() { ret; }".to_owned();
    for (text, code) in
        [(other, CUresult::SUCCESS), (caller(".param .b32 x"), CUresult::CUDA_ERROR_INVALID_SOURCE)]
    {
        let state = create(&cuda);
        ok(add(&cuda, state, CUjitInputType::CU_JIT_INPUT_LIBRARY, &library));
        ok(add(&cuda, state, PTX, format!("{HEAD}{text}").as_bytes()));
        assert_eq!((complete(&cuda, state).0, complete(&cuda, state).0), (code, code), "{text}");
        ok(unsafe { cuda.cuLinkDestroy(state) });
    }
}

/// As an H200 with driver 580 answers.
#[test]
fn sizes_and_spaces_of_variables_have_to_match() {
    let (cuda, _) = with_own_context();
    for (first, second, refused) in [
        (".extern .global .f32 g;", ".visible .global .u32 g = 5;", ""),
        (".extern .global .align 4 .b8 g[];", ".visible .global .align 4 .b8 g[16];", ""),
        (".extern .global .align 4 .b8 g[4];", ".visible .global .u32 g = 5;", ""),
        (".extern .global .align 16 .b8 g[16];", ".visible .global .align 4 .b8 g[16];", ""),
        (".common .global .u32 g;", ".common .global .u64 g;", ""),
        (".extern .global .u64 g;", ".visible .global .u32 g = 5;", "Size"),
        (".visible .global .u32 g = 5;", ".extern .global .u64 g;", "Size"),
        (".extern .global .align 4 .b8 g[8];", ".visible .global .align 4 .b8 g[16];", "Size"),
        (".weak .global .u32 g;", ".weak .global .u64 g;", "Size"),
        (".weak .global .u32 g;", ".common .global .u64 g;", "Size"),
        (".extern .global .u64 g;", ".common .global .u32 g;", "Size"),
        (".extern .const .u64 g;", ".visible .const .u32 g = 5;", "Size"),
        (".extern .const .u32 g;", ".visible .global .u32 g = 5;", "Memory space"),
    ] {
        let (code, log) = link_of(&cuda, &[first, second]);
        let wanted = if refused.is_empty() { CUresult::SUCCESS } else { CUresult::CUDA_ERROR_INVALID_SOURCE };
        assert_eq!(code, wanted, "{first} {second} {log}");
        let begins = format!("error   : {refused} doesn't match for 'g' in 'b', first specified in 'a': ");
        assert!(refused.is_empty() || log.starts_with(&begins), "{log}");
    }
    let both = [".extern .global .u64 g;\n.extern .global .u64 h;", ".visible .global .u32 g, h;"];
    let log = link_of(&cuda, &both).1;
    assert_eq!(log.lines().count(), 2, "{log}");
    assert!(log.ends_with("for 'h' in 'b', first specified in 'a': 8 bytes there, 4 bytes in 'b'"), "{log}");
    // A length that one part gives, another one may not contradict.
    let open = ".extern .global .align 4 .b8 g[];";
    let code = link_of(&cuda, &[open, ".extern .global .align 4 .b8 g[8];", ".visible .global .u32 g;"]).0;
    assert_eq!(code, CUresult::CUDA_ERROR_INVALID_SOURCE);
}

/// The order of declarations and the parameters of calls are checked, whatever a comment says; not in what the linker wrote, wherever that was
/// kept meanwhile.
#[test]
fn only_the_linkers_output_may_be_in_another_order() {
    let (cuda, _) = with_own_context();
    let load = |image: &[u8]| {
        let mut module = null_mut();
        unsafe { cuda.cuModuleLoadData(&mut module, image.as_ptr().cast()) }
    };
    let body = ".visible .entry k() { call f; ret; }\n.visible .func f() { ret; }\n";
    for head in [".version 7.0 .target sm_52 .address_size 64 // linked\n", HEAD] {
        let text = format!("{head}{body}\0");
        assert_eq!(load(text.as_bytes()), CUresult::CUDA_ERROR_INVALID_PTX, "{head}");
    }
    let state = create(&cuda);
    ok(add(
        &cuda,
        state,
        PTX,
        format!("{HEAD}.extern .func f();\n.visible .entry k() {{ call f; ret; }}").as_bytes(),
    ));
    ok(add(&cuda, state, PTX, format!("{HEAD}.visible .func f() {{ ret; }}").as_bytes()));
    let (code, image, size) = complete(&cuda, state);
    ok(code);
    let mut kept = unsafe { std::slice::from_raw_parts(image.cast::<u8>(), size) }.to_vec();
    ok(unsafe { cuda.cuLinkDestroy(state) });
    ok(load(&kept));
    let text = String::from_utf8(kept.clone()).unwrap();
    assert!(text.find("call f").unwrap() < text.find(".func f").unwrap(), "{text}");
    // It is another text then.
    let end = kept.len() - 1;
    kept.splice(end..end, *b"\n");
    assert_eq!(load(&kept), CUresult::CUDA_ERROR_INVALID_PTX);
}

/// In the order of the linker of driver 580, and when the part is added that has the second definition.
#[test]
fn names_are_defined_once() {
    let (cuda, _) = with_own_context();
    let part = |text: &str| format!("{text}\n.visible .entry k() {{ ret; }}");
    let twice = |names: &[&str], part: &str| {
        let line =
            |name| format!("error   : Multiple definition of '{name}' in '{part}', first defined in 'a'");
        names.iter().map(line).collect::<Vec<_>>().join("\n")
    };
    let refused = CUresult::CUDA_ERROR_INVALID_SOURCE;
    let all = part(
        ".visible .const .u32 c; .visible .func f() { ret; }\n.visible .global .u32 x; .visible .func g() { ret; }",
    );
    assert_eq!(link_of(&cuda, &[&all, &all]), (refused, twice(&["k", "g", "f", "c", "x"], "b")));
    let [one, weak, common] =
        [".visible", ".weak", ".common"].map(|linkage| format!("{linkage} .global .u32 x;"));
    let lasting = [&[&one, &weak, &one][..], &[&weak, &one, &one], &[&common, &one, &one]];
    for parts in lasting {
        let texts: Vec<&str> = parts.iter().map(|text| text.as_str()).collect();
        assert_eq!(link_of(&cuda, &texts), (refused, twice(&["x"], "c")), "{texts:?}");
    }
    for parts in [[&one, &weak], [&weak, &one], [&common, &one], [&weak, &weak]] {
        assert_eq!(link_of(&cuda, &parts.map(String::as_str)).0, CUresult::SUCCESS, "{parts:?}");
    }
    let own = ".func f() { ret; }\n.visible .entry k() { call f; ret; }";
    assert_eq!(link_of(&cuda, &[own, ".visible .func f() { ret; }"]).0, CUresult::SUCCESS);
    let differs = [".visible .global .u32 x;", ".visible .global .u64 x;"];
    let lines: Vec<String> = link_of(&cuda, &differs).1.lines().map(str::to_owned).collect();
    assert!(
        matches!(&lines[..], [size, again] if size.contains("Size") && again.contains("Multiple")),
        "{lines:?}"
    );
}

/// A variable that the image only declares is the image's own, or lies where an option says; then it is not freed with
/// the module.
#[test]
fn variables_that_lie_elsewhere() {
    let (cuda, _) = with_own_context();
    let memory = alloc(&cuda, 64);
    write(&cuda, memory, &41_u32.to_ne_bytes());
    let text = format!(
        "{HEAD}.extern .global .u32 x;\n.visible .entry k() {{ .reg .b32 %r<2>; ld.global.u32 %r1, [x]; \
         add.u32 %r1, %r1, 1; st.global.u32 [x], %r1; ret; }}"
    );
    let text = CString::new(text).unwrap();
    let image = text.as_ptr().cast();
    let (mut own, mut found, mut bytes) = (null_mut(), 0, 0);
    ok(unsafe { cuda.cuModuleLoadData(&mut own, image) });
    ok(unsafe { cuda.cuModuleGetGlobal(&mut found, &mut bytes, own, c"x".as_ptr()) });
    assert_eq!((bytes, read(&cuda, found, 4)), (4, vec![0; 4]));
    ok(unsafe { cuda.cuModuleUnload(own) });
    let (name, mut address) = (c"x".as_ptr(), memory);
    let mut at = without_provenance_mut::<c_void>(std::mem::take(&mut address) as usize);
    let mut ids = [17, 18, 19].map(CUjit_option);
    let mut values: [*mut c_void; 3] =
        [(&raw const name).cast_mut().cast(), (&raw mut at).cast(), without_provenance_mut(1)];
    let mut module = null_mut();
    ok(unsafe { cuda.cuModuleLoadDataEx(&mut module, image, 3, ids.as_mut_ptr(), values.as_mut_ptr()) });
    ok(launch(&cuda, function(&cuda, module, "k"), null_mut(), &mut []));
    ok(unsafe { cuda.cuCtxSynchronize() });
    ok(unsafe { cuda.cuModuleGetGlobal(&mut found, &mut bytes, module, c"x".as_ptr()) });
    assert_eq!((found, bytes), (memory, 4));
    ok(unsafe { cuda.cuModuleUnload(module) });
    assert_eq!(read(&cuda, memory, 4), 42_u32.to_ne_bytes());
    ok(unsafe { cuda.cuMemFree(memory) });
}

/// A fatbin with one entry that is not compressed.
fn fatbin_of(kind: u8, content: &[u8]) -> Vec<u8> {
    let mut entry = vec![0; 64];
    entry[..8].copy_from_slice(&[kind, 0, 1, 1, 64, 0, 0, 0]);
    entry[8..16].copy_from_slice(&(content.len() as u64).to_le_bytes());
    entry[28] = 70;
    entry.extend(content);
    [&[0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0], &(entry.len() as u64).to_le_bytes()[..], &entry].concat()
}

/// An archive with a member of that name, in which fatbins are, as in an object, between other things.
fn archive(member: &str, fatbins: &[&[u8]]) -> Vec<u8> {
    let mut object = b"\x7fELF and sections".to_vec();
    for fatbin in fatbins {
        object.extend(*fatbin);
        object.extend(b"..more");
    }
    let name = format!("{member}/");
    let header = format!("{name:16}{:12}{:6}{:6}{:8}{:<10}`\n", 0, 0, 0, 644, object.len());
    [b"!<arch>\n", header.as_bytes(), &object].concat()
}

fn linked(cuda: &Driver, parts: &[(CUjitInputType, &[u8])]) -> CUmodule {
    let (state, mut module) = (create(cuda), null_mut());
    parts.iter().for_each(|(kind, data)| ok(add(cuda, state, *kind, data)));
    let (code, image, _) = complete(cuda, state);
    ok(code);
    ok(unsafe { cuda.cuModuleLoadData(&mut module, image) });
    ok(unsafe { cuda.cuLinkDestroy(state) });
    module
}

/// Of a library comes what is called, and what that calls; an object comes whole.
#[test]
fn objects_and_libraries_are_linked() {
    let (cuda, _) = with_own_context();
    let (object, library) = (CUjitInputType::CU_JIT_INPUT_OBJECT, CUjitInputType::CU_JIT_INPUT_LIBRARY);
    let function = |name: &str, calls: &str, plus: u32| {
        let call = if calls.is_empty() { String::new() } else { format!("call (%r), {calls}, (%r);") };
        let declared = if calls.is_empty() {
            String::new()
        } else {
            format!(".extern .func (.reg .b32 o) {calls}(.reg .b32 i);")
        };
        let text = format!(
            "{HEAD}{declared}\n.visible .func (.reg .b32 o) {name}(.reg .b32 i) {{\n\
             .reg .b32 %r; add.u32 %r, i, {plus}; {call} mov.u32 o, %r; ret; }}\n\0"
        );
        fatbin_of(1, text.as_bytes())
    };
    let (first, second) = (function("first", "second", 1), function("second", "", 10));
    // Nobody calls it, so that nobody misses what it calls.
    let (unused, kept) = (function("unused", "nowhere", 0), function("kept", "", 0));
    let archive = archive("a.o", &[&unused, &second, &first]);
    let main = format!(
        "{HEAD}.extern .func (.reg .b32 o) first(.reg .b32 i);\n.visible .entry k(.param .u64 p) {{\n\
         .reg .b32 %r; .reg .b64 %a; ld.param.u64 %a, [p]; mov.u32 %r, 100; call (%r), first, (%r);\n\
         st.global.u32 [%a], %r; ret; }}"
    );
    let module = linked(&cuda, &[(library, &archive), (PTX, main.as_bytes()), (object, &kept)]);
    let (k, mut target) = (support::function(&cuda, module, "k"), alloc(&cuda, 4));
    ok(launch(&cuda, k, null_mut(), &mut [argument(&mut target)]));
    assert_eq!(read(&cuda, target, 4), 111_u32.to_ne_bytes());

    // What is missing is missed by those that kernels reach, of an object, too.
    let main = format!(
        "{HEAD}.extern .func (.reg .b32 o) unused(.reg .b32 i);\n.visible .entry k() {{\n\
         .reg .b32 %r; mov.u32 %r, 100; call (%r), unused, (%r); ret; }}"
    );
    for (calls, expected) in [(false, CUresult::SUCCESS), (true, CUresult::CUDA_ERROR_UNKNOWN)] {
        let state = create(&cuda);
        ok(add(&cuda, state, object, &archive));
        if calls {
            ok(add(&cuda, state, PTX, main.as_bytes()));
        }
        assert_eq!(complete(&cuda, state).0, expected);
    }
}

/// As the linker of driver 580 says it: all that is missing of what kernels reach, and nothing else (an H200, 2026-11-29).
#[test]
fn all_that_is_missing_is_told() {
    let (cuda, _) = with_own_context();
    let declared: String =
        ["zeta", "alpha", "mid", "beta"].map(|name| format!(".extern .func {name}();\n")).concat();
    let log_of = |texts: &[&str]| {
        let mut log = vec![0_u8; 2000];
        let mut ids =
            [CUjit_option::CU_JIT_ERROR_LOG_BUFFER, CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), without_provenance_mut(log.len())];
        let mut state = null_mut();
        ok(unsafe { cuda.cuLinkCreate(2, ids.as_mut_ptr(), values.as_mut_ptr(), &mut state) });
        for (text, name) in texts.iter().zip([c"a.ptx", c"b.ptx"]) {
            let text = format!("{HEAD}{declared}{text}");
            let data = text.as_ptr().cast_mut().cast();
            let (none, no_values) = (null_mut(), null_mut());
            ok(unsafe {
                cuda.cuLinkAddData(state, PTX, data, text.len(), name.as_ptr(), 0, none, no_values)
            });
        }
        let code = complete(&cuda, state).0;
        ok(unsafe { cuda.cuLinkDestroy(state) });
        let log = log.split(|byte| *byte == 0).next().unwrap_or_default();
        (code == CUresult::SUCCESS, String::from_utf8_lossy(log).into_owned())
    };
    let undefined = |names: &[(&str, &str)]| {
        let line =
            |(name, part): &(&str, &str)| format!("error   : Undefined reference to '{name}' in '{part}'");
        (false, names.iter().map(line).collect::<Vec<_>>().join("\n"))
    };
    let a = "a.ptx";
    // As they are declared, not as they are called.
    let all = ".visible .entry k() { call mid; call alpha; call zeta; call beta; call alpha; ret; }";
    assert_eq!(log_of(&[all]), undefined(&[("zeta", a), ("alpha", a), ("mid", a), ("beta", a)]));
    assert!(log_of(&[".visible .entry k() { ret; }"]).0, "declared, and not called");
    let beside = ".visible .func f() { call mid; ret; }\n.visible .entry k() { call alpha; ret; }";
    assert_eq!(log_of(&[beside]), undefined(&[("alpha", a)]));
    assert!(log_of(&[".func f() { call mid; ret; }\n.visible .entry k() { ret; }"]).0, "no kernel calls it");
    let through = ".func f() { call mid; ret; }\n.visible .entry k() { call f; ret; }";
    assert_eq!(log_of(&[through]), undefined(&[("mid", a)]));
    let table = ".func f() { call mid; ret; }\n.visible .global .u64 t = f;\n.visible .entry k() { ret; }";
    assert_eq!(log_of(&[table]), undefined(&[("mid", a)]), "it may be called by its address");
    let address = ".visible .entry k() { .reg .b64 %r; mov.u64 %r, mid; ret; }";
    assert_eq!(log_of(&[address]), undefined(&[("mid", a)]));
    // Each once, where it was first missed.
    let [one, other] = [("k", "mid"), ("l", "zeta")]
        .map(|(kernel, name)| format!(".visible .entry {kernel}() {{ call {name}; call beta; ret; }}"));
    let expected = undefined(&[("mid", a), ("beta", a), ("zeta", "b.ptx")]);
    assert_eq!(log_of(&[&one, &other]), expected);
    // Functions before variables.
    let variables = ".extern .global .u32 x;\n.extern .global .u32 y;\n.visible .entry k() {\n\
        .reg .u32 %r; ld.global.u32 %r, [y]; st.global.u32 [x], %r; call mid; ret; }";
    assert_eq!(log_of(&[variables]), undefined(&[("mid", a), ("x", a), ("y", a)]));
}

/// What numba links for `grid.sync()`: the library has machine code only, and the emulator has its functions.
#[test]
fn a_grid_waits_for_itself_through_the_device_runtime() {
    let (cuda, _) = with_own_context();
    let library = archive("cuda_device_runtime.o", &[&fatbin_of(2, b"\x7fELF")]);
    let main = ".version 7.0\n.target sm_70\n.address_size 64\n\
        .extern .func (.param .b64 r) cudaCGGetIntrinsicHandle(.param .b32 a);\n\
        .extern .func (.param .b32 r) cudaCGSynchronize(.param .b64 a, .param .b32 b);\n\
        .visible .entry turns(.param .u64 p, .param .u64 codes, .param .u32 count) {\n\
        .reg .pred %p; .reg .b32 %b, %n, %o, %v, %c, %t; .reg .b64 %a, %h, %i, %j, %k;\n\
        ld.param.u64 %a, [p]; ld.param.u64 %k, [codes]; ld.param.u32 %c, [count];\n\
        { .param .b32 s; .param .b64 h; st.param.b32 [s], 1;\n\
        call.uni (h), cudaCGGetIntrinsicHandle, (s); ld.param.b64 %h, [h]; }\n\
        mov.u32 %b, %ctaid.x; mov.u32 %n, %nctaid.x; mov.u32 %t, %tid.x;\n\
        add.u32 %o, %b, 1; rem.u32 %o, %o, %n; mul.wide.u32 %i, %b, 4; mul.wide.u32 %j, %o, 4;\n\
        add.u64 %i, %a, %i; add.u64 %j, %a, %j;\n\
        again:\n\
        { .param .b64 h; .param .b32 f; .param .b32 r; st.param.b64 [h], %h; st.param.b32 [f], 0;\n\
        call.uni (r), cudaCGSynchronize, (h, f); ld.param.b32 %o, [r]; }\n\
        setp.ne.u32 %p, %t, 0; @%p bra read; st.global.u32 [%k], %o;\n\
        read: ld.volatile.global.u32 %v, [%j]; add.u32 %v, %v, 1;\n\
        { .param .b64 h; .param .b32 f; .param .b32 r; st.param.b64 [h], %h; st.param.b32 [f], 0;\n\
        call.uni (r), cudaCGSynchronize, (h, f); }\n\
        @%p bra next; st.volatile.global.u32 [%i], %v;\n\
        next: sub.u32 %c, %c, 1; setp.ne.u32 %p, %c, 0; @%p bra again; ret; }";
    let module = linked(&cuda, &[(PTX, main.as_bytes()), (CUjitInputType::CU_JIT_INPUT_LIBRARY, &library)]);
    let turns = support::function(&cuda, module, "turns");
    let (mut target, mut codes, mut count) = (alloc(&cuda, 64), alloc(&cuda, 4), 20_u32);
    // Each block takes its neighbour's number and adds one, 20 times: without waiting they would overtake each other.
    let numbers: Vec<u8> = (0..16_u32).flat_map(|block| (1000 * block).to_ne_bytes()).collect();
    write(&cuda, target, &numbers);
    let mut arguments = [argument(&mut target), argument(&mut codes), argument(&mut count)];
    let arguments = arguments.as_mut_ptr();
    let code = unsafe { cuda.cuLaunchCooperativeKernel(turns, 16, 1, 1, 64, 1, 1, 0, null_mut(), arguments) };
    ok(code);
    let expected: Vec<u8> =
        (0..16_u32).flat_map(|block| (1000 * ((block + 20) % 16) + 20).to_ne_bytes()).collect();
    assert_eq!(read(&cuda, target, 64), expected);
    assert_eq!(read(&cuda, codes, 4), [0; 4]);
    // A launch that is not cooperative is told so.
    let mut once = 1_u32;
    let mut arguments = [argument(&mut target), argument(&mut codes), argument(&mut once)];
    let arguments = arguments.as_mut_ptr();
    ok(launch_as(&cuda, turns, [2, 1, 1], [64, 1, 1], 0, null_mut(), arguments, null_mut()));
    assert_eq!(read(&cuda, codes, 4), 999_u32.to_ne_bytes());
}
