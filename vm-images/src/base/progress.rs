//! The progress reports of slow work. The command line decides how they look.

/// A receiver of a build's progress. All methods may be called from any thread.
pub trait BuildProgress: Sync {
    /// Begins a step, for example "unpacking the kernel's source", and ends the step before.
    fn step(&self, text: &str);

    /// Reports that `done` of `total` parts of the step are done. `total` is an estimate and may be
    /// exceeded.
    fn tick(&self, _done: u64, _total: u64) {}
}

/// A receiver that ignores all progress.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl BuildProgress for Silent {
    fn step(&self, _text: &str) {}
}
