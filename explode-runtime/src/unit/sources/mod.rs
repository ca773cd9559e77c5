//! What chooses besides the checker: blocks of a medium that go bad, functions of the kernel that fail, and what the kernel does on its
//! own. Each is a [`ChoiceSource`].

mod kernel;
mod media;
mod source;

use kernel::KernelSource;
use media::MediaSource;

pub use source::{Asking, ChoiceSource};

/// All sources, in the order in which they choose.
pub(super) fn all() -> Vec<Box<dyn ChoiceSource>> {
    vec![Box::new(MediaSource), Box::new(KernelSource::default())]
}
