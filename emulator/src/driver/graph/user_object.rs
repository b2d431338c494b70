//! User objects: objects of the program that graphs keep alive, with a function that destroys them when the last
//! reference is gone.
//!
//! Relies on the program for its functions: they may be called once from any thread, with the passed data (C7 in `entry`).
#![allow(unsafe_code)]

use cuda_driver_sys::*;
use std::ffi::{c_uint, c_void};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, LazyLock, Mutex};

use crate::driver::entry::{INVALID_VALUE, Out, Outcome, entries};
use crate::driver::handles::{Handles, to_c};
use crate::driver::slot::{self, PerSlot, per_slot};
use crate::driver::state::{Call, enter_callback, lock};

entries! {
    cuUserObjectCreate(object: *mut CUuserObject, data: *mut c_void, destroy: CUhostFn, count: c_uint, flags: c_uint) = create;
    cuUserObjectRetain(object: CUuserObject, count: c_uint) = retain;
    cuUserObjectRelease(object: CUuserObject, count: c_uint) = release;
    cuGraphRetainUserObject(graph: CUgraph, object: CUuserObject, count: c_uint, flags: c_uint) = retain_in_graph;
    cuGraphReleaseUserObject(graph: CUgraph, object: CUuserObject, count: c_uint) = release_from_graph;
}

/// Something of the program.
pub(in crate::driver) struct UserObject {
    handle: usize,
    /// References, of the program and of graphs.
    count: AtomicU64,
    destroy: Destroy,
}

/// The destructor and its data, which the program passed together, so C7 holds for them.
#[derive(Clone, Copy)]
struct Destroy {
    /// Whose object it is.
    slot: usize,
    function: unsafe extern "C" fn(*mut c_void),
    data: *mut c_void,
}

// SAFETY: a function may be called from any thread with the data passed beside it, by C7; this driver only passes the data on.
unsafe impl Send for Destroy {}
// SAFETY: the fields are never changed, so a shared reference only gives copies, which may go to other threads, as for `Send`.
unsafe impl Sync for Destroy {}

impl Destroy {
    /// Calls the function soon, on a thread of the driver's own, as a driver does: not under the caller's locks.
    fn schedule(self) {
        static QUEUE: LazyLock<Mutex<Option<Sender<Destroy>>>> = LazyLock::new(|| Mutex::new(worker()));
        let left = match &*lock(&QUEUE) {
            Some(queue) => queue.send(self).err().map(|error| error.0),
            None => Some(self),
        };
        if let Some(destroy) = left {
            destroy.call();
        }
    }

    fn call(self) {
        let _entered = slot::enter(self.slot);
        // SAFETY: by C7 (the type's documentation) the function may be called with this data, here, once, after the last reference:
        // `release` schedules this when the count becomes zero, `retain` never increments a zero count, and `UserObject` passes `destroy`
        // to no other code.
        enter_callback(0, || unsafe { (self.function)(self.data) });
    }
}

/// The thread that destroys objects, and the channel to it; `None` if the system cannot start a thread.
fn worker() -> Option<Sender<Destroy>> {
    let (sender, receiver) = channel::<Destroy>();
    let thread = std::thread::Builder::new().name("cuda-emulator objects".to_owned());
    thread.spawn(move || receiver.into_iter().for_each(Destroy::call)).ok()?;
    Some(sender)
}

pub(in crate::driver) static USER_OBJECTS: PerSlot<Handles<UserObject>> = per_slot!(Handles::new(35));

impl UserObject {
    /// Adds references; an error once the last one is released, which another thread may just have done.
    fn retain(&self, count: u64) -> Outcome {
        let take = |held: u64| (held > 0).then(|| held.saturating_add(count));
        let before = self.count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        before.map(drop).map_err(|_| INVALID_VALUE)
    }

    /// Releases references; with the last one the object is destroyed.
    fn release(&self, count: u64) -> Outcome {
        let give = |held: u64| held.checked_sub(count);
        let before = self.count.fetch_update(Ordering::AcqRel, Ordering::Relaxed, give);
        if before.map_err(|_| INVALID_VALUE)? == count {
            USER_OBJECTS.remove(self.handle);
            self.destroy.schedule();
        }
        Ok(())
    }
}

/// References of a graph; released when dropped.
pub(super) struct Hold {
    object: Arc<UserObject>,
    count: u64,
}

impl Clone for Hold {
    fn clone(&self) -> Hold {
        // There are some: this one's.
        let _ = self.object.retain(self.count);
        Hold { object: Arc::clone(&self.object), count: self.count }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        // The references exist: they were counted when this was created.
        let _ = self.object.release(self.count);
    }
}

/// A valid number of references: neither zero nor negative when read as a signed number.
fn references(count: c_uint) -> Outcome<u64> {
    if (1..=i32::MAX as c_uint).contains(&count) { Ok(u64::from(count)) } else { Err(INVALID_VALUE) }
}

fn named(object: CUuserObject) -> Outcome<Arc<UserObject>> {
    USER_OBJECTS.get(object.addr()).ok_or(INVALID_VALUE)
}

fn create(
    _: &Call,
    object: Out<CUuserObject>,
    data: *mut c_void,
    destroy: CUhostFn,
    count: c_uint,
    flags: c_uint,
) -> Outcome {
    let place = object.required()?;
    let function = destroy.ok_or(INVALID_VALUE)?;
    let count = AtomicU64::new(references(count)?);
    // The one flag there is has to be set.
    if flags != CUuserObject_flags::CU_USER_OBJECT_NO_DESTRUCTOR_SYNC.0 {
        return Err(INVALID_VALUE);
    }
    let handle = USER_OBJECTS.reserve();
    let destroy = Destroy { slot: slot::current(), function, data };
    USER_OBJECTS.insert(handle, Arc::new(UserObject { handle, count, destroy }));
    place.set(to_c(handle));
    Ok(())
}

fn retain(_: &Call, object: CUuserObject, count: c_uint) -> Outcome {
    named(object)?.retain(references(count)?)
}

fn release(_: &Call, object: CUuserObject, count: c_uint) -> Outcome {
    named(object)?.release(references(count)?)
}

fn retain_in_graph(
    call: &Call,
    graph: CUgraph,
    object: CUuserObject,
    count: c_uint,
    flags: c_uint,
) -> Outcome {
    let graph = call.graph(graph)?;
    let object = named(object)?;
    let count = references(count)?;
    match flags {
        0 => object.retain(count)?,
        // The caller's references become the graph's.
        1 if count <= object.count.load(Ordering::Relaxed) => {}
        _ => return Err(INVALID_VALUE),
    }
    graph.contents().objects.push(Hold { object, count });
    Ok(())
}

fn release_from_graph(call: &Call, graph: CUgraph, object: CUuserObject, count: c_uint) -> Outcome {
    let graph = call.graph(graph)?;
    let object = named(object)?;
    let mut left = references(count)?;
    let mut contents = graph.contents();
    let is_it = |hold: &&mut Hold| hold.object.handle == object.handle;
    let held: u64 = contents.objects.iter_mut().filter(is_it).map(|hold| hold.count).sum();
    if held < left {
        return Err(INVALID_VALUE);
    }
    let count = left;
    for hold in contents.objects.iter_mut().filter(is_it) {
        let part = left.min(hold.count);
        hold.count -= part;
        left -= part;
    }
    contents.objects.retain(|hold| hold.count > 0);
    drop(contents);
    object.release(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread may have found the object just before another one gave back the last reference.
    #[test]
    fn an_object_that_has_gone_is_not_retained() {
        extern "C" fn nothing(_: *mut c_void) {}
        let destroy = Destroy { slot: slot::current(), function: nothing, data: std::ptr::null_mut() };
        let object = UserObject { handle: 0, count: AtomicU64::new(2), destroy };
        assert!(object.retain(1).is_ok() && object.release(4).is_err() && object.release(3).is_ok());
        assert_eq!(object.retain(1), Err(INVALID_VALUE));
        assert_eq!(object.release(1), Err(INVALID_VALUE));
    }
}
