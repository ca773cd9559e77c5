//! The possible faults, as menus that the options of components select from: blocks of a medium,
//! functions of the kernel, and background actions of the kernel. The choices themselves are made
//! while a unit runs.

pub mod background;
pub mod kernel;
pub mod media;

/// The possible faults of one component. By default there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultMenu {
    /// Blocks of the component's devices that may go bad before a mutate.
    pub media: media::MediaFaults,
    /// Functions of the kernel that may fail in a mutate.
    pub kernel: kernel::KernelFaults,
    /// Background actions of the kernel that may happen between two calls.
    pub background: background::BackgroundWork,
}
