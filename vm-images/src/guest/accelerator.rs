//! The two ways to run a guest's instructions.

/// The executor of the guest's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accelerator {
    /// The processor, through /dev/kvm.
    Kvm,
    /// Translation by QEMU.
    Emulation,
}

impl Accelerator {
    /// Returns QEMU's name of the accelerator.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Kvm => "kvm",
            Self::Emulation => "tcg",
        }
    }
}
