//! What may fail, as menus that the options of components choose from: blocks of a medium,
//! functions of the kernel, and what the kernel does on its own. The choices themselves are made
//! while a unit runs.

pub mod background;
pub mod kernel;
pub mod media;

/// What may fail in one component. By default nothing does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultMenu {
    /// Blocks of the component's devices that may go bad before a mutate.
    pub media: media::MediaFaults,
    /// Functions of the kernel that may fail in a mutate.
    pub kernel: kernel::KernelFaults,
    /// What the kernel may do on its own between two calls.
    pub background: background::BackgroundWork,
}
