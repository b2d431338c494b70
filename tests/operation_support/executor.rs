//! An executor for many tasks, in twenty lines: what a program may have that wants no other.

#![allow(dead_code, unreachable_pub)] // Each user needs a part of it.
#![allow(clippy::unwrap_used)]

use std::future::Future;
use std::pin::Pin;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};

type Polled<'a> = Option<Pin<Box<dyn Future<Output = ()> + 'a>>>;

struct Ready(Mutex<Sender<usize>>, usize);

impl Wake for Ready {
    fn wake(self: Arc<Self>) {
        // Nobody listens any more where the tasks are over.
        let _ = self.0.lock().unwrap().send(self.1);
    }
}

/// Runs all of them on this thread until each has ended.
pub fn run_all<'a>(tasks: impl IntoIterator<Item = impl Future<Output = ()> + 'a>) {
    let (sender, ready): (Sender<usize>, Receiver<usize>) = channel();
    let mut tasks: Vec<Polled<'a>> = tasks.into_iter().map(|task| Some(Box::pin(task) as _)).collect();
    (0..tasks.len()).for_each(|task| sender.send(task).unwrap());
    while tasks.iter().any(Option::is_some) {
        let number = ready.recv().unwrap();
        let waker = Waker::from(Arc::new(Ready(Mutex::new(sender.clone()), number)));
        let Some(task) = &mut tasks[number] else { continue };
        if task.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
            tasks[number] = None;
        }
    }
}
