//! The models.

use std::sync::Arc as StdArc;
use std::task::{Poll, Wake, Waker};
use std::time::Instant;

use loom::model::Builder;
use loom::sync::{Arc, Mutex};

use crate::completion::Ended;
use crate::world::{Output, Stream, Waiting, Work, World, beside, foreign};

/// Runs a program in every order with at most so many switches of threads that are not waiting.
fn model(switches: usize, program: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(switches);
    builder.check(program);
}

#[test]
fn a_future_is_woken_when_its_work_is_done() {
    model(4, || {
        let (world, work) = (World::new(), Work::new());
        let device = {
            let (world, work) = (world.clone(), work.clone());
            beside(move || world.finish(&work))
        };
        let output = world.submit(&work, Output(work.clone())).wait().unwrap();
        assert_eq!(work.ended(), 0, "it was given away");
        drop(output);
        device.join().unwrap();
        world.end();
        assert_eq!(work.ended(), 1);
    });
}

#[test]
fn the_output_of_a_dropped_future_ends_once_and_after_the_work() {
    model(4, || {
        let (world, work) = (World::new(), Work::new());
        let future = world.submit(&work, Output(work.clone()));
        let dropping = beside(move || drop(future));
        world.finish(&work);
        dropping.join().unwrap();
        world.end();
        assert_eq!(work.ended(), 1);
    });
}

#[test]
fn a_future_that_moves_wakes_whoever_polled_it_last() {
    model(4, || {
        let (world, work) = (World::new(), Work::new());
        let future = world.submit(&work, Output(work.clone()));
        let device = {
            let (world, work) = (world.clone(), work.clone());
            beside(move || world.finish(&work))
        };
        match future.poll(Waker::noop()) {
            Poll::Ready(output) => drop(output.unwrap()),
            Poll::Pending => drop(future.wait().unwrap()),
        }
        device.join().unwrap();
        world.end();
        assert_eq!(work.ended(), 1);
    });
}

#[test]
fn a_forgotten_future_keeps_its_output_and_wedges_nothing() {
    model(2, || {
        let (world, work, other) = (World::new(), Work::new(), Work::new());
        let forgotten = world.submit(&work, Output(work.clone()));
        let device = {
            let (world, work, other) = (world.clone(), work.clone(), other.clone());
            beside(move || {
                world.finish(&work);
                world.finish(&other);
            })
        };
        drop(world.submit(&other, Output(other.clone())).wait().unwrap());
        device.join().unwrap();
        world.end();
        assert_eq!((work.ended(), other.ended()), (0, 1));
        // Loom counts what is left: the forgetting ends here.
        drop(forgotten);
    });
}

#[test]
fn a_fault_wakes_all() {
    model(2, || {
        let (world, work, other) = (World::new(), Work::new(), Work::new());
        let first = world.submit(&work, Output(work.clone()));
        let second = world.submit(&other, Output(other.clone()));
        let device = {
            let (world, work, other) = (world.clone(), work.clone(), other.clone());
            beside(move || world.fault(&[&work, &other]))
        };
        let waiting =
            beside(move || assert!(matches!(second.wait(), Err(Ended::Failed("kernel k trapped")))));
        assert!(matches!(first.wait(), Err(Ended::Failed("kernel k trapped"))));
        waiting.join().unwrap();
        device.join().unwrap();
        world.end();
        assert_eq!((work.ended(), other.ended()), (1, 1));
    });
}

#[test]
fn a_fault_meets_a_submission_and_a_drop() {
    model(2, || {
        let (world, work, other) = (World::new(), Work::new(), Work::new());
        let device = {
            let (world, work, other) = (world.clone(), work.clone(), other.clone());
            beside(move || world.fault(&[&work, &other]))
        };
        let dropped = world.submit(&work, Output(work.clone()));
        let submitting = {
            let (world, other) = (world.clone(), other.clone());
            beside(move || {
                let result = world.submit(&other, Output(other.clone())).wait();
                assert!(matches!(result, Err(Ended::Failed(_))));
            })
        };
        drop(dropped);
        submitting.join().unwrap();
        device.join().unwrap();
        world.end();
        assert_eq!((work.ended(), other.ended()), (1, 1));
    });
}

/// Time passes more often than needed: a worker may retire before, between and after the submissions.
#[test]
fn a_worker_that_retires_misses_nothing() {
    model(2, || {
        let (world, work, other) = (World::new(), Work::new(), Work::new());
        let submitting = {
            let (world, other) = (world.clone(), other.clone());
            beside(move || {
                let future = world.submit(&other, Output(other.clone()));
                world.finish(&other);
                drop(future.wait().unwrap());
            })
        };
        let future = world.submit(&work, Output(work.clone()));
        world.finish(&work);
        world.tick();
        drop(future.wait().unwrap());
        submitting.join().unwrap();
        world.end();
        assert_eq!((work.ended(), other.ended()), (1, 1));
    });
}

/// What was given to a stream first is not held up by what came after it, whoever was faster to say so.
#[test]
fn threads_that_share_a_stream_wait_for_no_later_work() {
    model(3, || {
        let (world, stream) = (World::new(), Stream::new());
        let other = {
            let (world, stream) = (world.clone(), stream.clone());
            loom::thread::spawn(move || world.submit_to(&stream, ()))
        };
        let mut both = [world.submit_to(&stream, ()), other.join().unwrap()];
        both.sort_by_key(|(mark, _)| *mark);
        for (mark, future) in both {
            stream.reach(mark);
            world.tick();
            future.wait().unwrap();
        }
        world.end();
    });
}

/// The end of a claim, the end of the work and a deadline, in every order.
#[test]
fn the_output_of_whoever_waited_too_long_ends_once_and_after_the_work() {
    model(3, || {
        let (world, work) = (World::new(), Work::new());
        let future = world.submit_until(&work, Output(work.clone()), Some(Instant::now()));
        let device = {
            let (world, work) = (world.clone(), work.clone());
            beside(move || world.finish(&work))
        };
        drop(future.poll(Waker::noop()));
        drop(future);
        device.join().unwrap();
        world.end();
        assert_eq!(work.ended(), 1);
    });
}

/// No time passes that would make it look.
#[test]
fn an_arrival_wakes_a_worker_that_sleeps() {
    model(4, || {
        let (world, work, other) = (World::new(), Work::new(), Work::new());
        work.finish();
        drop(world.submit(&work, Output(work.clone())).wait().unwrap());
        other.finish();
        drop(world.submit(&other, Output(other.clone())).wait().unwrap());
        world.end();
        assert_eq!((work.ended(), other.ended()), (1, 1));
    });
}

#[test]
fn a_deadline_ends_the_wait_or_the_work_does() {
    model(4, || {
        let (world, work) = (World::new(), Work::new());
        let future = world.submit_until(&work, Output(work.clone()), Some(Instant::now()));
        let device = {
            let (world, work) = (world.clone(), work.clone());
            beside(move || {
                world.tick();
                world.finish(&work);
            })
        };
        match future.wait() {
            // Kept, whatever the future does, until the work is done.
            Err(Ended::Expired) => {}
            Ok(output) => drop(output),
            Err(other) => panic!("{other:?}"),
        }
        device.join().unwrap();
        world.end();
        assert_eq!(work.ended(), 1);
    });
}

#[test]
fn a_deadline_does_not_take_what_is_done() {
    model(4, || {
        let (world, work) = (World::new(), Work::new());
        world.finish(&work);
        let future = world.submit_until(&work, Output(work.clone()), Some(Instant::now()));
        drop(future.wait().unwrap());
        world.end();
        assert_eq!(work.ended(), 1);
    });
}

/// Foreign code runs where it may do all it likes: a waker that polls its own future and submits more, an output that does.
#[test]
fn wakers_and_outputs_may_use_the_protocol() {
    struct Busy {
        world: World,
        next: Arc<Work>,
        future: Mutex<Option<Waiting<Output>>>,
        more: Mutex<Option<Waiting<Output>>>,
    }
    impl Wake for Busy {
        fn wake(self: StdArc<Self>) {
            let future = self.future.lock().unwrap().take();
            foreign(|| assert!(future.is_none_or(|future| future.poll(Waker::noop()).is_ready())));
            let more = self.world.submit(&self.next, Output(self.next.clone()));
            self.world.finish(&self.next);
            *self.more.lock().unwrap() = Some(more);
        }
    }
    /// Submits more at its end.
    struct Last(World, Arc<Work>);
    impl Drop for Last {
        fn drop(&mut self) {
            drop(self.0.submit(&self.1, Output(self.1.clone())));
            self.0.finish(&self.1);
        }
    }
    model(2, || {
        let (world, work, dropped) = (World::new(), Work::new(), Work::new());
        let (next, last) = (Work::new(), Work::new());
        drop(world.submit(&dropped, (Output(dropped.clone()), Last(world.clone(), last.clone()))));
        let future = world.submit(&work, Output(work.clone()));
        let (more, none) = (Mutex::new(None), Mutex::new(None));
        let busy = StdArc::new(Busy { world: world.clone(), next: next.clone(), future: none, more });
        let pending = future.poll(&Waker::from(busy.clone())).is_pending();
        *busy.future.lock().unwrap() = pending.then_some(future);
        world.finish(&dropped);
        world.finish(&work);
        world.end();
        let more = busy.more.lock().unwrap().take();
        drop(more);
        assert_eq!([&work, &dropped, &next, &last].map(|work| work.ended()), [1; 4]);
    });
}
