//! Random programs: one thread after the other, each of which ends with work under way.

#![deny(unsafe_code)]

use super::{LEN, alone, buffer, copy, thread_with_end};
use cuda_harness::skipped;
use cuda_launch::{CudaContext, CudaStream, DeviceBuffer};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Buffers on two devices, each with its value.
struct World {
    ctx: [CudaContext; 2],
    shared: [CudaStream; 2],
    own: [CudaStream; 2],
    buffers: Vec<(DeviceBuffer<u32>, u32)>,
}

/// What one thread does, in its body or while its locals are destroyed.
#[derive(Clone, Copy, Debug)]
struct Step {
    to: usize,
    from: usize,
    kind: usize,
    stream: usize,
    busy: bool,
    waits: bool,
    value: u32,
}

impl World {
    /// Buffers with even numbers are on the first device.
    fn new() -> Self {
        let ctx = [0, 1].map(|ordinal| CudaContext::new(ordinal).unwrap());
        let (shared, own) = (
            ctx.each_ref().map(CudaContext::per_thread_stream),
            ctx.each_ref().map(|ctx| ctx.new_stream().unwrap()),
        );
        let buffers = (0..8).map(|number| (buffer(&own[number % 2], number as u32), number as u32)).collect();
        Self { ctx, shared, own, buffers }
    }

    fn take(&mut self, Step { to, from, kind, stream, busy, waits, value }: Step) {
        let device = to % 2;
        let ctx = &self.ctx[device];
        let stream = match stream {
            0 => self.shared[device].clone(),
            1 => ctx.per_thread_stream(),
            2 => ctx.default_stream(),
            3 => self.own[device].clone(),
            _ => ctx.new_stream().unwrap(),
        };
        if busy {
            stream.call_host(|| thread::sleep(Duration::from_micros(700))).unwrap();
        }
        let [(target, holds), (source, other)] = self.buffers.get_disjoint_mut([to, from]).unwrap();
        match kind {
            0 => {
                *holds = value;
                target.view_mut().fill(&stream, value).unwrap();
            }
            1 => {
                *holds = value;
                *target = DeviceBuffer::filled(&stream, LEN, value).unwrap();
            }
            2 => {
                let (mut left, mut right) = target.split_at_mut(LEN / 2);
                *holds = value;
                left.fill(&stream, value).unwrap();
                right.fill(&self.own[device], value).unwrap();
            }
            _ if device == from % 2 => {
                *holds = *other;
                copy(&stream, target, source);
            }
            _ => {
                *holds = *other;
                target.view_mut().copy_from_peer(&stream, source).unwrap();
            }
        }
        if waits {
            stream.synchronize().unwrap();
        }
    }
}

#[test]
fn waves_of_threads_on_two_devices_do_what_their_text_says() {
    let _alone = alone();
    if CudaContext::new(1).is_err() {
        return skipped("this machine has one device");
    }
    let programs = std::env::var("CUDA_LAUNCH_RANDOM_PROGRAMS").map_or(20, |text| text.parse().unwrap());
    for seed in 0..programs {
        let mut state: u64 = seed;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let mut world = World::new();
        for _ in 0..40 {
            let mut step = || {
                let to = random(8);
                let from = (to + 1 + random(7)) % 8;
                let (kind, stream, busy) = (random(5), random(5), random(2) == 0);
                Step { to, from, kind, stream, busy, waits: random(6) == 0, value: random(1000) as u32 }
            };
            let (first, last) = (step(), step());
            let (give, given) = mpsc::channel::<World>();
            let (give_back, comes_back) = mpsc::channel();
            let run = move || {
                world.take(first);
                give.send(world).unwrap();
            };
            let end = move || {
                let mut world = given.recv().unwrap();
                world.take(last);
                give_back.send(world).unwrap();
            };
            let thread = thread_with_end(run, end);
            world = comes_back.recv().unwrap();
            if random(2) == 0 {
                thread.join().unwrap();
            }
        }
        for (number, (buffer, holds)) in world.buffers.iter().enumerate() {
            let seen = buffer.to_host_vec(&world.own[number % 2]).unwrap();
            assert_eq!(seen, [*holds; LEN], "program {seed}, buffer {number}");
        }
    }
}
