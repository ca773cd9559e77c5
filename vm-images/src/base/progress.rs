//! How long work tells what it is doing; the command line decides how that looks.

/// Takes what a build says about itself. All methods may be called from any thread.
pub trait BuildProgress: Sync {
    /// A new step begins, for example "unpacking the kernel's source". Ends the step before.
    fn step(&self, what: &str);

    /// So much of the step is done. `total` is an estimate and may be passed.
    fn tick(&self, _done: u64, _total: u64) {}
}

/// Says nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl BuildProgress for Silent {
    fn step(&self, _what: &str) {}
}
