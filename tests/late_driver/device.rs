//! The device: memory of this process, streams that do nothing until they are told to, and graphs.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Memory of the host, in work that runs on another thread than it was given on.
#[derive(Clone, Copy)]
pub struct Host(pub *mut c_void);

// SAFETY: it is an address, which may be sent; only `Device::run` and `free` follow it, with `DEVICE` locked. That the memory is
// still there then is the duty of who gave the copy to the driver, by the contract of its asynchronous copies; Miri tests just
// that.
unsafe impl Send for Host {}

/// What a stream is given.
#[derive(Clone)]
pub enum Work {
    ToDevice {
        to: u64,
        from: Host,
        bytes: usize,
    },
    ToHost {
        to: Host,
        from: u64,
        bytes: usize,
    },
    OnDevice {
        to: u64,
        from: u64,
        bytes: usize,
    },
    Fill {
        to: u64,
        value: Vec<u8>,
        count: usize,
    },
    Kernel {
        name: String,
        packet: Vec<Vec<u8>>,
    },
    Free(u64),
    /// A moment of an event has come.
    Record(usize, u64),
    Wait(usize, u64),
}

#[derive(Default)]
pub struct Device {
    /// By address.
    memory: BTreeMap<u64, (Host, Layout)>,
    /// The newest last.
    streams: BTreeMap<usize, VecDeque<Work>>,
    /// How often each event was recorded, and came.
    events: HashMap<usize, (u64, u64)>,
    /// Streams and events that are part of a capture, and its graph.
    pub captures: HashMap<usize, usize>,
    /// Graphs, and what was instantiated from them.
    pub graphs: HashMap<usize, Vec<Work>>,
    made: usize,
}

static DEVICE: Mutex<Option<Device>> = Mutex::new(None);

/// The one device.
pub fn with<R>(f: impl FnOnce(&mut Device) -> R) -> R {
    let mut device: MutexGuard<'_, Option<Device>> = DEVICE.lock().unwrap_or_else(PoisonError::into_inner);
    f(device.get_or_insert_default())
}

impl Device {
    /// A handle that no other thing has.
    pub fn make(&mut self) -> usize {
        self.made += 1;
        0x10_0000 + 0x1_0000 * self.made
    }

    pub fn allocate(&mut self, bytes: usize) -> u64 {
        let layout = Layout::from_size_align(bytes.max(1), 256).unwrap();
        // SAFETY: the layout has at least one byte.
        let start = Host(unsafe { alloc_zeroed(layout) }.cast());
        assert!(!start.0.is_null(), "no memory for {layout:?}");
        self.memory.insert(start.0.addr() as u64, (start, layout));
        start.0.addr() as u64
    }

    pub fn free(&mut self, address: u64) {
        let (start, layout) = self.memory.remove(&address).expect("memory is freed once");
        // SAFETY: `allocate` got it, not null, with this layout, and put both into `memory`, from which they were just
        // taken: it is freed once.
        unsafe { dealloc(start.0.cast(), layout) };
    }

    /// How many allocations there are.
    pub fn allocations(&self) -> usize {
        self.memory.len()
    }

    /// Memory of the device that is live, whole.
    fn at(&self, address: u64, bytes: usize) -> *mut u8 {
        let (start, (host, layout)) = self.memory.range(..=address).next_back().expect("no such memory");
        let offset = usize::try_from(address - start).unwrap();
        assert!(offset + bytes <= layout.size(), "{bytes} bytes at {offset} of {layout:?}: is it gone?");
        // SAFETY: `memory` has only live allocations, none of them null, as `allocate` asserts, and `offset` is within
        // this one's size, as was just asserted.
        unsafe { host.0.cast::<u8>().add(offset) }
    }

    /// Gives it to a stream, or to the graph that the stream records.
    pub fn give(&mut self, stream: usize, work: Work) {
        match self.captures.get(&stream) {
            Some(graph) => self.graphs.get_mut(graph).unwrap().push(work),
            None => self.streams.entry(stream).or_default().push_back(work),
        }
    }

    pub fn record(&mut self, stream: usize, event: usize) {
        if let Some(graph) = self.captures.get(&stream) {
            self.captures.insert(event, *graph);
            return;
        }
        self.captures.remove(&event);
        let moments = self.events.entry(event).or_default();
        moments.0 += 1;
        let moment = moments.0;
        self.give(stream, Work::Record(event, moment));
    }

    pub fn wait(&mut self, stream: usize, event: usize) {
        match self.captures.get(&event) {
            Some(graph) => drop(self.captures.insert(stream, *graph)),
            None => {
                let moment = self.events.get(&event).map_or(0, |moments| moments.0);
                self.give(stream, Work::Wait(event, moment));
            }
        }
    }

    pub fn has_come(&self, event: usize) -> bool {
        self.events.get(&event).is_none_or(|(recorded, come)| come >= recorded)
    }

    pub fn is_idle(&self, stream: usize) -> bool {
        self.streams.get(&stream).is_none_or(VecDeque::is_empty)
    }

    /// Does all work of one stream, and as little as it can of others, the newest first: whoever relies on an order must have asked
    /// for it. Without a stream, does all work there is.
    pub fn work(&mut self, stream: Option<usize>) {
        loop {
            let wanted = |of: &usize| stream.is_none_or(|stream| stream == *of);
            if self.streams.iter().all(|(of, queue)| !wanted(of) || queue.is_empty()) {
                return;
            }
            let others = self.streams.keys().copied().rev();
            let order: Vec<usize> = stream.into_iter().chain(others).collect();
            let next = order.into_iter().find_map(|of| Some((of, self.runnable(of)?)));
            let (of, work) = next.expect("streams wait for each other");
            self.streams.get_mut(&of).unwrap().pop_front();
            self.run(work);
        }
    }

    fn runnable(&self, stream: usize) -> Option<Work> {
        let next = self.streams.get(&stream)?.front()?;
        match next {
            Work::Wait(event, moment) if self.events.get(event).map_or(0, |moments| moments.1) < *moment => {
                None
            }
            next => Some(next.clone()),
        }
    }

    fn run(&mut self, work: Work) {
        // SAFETY: `at` gives only live device memory, as many bytes as it is asked for; that of the host is kept by
        // whoever gave the copy to the driver, whose duty it is, and Miri sees whether it is kept. Of `kernel`: 1: it
        // is the packet of a launch, and the tests give `vecadd` slices of one length; 2: this file alone follows
        // addresses of the device, one work after the other, with `DEVICE` locked.
        unsafe {
            match work {
                Work::ToDevice { to, from, bytes } => self.at(to, bytes).copy_from(from.0.cast(), bytes),
                Work::ToHost { to, from, bytes } => to.0.cast::<u8>().copy_from(self.at(from, bytes), bytes),
                Work::OnDevice { to, from, bytes } => {
                    self.at(to, bytes).copy_from(self.at(from, bytes), bytes)
                }
                Work::Fill { to, value, count } => {
                    let start = self.at(to, count * value.len());
                    (0..count)
                        .for_each(|i| start.add(i * value.len()).copy_from(value.as_ptr(), value.len()));
                }
                Work::Kernel { name, packet } => self.kernel(&name, &packet),
                Work::Free(address) => self.free(address),
                Work::Record(event, moment) => {
                    if let Some(moments) = self.events.get_mut(&event) {
                        moments.1 = moments.1.max(moment);
                    }
                }
                Work::Wait(..) => {}
            }
        }
    }

    /// # Safety
    /// 1. The packet is the kernel's: for `vecadd` each slice has as many elements as its length says, at least those of the last;
    ///    for `fill` the address has as many words as the count says.
    /// 2. Nothing else uses that memory during the call.
    unsafe fn kernel(&self, name: &str, packet: &[Vec<u8>]) {
        let word = |i: usize| u64::from_ne_bytes(packet[i][..].try_into().unwrap());
        let half = |i: usize| u32::from_ne_bytes(packet[i][..].try_into().unwrap());
        match name {
            "vecadd" => {
                let slice =
                    |i: usize| self.at(word(i), 4 * usize::try_from(word(i + 1)).unwrap()).cast::<f32>();
                let (a, b, c) = (slice(0), slice(2), slice(4));
                for i in 0..usize::try_from(word(5)).unwrap() {
                    // SAFETY: `at` has found all three slices, in memory that is initialised and as aligned as a slice
                    // of floats is; `i` is below the last one's length, and by the caller's duty 1 the others'; nothing
                    // else uses them by duty 2.
                    unsafe { c.add(i).write(a.add(i).read() + b.add(i).read()) };
                }
            }
            "fill" => {
                let (count, value) = (half(1) as usize, half(2));
                let start = self.at(word(0), 4 * count).cast::<u32>();
                // SAFETY: `at` has found `count` live words there, aligned, as the address is that of words (duty 1);
                // nothing else uses them by the caller's duty 2.
                (0..count).for_each(|i| unsafe { start.add(i).write(value) });
            }
            _ => panic!("no kernel {name}"),
        }
    }
}
