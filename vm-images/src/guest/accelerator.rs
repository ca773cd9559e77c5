//! The two ways in which a guest's instructions are run.

/// What runs the guest's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accelerator {
    /// The processor, through /dev/kvm.
    Kvm,
    /// QEMU's translation.
    Emulation,
}

impl Accelerator {
    /// QEMU's name for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Kvm => "kvm",
            Self::Emulation => "tcg",
        }
    }
}
