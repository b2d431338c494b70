//! Events.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)]

use cuda_driver_sys::*;
use std::ptr::null_mut;

use crate::support::*;
use crate::{Case, Row};

pub(crate) const CASES: &[(&str, Case)] = &[
    ("events", events),
    ("events_more", events_more),
    ("event_double_destroy", event_double_destroy),
    ("event_destroyed_query", event_destroyed_query),
    ("event_destroyed_record", event_destroyed_record),
];

fn events(row: &mut Row) {
    let (cuda, _) = with_context();
    let stream = stream(&cuda, 0);
    let (a, b, plain) = (event(&cuda, 0), event(&cuda, 0), event(&cuda, 2));
    let elapsed = |start, end| unsafe { cuda.cuEventElapsedTime(&mut 0.0, start, end) };
    row.code("unrecorded", elapsed(a, b));
    row.code("query unrecorded", unsafe { cuda.cuEventQuery(a) });
    ok(unsafe { cuda.cuEventRecord(a, stream) });
    ok(unsafe { cuda.cuEventRecord(plain, stream) });
    ok(unsafe { cuda.cuStreamSynchronize(stream) });
    row.code("notiming", elapsed(a, plain));
    let held = Busy::new(&cuda, stream);
    ok(unsafe { cuda.cuEventRecord(b, stream) });
    row.code("busy: query", unsafe { cuda.cuEventQuery(b) });
    row.code("elapsed", elapsed(a, b));
    drop(held);
}

fn events_more(row: &mut Row) {
    let (cuda, _) = with_context();
    let stream = stream(&cuda, 0);
    let mut made = null_mut();
    unsafe {
        row.code("NULL", cuda.cuEventCreate(null_mut(), 0));
        row.code("flags8", cuda.cuEventCreate(&mut made, 8));
        row.code("inter", cuda.cuEventCreate(&mut made, 4));
        row.code("inter2", cuda.cuEventCreate(&mut made, 6));
        row.code("create", cuda.cuEventCreate(&mut made, 0));
        row.code("sync_unrec", cuda.cuEventSynchronize(made));
        row.code("q_unrec", cuda.cuEventQuery(made));
        row.code("qNULL", cuda.cuEventQuery(null_mut()));
        row.code("destroyNULL", cuda.cuEventDestroy(null_mut()));
        row.code("recNULL", cuda.cuEventRecord(null_mut(), stream));
        row.code("recext", cuda.cuEventRecordWithFlags(made, stream, 1));
        row.code("recflag2", cuda.cuEventRecordWithFlags(made, stream, 2));
        row.code("recflag0", cuda.cuEventRecordWithFlags(made, stream, 0));
        let end = event(&cuda, 1);
        let held = Busy::new(&cuda, stream);
        ok(cuda.cuEventRecord(end, stream));
        row.code("q_busy", cuda.cuEventQuery(end));
        drop(held);
        row.code("sync", cuda.cuEventSynchronize(end));
        let mut time = 0.0;
        row.value("el", cuda.cuEventElapsedTime(&mut time, made, end), time >= 0.0);
        row.value("el_rev", cuda.cuEventElapsedTime(&mut time, end, made), time <= 0.0);
        let held = Busy::new(&cuda, stream);
        ok(cuda.cuEventRecord(made, stream));
        row.code("destroy_busy", cuda.cuEventDestroy(made));
        drop(held);
        row.code("record_h1", cuda.cuEventRecord(end, CU_STREAM_LEGACY));
        row.code("record_h2", cuda.cuEventRecord(end, CU_STREAM_PER_THREAD));
    }
}

// What a driver answers for handles that are none depends on what was done before: each is asked alone.

fn event_double_destroy(row: &mut Row) {
    destroyed(row, "2nd", |cuda, event| unsafe { cuda.cuEventDestroy(event) });
}

fn event_destroyed_query(row: &mut Row) {
    destroyed(row, "query", |cuda, event| unsafe { cuda.cuEventQuery(event) });
}

fn event_destroyed_record(row: &mut Row) {
    destroyed(row, "record", |cuda, event| unsafe { cuda.cuEventRecord(event, null_mut()) });
}

fn destroyed(row: &mut Row, label: &str, use_it: impl FnOnce(&Driver, CUevent) -> CUresult) {
    let (cuda, _) = with_context();
    let event = event(&cuda, 0);
    row.code("1st", unsafe { cuda.cuEventDestroy(event) });
    row.code(label, use_it(&cuda, event));
}
