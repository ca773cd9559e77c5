//! `explode vm`: builds the guest's parts, or starts a shell in a guest.

use explode_runtime::base::Exit;
use explode_runtime::report::status_line;
use explode_vm::{Agent, GuestSpec, KernelSource, VmError, shell};

use crate::cli::{VmArgs, VmCommand};
use crate::guest::host::{kernel, run_error, spec};
use crate::{interrupt, output};

/// Builds the parts, or starts a shell.
pub fn vm(command: &VmCommand) -> Exit {
    // Ctrl-C ends a build, even in a background job of a shell.
    interrupt::by_default();
    let done = match command {
        VmCommand::Build(args) => source(args).map(|spec| built(&spec)),
        VmCommand::Shell(args) => source(args).and_then(|mut spec| {
            spec.agent = Some(Agent::this_program(["agent"]));
            shell(&spec).map(drop)
        }),
    };
    match done {
        Ok(()) => Exit::Clean,
        Err(error) => {
            let error = run_error(error);
            output::fail(error.exit(), error)
        }
    }
}

fn source(args: &VmArgs) -> Result<GuestSpec, VmError> {
    let tree = args.kernel.clone().map(KernelSource::Tree);
    spec(&tree.unwrap_or_else(kernel), &[])
}

fn built(spec: &GuestSpec) {
    let print = |word: &str, text: String| output::line(&status_line(word, &text));
    print("Kernel", format!("{}  {}", spec.kernel.release(), spec.kernel.boot_image().display()));
    for module in spec.modules.iter().flat_map(|modules| [&modules.rdd, &modules.ekm]) {
        print("Module", module.display().to_string());
    }
    print("Image", spec.image.display().to_string());
    print("Guests run", format!("by {}", spec.accelerator.name()));
}
