//! Work that other code submits to a stream: ordered like a launch, or not begun. The calls are counted with a driver that does nothing.

#![allow(unsafe_code)] // Closures that submit nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

mod support;

use cuda_launch::foundation::{ArgumentList, submit_with};
use cuda_launch::sys::CUstream;
use cuda_launch::{CaptureMode, CudaContext, CudaGraph, CudaStream, DeviceBuffer, Error, kernel_args};
use support::{marks, reset};

/// Three streams on the driver that does nothing.
fn streams() -> [CudaStream; 3] {
    let context = CudaContext::with_driver(&support::driver(&[]), 0).unwrap();
    [(); 3].map(|()| context.new_stream().unwrap())
}

/// A buffer that nobody has to wait for.
fn buffer(stream: &CudaStream) -> DeviceBuffer<u32> {
    DeviceBuffer::from_host(stream, &[0; 4]).unwrap()
}

/// A record on one stream and a wait of the other for it.
fn crossing(earlier: &CudaStream, later: &CudaStream) -> Vec<(&'static str, usize)> {
    vec![("record", earlier.raw().addr()), ("wait", later.raw().addr())]
}

/// The stream that the work is given, and the calls before it.
fn work(stream: &CudaStream, list: impl ArgumentList) -> (CUstream, Vec<(&'static str, usize)>) {
    reset();
    unsafe { submit_with(stream, list, |raw| Ok::<_, Error>((raw, marks()))) }.unwrap()
}

#[test]
fn it_comes_after_earlier_work_and_before_later_work() {
    let [a, b, c] = streams();
    let (mut x, mut y) = (buffer(&a), buffer(&a));
    y.view_mut().set_zero(&a).unwrap();
    assert_eq!(work(&b, kernel_args![ptr(x), ptr_mut(y)]), (b.raw(), crossing(&a, &b)), "a wrote y");
    reset();
    y.view_mut().set_zero(&a).unwrap();
    assert_eq!(marks(), crossing(&b, &a), "the work writes y");

    assert_eq!(work(&c, kernel_args![ptr(x)]), (c.raw(), vec![]), "who reads does not wait for who reads");
    reset();
    x.view_mut().set_zero(&a).unwrap();
    assert_eq!(marks(), [crossing(&b, &a), crossing(&c, &a)].concat(), "who writes waits for all who read");
}

#[test]
fn what_it_answers_is_passed_on() {
    #[derive(Debug, PartialEq)]
    struct Theirs(i32);
    impl From<Error> for Theirs {
        fn from(error: Error) -> Self {
            panic!("{error}")
        }
    }
    let [a, b, _] = streams();
    let mut x = buffer(&a);
    let answer = unsafe { submit_with(&b, kernel_args![ptr_mut(x)], |_| Err::<(), _>(Theirs(5))) };
    assert_eq!(answer, Err(Theirs(5)));
    reset();
    x.view_mut().set_zero(&a).unwrap();
    assert_eq!(marks(), crossing(&b, &a), "who knows what it had submitted");
}

#[test]
fn what_cannot_be_ordered_is_not_begun() {
    fn begun(_: CUstream) -> Result<(), Error> {
        panic!("it was begun")
    }
    let [a, _, _] = streams();
    let other = CudaContext::with_driver(a.context().driver(), 1).unwrap();
    let mut x = buffer(&other.new_stream().unwrap());
    let error = unsafe { submit_with(&a, kernel_args![ptr_mut(x)], begun) }.unwrap_err();
    assert!(error.is_context_mismatch(), "{error}");

    let context = CudaContext::new(0).unwrap();
    let mut x = buffer(&context.new_stream().unwrap());
    CudaGraph::capture(&context, CaptureMode::ThreadLocal, |stream| {
        let error = unsafe { submit_with(stream, kernel_args![ptr_mut(x)], begun) }.unwrap_err();
        assert!(error.is_refused_in_capture(), "{error}");
        Ok(())
    })
    .unwrap();

    let (stream, inner) = (context.new_stream().unwrap(), context.new_stream().unwrap());
    let called = move || {
        let error = unsafe { submit_with(&inner, kernel_args![ptr_mut(x)], begun) }.unwrap_err();
        assert!(error.to_string().contains("foundation::submit_with"), "{error}");
    };
    stream.call_host(called).unwrap();
    stream.synchronize().unwrap();
}

thread_local! {
    /// Runs at the end of the thread, when what was begun later has ended.
    static LAST: Last = const { Last(std::cell::Cell::new(None)) };
}

struct Last(std::cell::Cell<Option<Box<dyn FnOnce()>>>);

impl Drop for Last {
    fn drop(&mut self) {
        self.0.take().into_iter().for_each(|last| last());
    }
}

#[test]
fn it_is_submitted_at_the_end_of_a_thread_too() {
    let (send, sent) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let [a, b, _] = streams();
        let x = buffer(&a);
        LAST.with(|last| {
            let submit = move || unsafe { submit_with(&b, kernel_args![ptr(x)], |_| Ok::<_, Error>(())) };
            last.0.set(Some(Box::new(move || send.send(submit().is_ok()).unwrap())));
        });
        let y = buffer(&a);
        unsafe { submit_with(&a, kernel_args![ptr(y)], |_| Ok::<_, Error>(())) }.unwrap();
    })
    .join()
    .unwrap();
    assert_eq!(sent.recv(), Ok(true));
}
