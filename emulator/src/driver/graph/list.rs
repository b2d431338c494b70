//! Lists of handles as results.

use crate::driver::entry::{INVALID_VALUE, Out, Outcome, believable};

/// Returns a list like all these functions: if the array is null, only its length; otherwise it fills the array of
/// `count` elements, with nulls after the last one, and returns how many there are.
#[allow(unsafe_code, reason = "the size of an array is the caller's word")]
pub(super) fn list<T: Copy>(array: &Out<*mut T>, count: &Out<usize>, all: &[*mut T]) -> Outcome {
    let room = count.get().ok_or(INVALID_VALUE)?;
    if array.is_null() {
        count.set(all.len());
        return Ok(());
    }
    believable(room)?;
    let filled: Vec<*mut T> =
        all.iter().copied().chain(std::iter::repeat(std::ptr::null_mut())).take(room).collect();
    // SAFETY: 1: it is not null, so by C1 (in `entry`) it has `room` elements, the number in `count`, and `take` limits `filled` to that.
    unsafe { array.write_array(&filled) };
    count.set(all.len().min(room));
    Ok(())
}
