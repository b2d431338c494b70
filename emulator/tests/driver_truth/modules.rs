//! Loading PTX, JIT logs and options, libraries.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)]

use cuda_driver_sys::*;
use std::ffi::{CString, c_void};
use std::ptr::{null, null_mut};

use crate::support::*;
use crate::{Case, Row};

pub(crate) const CASES: &[(&str, Case)] = &[
    ("ptx_bad", ptx_bad),
    ("jit_log", jit_log),
    ("jit_logs", jit_logs),
    ("jit_options", jit_options),
    ("modules", modules),
    ("module_double_unload", module_double_unload),
    ("after_unload", after_unload),
    ("libraries", libraries),
];

/// A module of one kernel with that body.
fn module(version: &str, target: &str, body: &str) -> String {
    format!(".version {version}\n.target {target}\n.address_size 64\n.visible .entry a() {{ {body} }}\n")
}

fn code(cuda: &Driver, text: &str) -> CUresult {
    let text = CString::new(text).unwrap();
    unsafe { cuda.cuModuleLoadData(&mut null_mut(), text.as_ptr().cast()) }
}

fn ptx_bad(row: &mut Row) {
    let (cuda, _) = with_context();
    let good = module("8.0", "sm_90", "ret;");
    let extern_call = ".extern .func ext();\n";
    for (label, text) in [
        ("empty", String::new()),
        ("garbage", "this is no PTX".into()),
        ("hdr_only", ".version 8.0\n.target sm_90\n.address_size 64\n".into()),
        ("noversion", good.replace(".version 8.0\n", "")),
        ("ver99", module("9.9", "sm_90", "ret;")),
        ("ver92", module("9.2", "sm_90", "ret;")),
        ("sm999", module("8.0", "sm_999", "ret;")),
        ("sm_100", module("9.0", "sm_100", "ret;")),
        ("sm_90a", module("8.0", "sm_90a", "ret;")),
        ("sm_35", module("8.0", "sm_35", "ret;")),
        ("trunc", good.replace('}', "")),
        ("badop", module("8.0", "sm_90", "frobnicate; ret;")),
        ("addr32", good.replace("_size 64", "_size 32")),
        (
            "unresolved",
            good.replace(".visible", &format!("{extern_call}.visible")).replace("ret;", "call ext; ret;"),
        ),
        ("dup", format!("{good}.visible .entry a() {{ ret; }}\n")),
        ("static_smem_64k", module("8.0", "sm_90", ".shared .b8 x[65536]; ret;")),
    ] {
        row.code(label, code(&cuda, &text));
    }
    let module = load(&cuda, &good);
    unsafe {
        row.code("getfunc", cuda.cuModuleGetFunction(&mut null_mut(), module, c"nosuch".as_ptr()));
        row.code("getglobal", cuda.cuModuleGetGlobal(&mut 0, &mut 0, module, c"nosuch".as_ptr()));
        row.code("emptyname", cuda.cuModuleGetFunction(&mut null_mut(), module, c"".as_ptr()));
    }
}

fn jit_log(row: &mut Row) {
    let (cuda, _) = with_context();
    let text = module("8.0", "sm_90", "\nfrobnicate;\nret;");
    let text = CString::new(text).unwrap();
    let (code, error, _) = load_with_logs(&cuda, text.as_ptr().cast());
    row.code("code", code);
    row.text(format!("{error:?}"));
}

fn jit_logs(row: &mut Row) {
    let (cuda, _) = with_context();
    let good = module("8.0", "sm_90", "ret;");
    for (label, text) in [
        ("good", good.clone()),
        ("garbage", "hello world".into()),
        ("ver99", module("9.9", "sm_90", "ret;")),
        ("ver77sm90", module("7.7", "sm_90", "ret;")),
        ("sm100", module("9.0", "sm_100", "ret;")),
        ("sm999", module("8.0", "sm_999", "ret;")),
        (
            "unres_func",
            good.replace(".visible", ".extern .func ext();\n.visible").replace("ret;", "call ext; ret;"),
        ),
        ("dup", format!("{good}.visible .entry a() {{ ret; }}\n")),
        ("maxreq", good.replace("a()", "a() .maxntid 32,1,1 .reqntid 32,1,1")),
        ("bigparam", module("8.1", "sm_90", "ret;").replace("a()", "a(.param .align 4 .b8 p[32768])")),
        ("ws", format!("  \n\n{good}")),
        ("leadcomment", format!("// c\n/* d */{good}")),
        ("bom", format!("\u{feff}{good}")),
    ] {
        let text = CString::new(text).unwrap();
        let (code, error, info) = load_with_logs(&cuda, text.as_ptr().cast());
        row.value(label, code, format!("{error:?},{info:?}"));
    }
}

fn jit_options(row: &mut Row) {
    let (cuda, _) = with_context();
    let (good, bad) = (module("8.0", "sm_90", "ret;"), module("8.0", "sm_90", "frob; ret;"));
    let mut log = vec![0_u8; 300];
    let buffer: *mut c_void = log.as_mut_ptr().cast();
    let value = std::ptr::without_provenance_mut::<c_void>;
    let mut ask = |label: &str, text: &str, options: &[(u32, *mut c_void)], shown: Option<usize>| {
        let text = CString::new(text).unwrap();
        let (ids, mut values): (Vec<_>, Vec<_>) = options.iter().copied().unzip();
        let mut ids: Vec<_> = ids.into_iter().map(CUjit_option).collect();
        let code = unsafe {
            let image = text.as_ptr().cast();
            cuda.cuModuleLoadDataEx(
                &mut null_mut(),
                image,
                ids.len() as u32,
                ids.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        match shown {
            Some(index) => row.value(label, code, values[index].addr()),
            None => row.code(label, code),
        }
    };
    ask("log20", &bad, &[(5, buffer), (6, value(20))], Some(1));
    let cut = String::from_utf8_lossy(&log[..19]).into_owned();
    ask("log0", &bad, &[(5, buffer), (6, value(0))], Some(1));
    ask("nosize", &bad, &[(5, buffer)], None);
    ask("opt99", &good, &[(99, value(0))], None);
    ask("opt-1", &good, &[(u32::MAX, value(0))], None);
    ask("opt7:9", &good, &[(7, value(9))], None);
    ask("opt9:90", &good, &[(9, value(90))], None);
    ask("opt9:80", &good, &[(9, value(80))], None);
    ask("opt9:1", &good, &[(9, value(1))], None);
    ask("opt8", &good, &[(8, value(0))], None);
    ask("opt0:32", &good, &[(0, value(32))], Some(0));
    ask("opt14:9", &good, &[(14, value(9))], None);
    ask("opt35", &good, &[(35, value(1))], None);
    ask("opt34", &good, &[(34, value(1))], None);
    row.text(cut);
    let text = CString::new(good.as_str()).unwrap();
    let image = text.as_ptr().cast();
    let mut id = CUjit_option(7);
    row.code("NULLvals", unsafe { cuda.cuModuleLoadDataEx(&mut null_mut(), image, 1, &mut id, null_mut()) });
    row.code("NULLids", unsafe {
        cuda.cuModuleLoadDataEx(&mut null_mut(), image, 1, null_mut(), null_mut())
    });
}

fn modules(row: &mut Row) {
    let (cuda, _) = with_context();
    let module = load(&cuda, KERNELS);
    let nop = function(&cuda, module, "nop");
    let (mut pointer, mut address, mut bytes, mut count) = (null_mut(), 0, 0, 0);
    let mut global = |row: &mut Row, label: &str, name: &std::ffi::CStr| {
        let code = unsafe { cuda.cuModuleGetGlobal(&mut address, &mut bytes, module, name.as_ptr()) };
        row.value(label, code, bytes);
    };
    unsafe {
        row.code("loadNULL", cuda.cuModuleLoadData(&mut null_mut(), null()));
        row.code("file_missing", cuda.cuModuleLoad(&mut null_mut(), c"nosuchdir/x.ptx".as_ptr()));
        row.code("fileNULL", cuda.cuModuleLoad(&mut null_mut(), null()));
        row.code("fileempty", cuda.cuModuleLoad(&mut null_mut(), c"".as_ptr()));
        row.code("getfnNULL", cuda.cuModuleGetFunction(null_mut(), module, c"nop".as_ptr()));
        row.code("getfnNULLname", cuda.cuModuleGetFunction(&mut pointer, module, null()));
        row.code("getfnNULLmod", cuda.cuModuleGetFunction(&mut pointer, null_mut(), c"nop".as_ptr()));
        row.code("getfn_global", cuda.cuModuleGetFunction(&mut pointer, module, c"counter".as_ptr()));
        row.text(format!("same={}", function(&cuda, module, "nop") == nop));
        global(row, "global", c"counter");
        global(row, "const", c"table");
        row.code("globalNULLs", cuda.cuModuleGetGlobal(null_mut(), null_mut(), module, c"counter".as_ptr()));
        row.code("globalempty", cuda.cuModuleGetGlobal(&mut 0, null_mut(), module, c"".as_ptr()));
        row.code("global_kernel", cuda.cuModuleGetGlobal(&mut 0, null_mut(), module, c"nop".as_ptr()));
        row.code("count", cuda.cuModuleGetFunctionCount(&mut count, module));
        let mut functions = vec![null_mut(); 64];
        row.code("enum", cuda.cuModuleEnumerateFunctions(functions.as_mut_ptr(), 5, module));
        row.text(format!("({})", functions.iter().filter(|function| !function.is_null()).count()));
        row.code("enumNULL", cuda.cuModuleEnumerateFunctions(null_mut(), 5, module));
        let mut loaded = CUfunctionLoadingState(9);
        row.value("loaded_enum", cuda.cuFuncIsLoaded(&mut loaded, functions[3]), loaded.0);
        row.code("attr_unloaded0", cuda.cuFuncGetAttribute(&mut 0, CUfunction_attribute(0), functions[3]));
        row.code("attr_unloaded4", cuda.cuFuncGetAttribute(&mut 0, CUfunction_attribute(4), functions[3]));
        row.code("load", cuda.cuFuncLoad(functions[3]));
        row.value("loaded", cuda.cuFuncIsLoaded(&mut loaded, functions[3]), loaded.0);
        row.value("loaded_got", cuda.cuFuncIsLoaded(&mut loaded, nop), loaded.0);
        row.code("nameNULL", cuda.cuFuncGetName(null_mut(), nop));
        row.code("nameNULLf", cuda.cuFuncGetName(&mut null(), null_mut()));
        let mut of = null_mut();
        row.value("getmod", cuda.cuFuncGetModule(&mut of, nop), of == module);
    }
}

fn module_double_unload(row: &mut Row) {
    let (cuda, _) = with_context();
    let module = load(&cuda, KERNELS);
    row.code("1st", unsafe { cuda.cuModuleUnload(module) });
    row.code("2nd", unsafe { cuda.cuModuleUnload(module) });
}

fn after_unload(row: &mut Row) {
    let (cuda, _) = with_context();
    let module = load(&cuda, KERNELS);
    let nop = function(&cuda, module, "nop");
    ok(unsafe { cuda.cuModuleUnload(module) });
    unsafe {
        row.code("launch", launch(&cuda, nop, null_mut(), &mut []));
        row.code("getfn", cuda.cuModuleGetFunction(&mut null_mut(), module, c"nop".as_ptr()));
        row.code("getg", cuda.cuModuleGetGlobal(&mut 0, null_mut(), module, c"counter".as_ptr()));
        row.code("fattr", cuda.cuFuncGetAttribute(&mut 0, CUfunction_attribute(0), nop));
        row.code("pi", cuda.cuFuncGetParamInfo(nop, 0, &mut 0, null_mut()));
        row.code("fset", cuda.cuFuncSetAttribute(nop, CUfunction_attribute(9), 1));
        row.code("occ", cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut 0, nop, 32, 0));
    }
}

fn libraries(row: &mut Row) {
    let cuda = cuda();
    let (text, bad) =
        (CString::new(KERNELS).unwrap(), CString::new(module("8.0", "sm_90", "frob; ret;")).unwrap());
    let load = |library: *mut CUlibrary, image: *const c_void| unsafe {
        cuda.cuLibraryLoadData(library, image, null_mut(), null_mut(), 0, null_mut(), null_mut(), 0)
    };
    let (mut library, mut kernel, mut kernel_function, mut module, mut other) =
        (null_mut(), null_mut(), null_mut(), null_mut(), null_mut());
    row.code("noctx", load(&mut library, text.as_ptr().cast()));
    let (cuda, _) = with_context();
    unsafe {
        row.code("badop", load(&mut other, bad.as_ptr().cast()));
        row.code("getk_badop", cuda.cuLibraryGetKernel(&mut kernel, other, c"a".as_ptr()));
        row.code("NULL", load(&mut other, null()));
        row.code("getk", cuda.cuLibraryGetKernel(&mut kernel, library, c"store".as_ptr()));
        row.code("getk_missing", cuda.cuLibraryGetKernel(&mut null_mut(), library, c"nosuch".as_ptr()));
        row.code("getkNULL", cuda.cuLibraryGetKernel(null_mut(), library, c"store".as_ptr()));
        row.code("getkempty", cuda.cuLibraryGetKernel(&mut null_mut(), library, c"".as_ptr()));
        row.code("getf", cuda.cuKernelGetFunction(&mut kernel_function, kernel));
        row.code("getm", cuda.cuLibraryGetModule(&mut module, library));
        let mut of = null_mut();
        row.value("getlib", cuda.cuKernelGetLibrary(&mut of, kernel), of == library);
        let (mut offset, mut size) = (0, 0);
        row.value(
            "kpi",
            cuda.cuKernelGetParamInfo(kernel, 1, &mut offset, &mut size),
            format!("{offset},{size}"),
        );
        row.code("kpi2", cuda.cuKernelGetParamInfo(kernel, 2, &mut offset, &mut size));
        row.code("fpi_on_k", cuda.cuFuncGetParamInfo(kernel.cast(), 1, &mut offset, &mut size));
        let dynamic = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        let mut value = 0;
        row.code("kattrdev9", cuda.cuKernelGetAttribute(&mut value, dynamic, kernel, 9));
        row.code("kset8", cuda.cuKernelSetAttribute(dynamic, 100_000, kernel, 0));
        row.value("kattr8", cuda.cuKernelGetAttribute(&mut value, dynamic, kernel, 0), value);
        row.value("fattr8", cuda.cuFuncGetAttribute(&mut value, dynamic, kernel_function), value);
        row.code("fattr_on_k", cuda.cuFuncGetAttribute(&mut value, dynamic, kernel.cast()));
        let (mut memory, mut number) = (alloc(&cuda, 64), 3_u32);
        let mut arguments = [argument(&mut memory), argument(&mut number)];
        row.code("launch_k", launch(&cuda, kernel.cast(), null_mut(), &mut arguments));
        row.code("launch_f", launch(&cuda, kernel_function, null_mut(), &mut arguments));
        row.value(
            "occ_k",
            cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut value, kernel.cast(), 64, 0),
            value,
        );
        row.code("unload_libmod", cuda.cuModuleUnload(module));
        let mut again = null_mut();
        let code = cuda.cuModuleGetFunction(&mut again, module, c"store".as_ptr());
        row.value("getfn_libmod", code, again == kernel_function);
        row.code("unload", cuda.cuLibraryUnload(library));
        row.code("unloadNULL", cuda.cuLibraryUnload(null_mut()));
        row.code("launch_after", launch(&cuda, kernel_function, null_mut(), &mut arguments));
        row.code("sync", cuda.cuCtxSynchronize());
    }
}
