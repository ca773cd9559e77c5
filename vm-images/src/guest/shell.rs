//! A shell in a guest, on the terminal.

use std::process::ExitStatus;

use nix::sys::signal::Signal;

use super::spec::GuestSpec;
use super::{initrd, qemu};
use crate::base::{ErrorContext, Result, spawn};

/// The argument that makes /init start a shell instead of the agent.
const ARGUMENT: &str = "explode.shell";

/// Boots the guest with its console on this terminal, and waits until the user leaves the shell.
/// The modules are loaded if the specification names them. The agent is in the guest but does not
/// run. `Ctrl-A x` ends the guest at once.
///
/// # Errors
/// [`Missing`](crate::VmError::Missing) without QEMU, [`Broken`](crate::VmError::Broken) if it
/// cannot be started.
pub fn shell(spec: &GuestSpec) -> Result<ExitStatus> {
    let mut spec = spec.clone();
    spec.kernel_arguments.push(ARGUMENT.into());
    let initrd = initrd::pack(&spec)?;
    let mut qemu = qemu::command(&spec, Some(&initrd))?;
    qemu.args(["-chardev", "stdio,id=console,mux=on,signal=off", "-serial", "chardev:console"]);
    // QEMU stays in this process group, because only the terminal's foreground group may read from
    // the terminal.
    let mut qemu = spawn(qemu, Signal::SIGKILL).doing("start QEMU")?;
    qemu.wait().doing("wait for QEMU")
}
