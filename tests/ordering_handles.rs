//! Streams that have the same handle in the driver, and are not the same: those of threads, and the default streams of two devices.

#![allow(unsafe_code)] // The support's driver.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use cuda_launch::{CudaContext, CudaStream, DeviceBuffer};
use std::sync::{Barrier, mpsc};
use std::thread;
use support::{marks, reset};

/// So many handles of one stream have an entry each in the list of a buffer; one more replaces them.
const MANY: usize = 16;

fn devices() -> [CudaContext; 2] {
    let driver = support::driver(&[]);
    [0, 1].map(|ordinal| CudaContext::with_driver(&driver, ordinal).unwrap())
}

fn buffer(stream: &CudaStream) -> DeviceBuffer<u32> {
    DeviceBuffer::from_host(stream, &[0; 8]).unwrap()
}

/// Into memory of the stream's context.
fn read(stream: &CudaStream, source: &DeviceBuffer<u32>) {
    buffer(stream).view_mut().copy_from_peer(stream, source).unwrap();
}

/// What a write on this stream waits for.
fn waits(stream: &CudaStream, x: &mut DeviceBuffer<u32>) -> Vec<&'static str> {
    reset();
    x.view_mut().set_zero(stream).unwrap();
    marks().into_iter().map(|(what, _)| what).filter(|what| *what != "wait").collect()
}

#[test]
fn the_streams_of_threads_that_go_on_are_told_apart() {
    let [ctx, _] = devices();
    let (stream, own) = (ctx.new_stream().unwrap(), ctx.per_thread_stream());
    let (mut x, end) = (buffer(&stream), Barrier::new(MANY + 1));
    thread::scope(|scope| {
        for _ in 0..MANY {
            let (done, is_done) = mpsc::channel();
            let (own, x, end) = (&own, &x, &end);
            scope.spawn(move || {
                read(own, x);
                done.send(()).unwrap();
                end.wait();
            });
            is_done.recv().unwrap();
        }
        read(&own, &x);
        end.wait();
    });
    assert!(waits(&stream, &mut x).contains(&"idle"), "other threads' streams have no handle here");
}

#[test]
fn the_default_streams_of_two_devices_are_told_apart() {
    let [near, far] = devices();
    let stream = near.new_stream().unwrap();
    let mut x = buffer(&stream);
    read(&far.default_stream(), &x);
    (0..MANY).for_each(|_| read(&near.default_stream(), &x));
    assert!(waits(&stream, &mut x).iter().filter(|what| **what == "record").count() >= 2);
}

/// For each device another wait for its context.
#[test]
fn a_stream_stands_for_those_of_its_own_device_alone() {
    let devices = devices();
    let stream = devices[0].new_stream().unwrap();
    let mut x = buffer(&stream);
    for ctx in [&devices[0], &devices[1], &devices[0], &devices[1]] {
        thread::scope(|scope| scope.spawn(|| read(&ctx.per_thread_stream(), &x)).join().unwrap());
    }
    read(&devices[0].new_stream().unwrap(), &x);
    assert_eq!(waits(&stream, &mut x).iter().filter(|what| **what == "idle").count(), 2);
}
