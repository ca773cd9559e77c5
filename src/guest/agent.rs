//! The agent: `explode agent PORT`, the first process of a guest. It is the worker of the host's
//! supervisor.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::sync::Arc;

use explode_kernel::AllBackends;
use explode_runtime::base::Exit;
use explode_runtime::plan::Registry;
use explode_runtime::worker::serve;

use crate::diagnostics::{Lines, OfWorker};
use crate::output;

/// Serves the host on a character device; a task that hangs for so many seconds in the kernel ends
/// the guest.
pub fn serve_port(registry: &Registry, port: &Path, hung_seconds: Option<u64>) -> Exit {
    // The loader may have started it. Stories call the task by this name.
    let _ = std::fs::write("/proc/self/comm", "explode");
    if let Some(seconds) = hung_seconds {
        for (name, value) in [("hung_task_timeout_secs", seconds), ("hung_task_panic", 1)] {
            // A kernel of the user's may not look for such tasks; then they are found by the
            // deadline.
            let _ = std::fs::write(format!("/proc/sys/kernel/{name}"), value.to_string());
        }
    }
    let served = || -> io::Result<()> {
        let output = OpenOptions::new().read(true).write(true).open(port)?;
        let diagnostics = OfWorker::new(Lines::Sent(Arc::default()));
        serve(registry, &AllBackends, output.try_clone()?.into(), output, None, &diagnostics)
    };
    match served() {
        Ok(()) => Exit::Clean,
        Err(error) => output::fail(Exit::Broken, format!("{}: {error}", port.display())),
    }
}
