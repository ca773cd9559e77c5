//! The agent: `explode agent PORT`, the first process of a guest and the worker of the host's
//! supervisor.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::sync::Arc;

use explode_components::command::show_in_rootfs;
use explode_kernel::AllBackends;
use explode_runtime::base::Exit;
use explode_runtime::plan::Registry;
use explode_runtime::worker::{StepPage, serve};
use explode_vm::open_shared;

use crate::diagnostics::{Lines, OfWorker};
use crate::output;

/// Serves the host on a character device. With `has_page` steps are announced on the page that this
/// guest shares with the host. A task that hangs in the kernel for `hung_seconds` ends the guest.
pub fn serve_port(
    registry: &Registry,
    port: &Path,
    has_page: bool,
    hung_seconds: Option<u64>,
) -> Exit {
    // The process may have the loader's name. Stories show the task by this name.
    let _ = std::fs::write("/proc/self/comm", "explode");
    if let Some(seconds) = hung_seconds {
        for (name, value) in [("hung_task_timeout_secs", seconds), ("hung_task_panic", 1)] {
            // A user's kernel may lack this detection. Then the deadline finds such tasks.
            let _ = std::fs::write(format!("/proc/sys/kernel/{name}"), value.to_string());
        }
    }
    let served = || -> io::Result<()> {
        show_in_rootfs()?;
        let mut output = OpenOptions::new().read(true).write(true).open(port)?;
        let page = has_page.then(open_page).transpose()?;
        let diagnostics = OfWorker::new(Lines::Sent(Arc::default()));
        let input = output.try_clone()?.into();
        serve(registry, &AllBackends, input, &mut output, page.as_ref(), &diagnostics)
    };
    match served() {
        Ok(()) => Exit::Clean,
        Err(error) => output::fail(Exit::Broken, format!("{}: {error}", port.display())),
    }
}

/// Maps the page that the host shares with this guest.
fn open_page() -> io::Result<StepPage> {
    Ok(StepPage::map(&open_shared()?)?)
}
