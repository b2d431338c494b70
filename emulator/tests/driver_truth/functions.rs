//! Parameters, attributes, occupancy.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)]

use cuda_driver_sys::*;
use std::ptr::null_mut;

use crate::support::*;
use crate::{Case, Row};

pub(crate) const CASES: &[(&str, Case)] = &[
    ("args_info", args_info),
    ("function_attributes", function_attributes),
    ("function_set", function_set),
    ("occupancy", occupancy),
];

fn args_info(row: &mut Row) {
    let (cuda, _) = with_context();
    let module = load(&cuda, KERNELS);
    for (label, name) in [("nop", "nop"), ("p2", "store"), ("p3", "short_tail"), ("al", "mixed")] {
        let kernel = function(&cuda, module, name);
        let mut found = String::new();
        for index in 0.. {
            let (mut offset, mut size) = (0, 0);
            match unsafe { cuda.cuFuncGetParamInfo(kernel, index, &mut offset, &mut size) } {
                CUresult::SUCCESS => found += &format!("{offset}+{size},"),
                code => {
                    found += &format!("{}", code.0);
                    break;
                }
            }
        }
        row.text(format!("{label}:{found}"));
    }
    row.text(format!("cuFuncGetParamCount={}", cuda.has("cuFuncGetParamCount")));
}

fn function_attributes(row: &mut Row) {
    let (cuda, _) = with_context();
    let module = load(&cuda, KERNELS);
    for (label, name) in [
        ("nop", "nop"),
        ("stat", "shared"),
        ("mx", "bounded"),
        ("mx2", "bounded2"),
        ("rq", "required"),
        ("cl", "pair"),
        ("clx", "any_cluster"),
        ("clm", "small_cluster"),
        ("bac", "blocks"),
    ] {
        let kernel = function(&cuda, module, name);
        let all: Vec<String> = (0..19)
            // The number of registers is the compiler's business.
            .filter(|attribute| *attribute != 4)
            .map(|attribute| {
                let mut value = -77;
                match unsafe { cuda.cuFuncGetAttribute(&mut value, CUfunction_attribute(attribute), kernel) }
                {
                    CUresult::SUCCESS => value.to_string(),
                    code => format!("E{}", code.0),
                }
            })
            .collect();
        row.text(format!("{label}:{}", all.join(",")));
    }
}

fn function_set(row: &mut Row) {
    let (cuda, _) = with_context();
    let module = load(&cuda, KERNELS);
    let shared = function(&cuda, module, "shared");
    let set = |kernel, attribute, value| unsafe {
        cuda.cuFuncSetAttribute(kernel, CUfunction_attribute(attribute), value)
    };
    let get = |kernel, attribute| {
        let mut value = -77;
        let _ = unsafe { cuda.cuFuncGetAttribute(&mut value, CUfunction_attribute(attribute), kernel) };
        value
    };
    row.code("attr-1", unsafe { cuda.cuFuncGetAttribute(&mut 0, CUfunction_attribute(u32::MAX), shared) });
    row.code("NULL", unsafe { cuda.cuFuncGetAttribute(null_mut(), CUfunction_attribute(0), shared) });
    row.code("NULLf", unsafe { cuda.cuFuncGetAttribute(&mut 0, CUfunction_attribute(0), null_mut()) });
    for attribute in 0..19 {
        row.code(&format!("set{attribute}:1"), set(shared, attribute, 1));
    }
    for (attribute, value) in [
        (8, -1),
        (8, 0),
        (8, 231_424),
        (9, -1),
        (9, 0),
        (9, 100),
        (9, 101),
        (9, -2),
        (14, 0),
        (14, 1),
        (14, 2),
        (15, 0),
        (15, 1),
        (15, 2),
        (15, 3),
        (11, 2),
        (11, -1),
        (12, 2),
        (13, 2),
        (11, 0),
    ] {
        let code = set(shared, attribute, value);
        row.value(&format!("set{attribute}:{value}"), code, get(shared, attribute));
    }
    let pair = function(&cuda, module, "pair");
    for (attribute, value) in [(11, 2), (11, 4), (12, 1), (14, 1)] {
        row.code(&format!("cl_set{attribute}:{value}"), set(pair, attribute, value));
    }
    let nop = function(&cuda, module, "nop");
    for (attribute, value) in [(11, 2), (12, 1), (13, 1)] {
        row.code(&format!("nop_set{attribute}:{value}"), set(nop, attribute, value));
    }
    let grid = |x| launch_as(&cuda, nop, [x, 1, 1], [1; 3], 0, null_mut(), null_mut(), null_mut());
    row.code("nop_launch3", grid(3));
    row.code("nop_launch4", grid(4));
    for config in [0, 1, 2, 3, 9] {
        row.code(&format!("cache{config}"), unsafe {
            cuda.cuFuncSetCacheConfig(shared, CUfunc_cache(config))
        });
    }
    row.code("sync", unsafe { cuda.cuCtxSynchronize() });
}

fn occupancy(row: &mut Row) {
    let (cuda, _) = with_context();
    let module = load(&cuda, KERNELS);
    let names = [
        ("nop", "nop"),
        ("stat", "shared"),
        ("mx", "bounded"),
        ("rq", "required"),
        ("two", "store"),
        ("cl", "pair"),
    ];
    let find = |label: &str| {
        let (_, name) = names.iter().find(|(known, _)| *known == label).unwrap();
        function(&cuda, module, name)
    };
    let mut last = 0;
    let mut blocks = |row: &mut Row, label: &str, threads: i32, shared: usize, flags: u32| {
        let code = unsafe {
            cuda.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
                &mut last,
                find(label),
                threads,
                shared,
                flags,
            )
        };
        row.value(&format!("{label}/{threads}/{shared}/{flags}"), code, last);
    };
    for threads in [0, -1, 1, 31, 32, 33, 64, 96, 128, 256, 300, 512, 768, 1024, 1025, 2048] {
        blocks(row, "nop", threads, 0, 0);
    }
    for shared in [1, 1024, 8192, 49_152, 49_153, 100_000, 232_448, 233_472] {
        blocks(row, "nop", 64, shared, 0);
    }
    for (label, threads, shared) in [
        ("stat", 64, 48_128),
        ("stat", 64, 48_129),
        ("stat", 64, 0),
        ("mx", 256, 0),
        ("mx", 257, 0),
        ("rq", 64, 0),
        ("rq", 128, 0),
    ] {
        blocks(row, label, threads, shared, 0);
    }
    blocks(row, "nop", 64, 0, 1);
    blocks(row, "nop", 64, 0, 2);
    let most = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    ok(unsafe { cuda.cuFuncSetAttribute(find("nop"), most, 232_448) });
    for shared in [49_153, 65_536, 100_000, 115_712, 115_713, 116_736, 232_448, 232_449] {
        blocks(row, "nop", 64, shared, 0);
    }
    potential(row, &cuda, &find);
    available(row, &cuda, &find);
    clusters(row, &cuda, &find);
}

fn potential(row: &mut Row, cuda: &Driver, find: &dyn Fn(&str) -> CUfunction) {
    let (mut grid, mut block) = (0, 0);
    for (label, shared, limit) in [
        ("two", 0, 0),
        ("stat", 0, 0),
        ("mx", 0, 0),
        ("rq", 0, 0),
        ("two", 10_000, 0),
        ("two", 60_000, 0),
        ("two", 0, 100),
        ("two", 0, -1),
        ("two", 0, 5000),
        ("two", 49_152, 0),
    ] {
        let code = unsafe {
            cuda.cuOccupancyMaxPotentialBlockSize(&mut grid, &mut block, find(label), None, shared, limit)
        };
        row.value(&format!("pot_{label}_{shared}_{limit}"), code, format!("{grid},{block}"));
    }
    unsafe extern "C" fn shared(threads: i32) -> usize {
        threads as usize * 96
    }
    let code = unsafe {
        cuda.cuOccupancyMaxPotentialBlockSize(&mut grid, &mut block, find("two"), Some(shared), 0, 0)
    };
    row.value("pot_cb", code, format!("{grid},{block}"));
}

fn available(row: &mut Row, cuda: &Driver, find: &dyn Fn(&str) -> CUfunction) {
    let mut bytes = 0;
    for (blocks, threads) in [
        (1, 32),
        (2, 32),
        (4, 256),
        (8, 256),
        (16, 64),
        (32, 32),
        (33, 32),
        (0, 32),
        (1, 0),
        (2, 1024),
        (3, 1024),
        (1, 1025),
        (3, 64),
        (5, 64),
        (7, 128),
    ] {
        for (label, name) in [("avail", "two"), ("availstat", "stat")] {
            let code = unsafe {
                cuda.cuOccupancyAvailableDynamicSMemPerBlock(&mut bytes, find(name), blocks, threads)
            };
            row.value(&format!("{label}_{blocks}_{threads}"), code, bytes);
        }
    }
}

fn clusters(row: &mut Row, cuda: &Driver, find: &dyn Fn(&str) -> CUfunction) {
    let active = |row: &mut Row, label: &str, name: &str, [grid, threads, cluster, shared]: [u32; 4]| {
        let mut value = CUlaunchAttributeValue::default();
        value.clusterDim = CUlaunchAttributeValue_clusterDim { x: cluster, y: 1, z: 1 };
        let id = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        let mut attribute = CUlaunchAttribute { id, value, ..Default::default() };
        let config = CUlaunchConfig {
            gridDimX: grid,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: threads,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: shared,
            attrs: &mut attribute,
            numAttrs: u32::from(cluster > 0),
            ..Default::default()
        };
        let mut count = -7;
        let code = unsafe { cuda.cuOccupancyMaxActiveClusters(&mut count, find(name), &config) };
        row.value(label, code, count);
    };
    for size in [1, 2, 3, 4, 8, 9, 16] {
        active(row, &format!("act{size}"), "two", [size * 2, 256, size, 0]);
    }
    active(row, "act2_1024", "two", [4, 1024, 2, 0]);
    active(row, "act8_1024", "two", [8, 1024, 8, 0]);
    active(row, "act2_32", "two", [4, 32, 2, 0]);
    active(row, "act_none", "two", [4, 256, 0, 0]);
    active(row, "act_cl", "cl", [4, 256, 0, 0]);
    active(row, "act_bad", "two", [3, 256, 2, 0]);
    active(row, "act4_sm", "two", [4, 256, 4, 49_152]);
    active(row, "act8_sm", "two", [8, 256, 8, 49_152]);
    active(row, "act_over", "two", [4, 256, 2, 60_000]);
    active(row, "act_b1025", "two", [4, 1025, 2, 0]);
    let portable = CUfunction_attribute::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
    ok(unsafe { cuda.cuFuncSetAttribute(find("two"), portable, 1) });
    active(row, "act16_np", "two", [16, 256, 16, 0]);
}
