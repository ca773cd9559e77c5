//! The agent: `explode agent PORT`, the first process of a guest. It is the worker of the host's supervisor.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;

use explode_runtime::run::{Exit, Registry, serve};

use crate::output;

/// Serves the host on a character device.
pub fn serve_port(registry: &Registry, port: &Path) -> Exit {
    let served = || -> io::Result<()> {
        let output = OpenOptions::new().read(true).write(true).open(port)?;
        serve(registry, output.try_clone()?.into(), output, None)
    };
    match served() {
        Ok(()) => Exit::Clean,
        Err(error) => output::fail(Exit::Broken, format!("{}: {error}", port.display())),
    }
}
