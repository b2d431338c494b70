//! Waiting for whichever operation finishes first.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::context::Source;
use super::device_operation::DeviceOperation;
use super::future::DeviceFuture;
use crate::error::{Error, ErrorKind, OperationError};

/// Which operation finished first, and the future of the other.
#[derive(Debug)]
pub enum Either<A: DeviceOperation, B: DeviceOperation> {
    /// The output of the first operation, and the second one, which may still be running.
    Left(A::Output, DeviceFuture<B>),
    /// The first operation, and the output of the second one.
    Right(DeviceFuture<A>, B::Output),
}

/// The future returned by [`select`].
#[derive(Debug)]
#[must_use = "a future does nothing until it is polled"]
pub struct Select<A: DeviceOperation, B: DeviceOperation>(DeviceFuture<A>, DeviceFuture<B>);

/// A future of whichever operation finishes first; the other one is returned with it as a future, so no output is lost.
///
/// Each runs on its own stream. If both are done, `first` wins; if it is done immediately, `second` is not started. If either
/// fails, so does the future.
///
/// ```
/// use cuda_launch::operation::{Either, block_on, select, value, zeroed};
/// let Either::Left(first, second) = block_on(select(zeroed::<u8>(3), value(7)))? else { panic!("it was done") };
/// assert_eq!((first.len(), block_on(second)?), (3, 7));
/// # Ok::<(), cuda_launch::Error>(())
/// ```
pub fn select<A, B>(first: A, second: B) -> Select<A, B>
where
    A: DeviceOperation + 'static,
    B: DeviceOperation + 'static,
{
    Select(DeviceFuture::new(first, Source::Default), DeviceFuture::new(second, Source::Default))
}

impl<A, B> Future for Select<A, B>
where
    A: DeviceOperation<Output: 'static>,
    B: DeviceOperation<Output: 'static>,
{
    type Output = Result<Either<A, B>, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // Polled in place: a waker may panic.
        let Self(first, second) = &mut *self;
        if let Poll::Ready(output) = Pin::new(&mut *first).poll(cx) {
            let second = second.take();
            return Poll::Ready(output.map(|output| Either::Left(output, second)));
        }
        if let Poll::Ready(output) = Pin::new(&mut *second).poll(cx) {
            let first = first.take();
            return Poll::Ready(output.map(|output| Either::Right(first, output)));
        }
        Poll::Pending
    }
}

/// The future returned by [`select_all`].
#[derive(Debug)]
#[must_use = "a future does nothing until it is polled"]
pub struct SelectAll<Op: DeviceOperation>(Vec<DeviceFuture<Op>>);

/// A future of whichever operation finishes first: its index, its output, and the others in order.
///
/// ```
/// use cuda_launch::operation::{block_on, select_all, zeroed};
/// let (index, buffer, rest) = block_on(select_all((1..=3).map(|n| zeroed::<u32>(n))))?;
/// assert_eq!((buffer.len(), rest.len()), (index + 1, 2));
/// # Ok::<(), cuda_launch::Error>(())
/// ```
pub fn select_all<Op: DeviceOperation + 'static>(operations: impl IntoIterator<Item = Op>) -> SelectAll<Op> {
    SelectAll(operations.into_iter().map(|op| DeviceFuture::new(op, Source::Default)).collect())
}

impl<Op: DeviceOperation<Output: 'static>> Future for SelectAll<Op> {
    type Output = Result<(usize, Op::Output, Vec<DeviceFuture<Op>>), Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if self.0.is_empty() {
            // With no operations, nothing would ever finish.
            return Poll::Ready(Err(finished()));
        }
        for index in 0..self.0.len() {
            let Some(future) = self.0.get_mut(index) else { continue };
            if let Poll::Ready(output) = Pin::new(future).poll(cx) {
                let mut rest = std::mem::take(&mut self.0);
                drop(rest.remove(index));
                return Poll::Ready(output.map(|output| (index, output, rest)));
            }
        }
        Poll::Pending
    }
}

fn finished() -> Error {
    ErrorKind::from(OperationError::Finished).into()
}
