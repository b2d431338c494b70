//! Green contexts, and kernels of libraries, where no context is current or another one.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)]

use cuda_driver_sys::*;
use std::ffi::CString;
use std::ptr::null_mut;

use crate::support::*;
use crate::{Case, Row};

pub(crate) const CASES: &[(&str, Case)] = &[
    ("kernel_before_contexts", kernel_before_contexts),
    ("green_record", green_record),
    ("green_wait", green_wait),
    ("green_context_record", green_context_record),
    ("green_context_wait", green_context_wait),
];

/// What a kernel of a library tells without a current context.
fn kernel_before_contexts(row: &mut Row) {
    let cuda = cuda();
    let text = CString::new(KERNELS).unwrap();
    let (mut library, mut kernel, mut context) = (null_mut(), null_mut(), null_mut());
    let none = null_mut();
    row.code("load", unsafe {
        cuda.cuLibraryLoadData(
            &mut library,
            text.as_ptr().cast(),
            none,
            none.cast(),
            0,
            none.cast(),
            none.cast(),
            0,
        )
    });
    row.code("kernel", unsafe { cuda.cuLibraryGetKernel(&mut kernel, library, c"store".as_ptr()) });
    let mut ask = |when: &str| {
        let mut parameter = |index| {
            let (mut offset, mut size) = (77, 77);
            let code = unsafe { cuda.cuKernelGetParamInfo(kernel, index, &mut offset, &mut size) };
            row.value(&format!("{when} p{index}"), code, format!("{offset}+{size}"));
        };
        (0..3).for_each(&mut parameter);
        let mut value = 0;
        let code = unsafe {
            cuda.cuKernelGetAttribute(
                &mut value,
                CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                kernel,
                0,
            )
        };
        row.value(&format!("{when} attr"), code, value);
        row.code(&format!("{when} name"), unsafe { cuda.cuKernelGetName(&mut c"".as_ptr(), kernel) });
        row.code(&format!("{when} function"), unsafe { cuda.cuKernelGetFunction(&mut null_mut(), kernel) });
    };
    ask("before");
    ok(unsafe { cuda.cuDevicePrimaryCtxRetain(&mut context, 0) });
    ask("retained");
    ok(unsafe { cuda.cuCtxSetCurrent(context) });
    ask("current");
}

/// A context, and a stream and events that were made while it was current.
struct Place {
    name: &'static str,
    context: CUcontext,
    stream: CUstream,
}

/// The primary context, two green ones and one of our own; the primary one is current.
fn places(cuda: &Driver, primary: CUcontext) -> (Vec<Place>, [CUgreenCtx; 2]) {
    let (mut whole, mut rest) = (CUdevResource::default(), CUdevResource::default());
    let (mut parts, mut count) = ([CUdevResource::default(); 2], 2);
    let mut greens = [null_mut(); 2];
    let mut contexts = vec![primary];
    unsafe {
        ok(cuda.cuDeviceGetDevResource(0, &mut whole, CUdevResourceType::CU_DEV_RESOURCE_TYPE_SM));
        ok(cuda.cuDevSmResourceSplitByCount(parts.as_mut_ptr(), &mut count, &whole, &mut rest, 0, 16));
        for (part, green) in parts.iter_mut().zip(&mut greens) {
            let (mut description, mut context) = (null_mut(), null_mut());
            ok(cuda.cuDevResourceGenerateDesc(&mut description, part, 1));
            ok(cuda.cuGreenCtxCreate(green, description, 0, 1));
            ok(cuda.cuCtxFromGreenCtx(&mut context, *green));
            contexts.push(context);
        }
        let mut own = null_mut();
        ok(cuda.cuCtxCreate(&mut own, null_mut(), 0, 0));
        contexts.push(own);
    }
    let place = |(name, context): (&'static str, CUcontext)| {
        ok(unsafe { cuda.cuCtxSetCurrent(context) });
        Place { name, context, stream: stream(cuda, 1) }
    };
    let all = ["primary", "green", "green2", "own"].into_iter().zip(contexts).map(place).collect();
    ok(unsafe { cuda.cuCtxSetCurrent(primary) });
    (all, greens)
}

/// An event of that place.
fn event_of(cuda: &Driver, place: &Place, back: CUcontext) -> CUevent {
    ok(unsafe { cuda.cuCtxSetCurrent(place.context) });
    let event = event(cuda, 0);
    ok(unsafe { cuda.cuCtxSetCurrent(back) });
    event
}

/// Events of each place on streams of each other.
fn green_record(row: &mut Row) {
    let (cuda, primary) = with_context();
    let (places, greens) = places(&cuda, primary);
    let mut made = null_mut();
    ok(unsafe { cuda.cuGreenCtxStreamCreate(&mut made, greens[0], 1, 0) });
    for of in &places {
        let event = event_of(&cuda, of, primary);
        row.code(&format!("{} on cuGreenCtxStreamCreate's", of.name), unsafe {
            cuda.cuEventRecord(event, made)
        });
    }
    for of in &places {
        for on in &places {
            let event = event_of(&cuda, of, primary);
            row.code(&format!("{} on {}", of.name, on.name), unsafe { cuda.cuEventRecord(event, on.stream) });
        }
    }
    // Whatever is current.
    for current in &places {
        let event = event_of(&cuda, &places[0], current.context);
        let code = unsafe { cuda.cuEventRecord(event, places[1].stream) };
        row.code(&format!("primary on green, {} current", current.name), code);
    }
    // The time between two, one recorded elsewhere.
    let (start, end) = (event_of(&cuda, &places[0], primary), event_of(&cuda, &places[0], primary));
    unsafe {
        row.code("start on primary", cuda.cuEventRecord(start, places[0].stream));
        row.code("end on green", cuda.cuEventRecord(end, places[1].stream));
        row.code("synchronize", cuda.cuEventSynchronize(end));
        row.code("query", cuda.cuEventQuery(end));
        row.code("elapsed", cuda.cuEventElapsedTime(&mut 0.0, start, end));
    }
}

/// Streams of each place wait for events of each other, recorded on streams of their own.
fn green_wait(row: &mut Row) {
    let (cuda, primary) = with_context();
    let (places, _) = places(&cuda, primary);
    for of in &places {
        let event = event_of(&cuda, of, primary);
        ok(unsafe { cuda.cuEventRecord(event, of.stream) });
        for on in &places {
            let code = unsafe { cuda.cuStreamWaitEvent(on.stream, event, 0) };
            row.code(&format!("{} waits for {}", on.name, of.name), code);
        }
    }
}

/// Events of each place recorded by contexts.
fn green_context_record(row: &mut Row) {
    let (cuda, primary) = with_context();
    let (places, greens) = places(&cuda, primary);
    for of in &places {
        let event = event_of(&cuda, of, primary);
        for (name, green) in ["green", "green2"].into_iter().zip(greens) {
            let code = unsafe { cuda.cuGreenCtxRecordEvent(green, event) };
            row.code(&format!("{name} records {}", of.name), code);
        }
        for on in &places {
            let code = unsafe { cuda.cuCtxRecordEvent(on.context, event) };
            row.code(&format!("context of {} records {}", on.name, of.name), code);
        }
    }
}

/// Contexts wait for events of each place.
fn green_context_wait(row: &mut Row) {
    let (cuda, primary) = with_context();
    let (places, greens) = places(&cuda, primary);
    for of in &places {
        let event = event_of(&cuda, of, primary);
        let never = event_of(&cuda, of, primary);
        ok(unsafe { cuda.cuEventRecord(event, of.stream) });
        for (name, green) in ["green", "green2"].into_iter().zip(greens) {
            let code = unsafe { cuda.cuGreenCtxWaitEvent(green, event) };
            row.code(&format!("{name} waits for {}", of.name), code);
            let code = unsafe { cuda.cuGreenCtxWaitEvent(green, never) };
            row.code(&format!("{name} waits for {}, never recorded", of.name), code);
        }
        for on in &places {
            let code = unsafe { cuda.cuCtxWaitEvent(on.context, event) };
            row.code(&format!("context of {} waits for {}", on.name, of.name), code);
        }
    }
}
