//! The functions that a crash test is made of.

use std::error::Error;
use std::sync::Arc;

use super::step::Step;
use crate::stack::Below;

/// The result of a test's function. Any error type is accepted.
pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

type Open<S> = dyn Fn(&Below<'_>) -> Result<S> + Send + Sync;
type DoStep<S, M> = dyn Fn(&mut S, &mut M, &mut Step<'_, '_>) -> Result<()> + Send + Sync;
type Read<S, M> = dyn Fn(&mut S) -> Result<M> + Send + Sync;

/// The functions of a test.
pub(super) struct EngineParts<S, M> {
    pub open: Arc<Open<S>>,
    pub step: Arc<DoStep<S, M>>,
    pub read: Arc<Read<S, M>>,
}

impl<S, M> Clone for EngineParts<S, M> {
    fn clone(&self) -> EngineParts<S, M> {
        let EngineParts { open, step, read } = self;
        EngineParts { open: Arc::clone(open), step: Arc::clone(step), read: Arc::clone(read) }
    }
}
