//! The host's side of a guest: its parts, and the worker in it.

use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use explode_components::command::ProgramRoot;
use explode_components::fs::kernel::btrfs;
use explode_components::raid;
use explode_kernel::{IMAGE_FILE, PACKAGE};
use explode_runtime::base::{BrokenKind, RunError, UsageError};
use explode_runtime::devices::IMAGE;
use explode_runtime::plan::{GuestPackages, RootfsArchive};
use explode_runtime::stack::StackSpec;
use explode_runtime::worker::{StepPage, Transport, TransportEnd};
use explode_vm::{
    Agent, BuildOptions, Builder, Cache, Guest, GuestFile, GuestImage, GuestReader, GuestSpec,
    GuestWriter, KernelSource, RootFolder, Userland, VmError, WantedProgram, qemu,
};
use libc::SIGKILL;
use nix::errno::Errno;
use tracing::info_span;

use super::console;
use crate::child_worker::never_block;
use crate::output;
use crate::progress::Bar;

/// The agent's port to the host.
pub(super) const PORT: &str = "/dev/virtio-ports/explode";
/// The environment variable that makes every guest boot if it is `off`.
const SNAPSHOTS_VARIABLE: &str = "EXPLODE_SNAPSHOTS";
/// The number of console lines in the message of a lost guest.
pub(super) const CONSOLE_LINES: usize = 25;

/// Returns a guest whose agent is a worker, with these drivers, packages, and programs of the host.
/// Missing parts are built here, so [`boot`] builds nothing. A fault of the guest's kernel ends the
/// guest. A task that hangs in the kernel ends it before the deadline.
///
/// # Errors
/// A part is missing, or a build fails.
pub fn worker_spec(
    deadline_ms: u64,
    drivers: &[&str],
    packages: &GuestPackages,
    wanted: &[WantedProgram],
) -> Result<GuestSpec, RunError> {
    let mut spec = spec(&kernel(), drivers).map_err(run_error)?;
    add_packages(&mut spec, packages)?;
    spec.add_programs(wanted).map_err(run_error)?;
    // The kernel checks at intervals of the timeout and may need three checks.
    let hung_seconds = (deadline_ms / 4000).max(1).to_string();
    spec.agent = Some(Agent::this_program(["agent", PORT, "--page", "--hung", &hung_seconds]));
    spec.shared_bytes = StepPage::BYTES;
    spec.kernel_arguments.push("oops=panic panic_on_warn=1 panic_print=0x20".to_owned());
    Ok(spec)
}

/// Makes a kernel for several processors wait less for readers of RCU. A check on btrfs waits for
/// them for a quarter of its time, one on an array for nearly half. Explode's own kernel never
/// waits for them.
const EXPEDITED: &str = "rcupdate.rcu_expedited=1";

/// Returns the argument of the kernel for stacks like this one. `None` for most.
pub fn kernel_argument(stack: &StackSpec) -> Option<String> {
    let waits = stack.components().contains(&btrfs::NAME) || raid::has_array(stack);
    waits.then(|| EXPEDITED.to_owned())
}

/// Adds packages of Debian to a guest, or an archive, if there are any, and reports their size.
///
/// # Errors
/// As [`worker_spec`].
pub(super) fn add_packages(spec: &mut GuestSpec, packages: &GuestPackages) -> Result<(), RunError> {
    if packages.is_empty() {
        return Ok(());
    }
    let userland = userland(packages).map_err(run_error)?;
    let (count, mib) = (userland.packages.len(), userland.bytes.div_ceil(1 << 20));
    let what = match packages.rootfs.as_deref() {
        Some(RootfsArchive { file, .. }) => format!("rootfs {file}"),
        None => format!("{count} packages"),
    };
    if let Some(file) = spec.files.iter_mut().find(|file| file.path == IMAGE_FILE) {
        for (name, version) in &userland.packages {
            file.contents.extend(format!("{PACKAGE} {name} {version}\n").into_bytes());
        }
    }
    spec.add_userland(userland);
    let memory = spec.memory_mib;
    output::note(&format!("guest: {what}, {mib} MiB; {memory} MiB of memory"));
    Ok(())
}

/// Boots a worker's guest.
///
/// # Errors
/// The guest does not boot, or boot was given up.
pub fn boot(
    spec: &GuestSpec,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<Box<dyn Transport>, RunError> {
    let begun = Instant::now();
    let booted = info_span!("boot").in_scope(|| Guest::boot_unless(spec, is_cancelled));
    let mut guest = booted.map_err(run_error)?;
    if spec.userland.is_some() {
        output::note(&format!("guest: booted in {:.1} s", begun.elapsed().as_secs_f64()));
    }
    let (reader, writer) = guest.take_stream().expect("it is taken once");
    never_block(&writer)
        .map_err(|error| BrokenKind::Worker.of(format_args!("the guest's stream: {error}")))?;
    let page = guest.shared().ok_or(Errno::ENOENT).and_then(StepPage::map);
    let page = page.map_err(|errno| {
        BrokenKind::Worker.of(format_args!("the page shared with the guest: {}", errno.desc()))
    })?;
    Ok(Box::new(GuestTransport { guest, reader, writer, page, ended: None }))
}

/// A guest with an agent that waits for a task.
struct GuestTransport {
    guest: Guest,
    reader: GuestReader,
    writer: GuestWriter,
    page: StepPage,
    ended: Option<TransportEnd>,
}

impl Transport for GuestTransport {
    fn reader(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }

    fn writer(&self) -> BorrowedFd<'_> {
        self.writer.as_fd()
    }

    fn page(&self) -> Option<&StepPage> {
        Some(&self.page)
    }

    fn kept_waiting(&self) -> Duration {
        self.guest.kept_waiting()
    }

    fn end(&mut self, patience: Duration) -> TransportEnd {
        if self.ended.is_none() {
            // If waiting fails, the guest is killed below. Nothing in the guest sends QEMU a
            // SIGKILL.
            let killed =
                self.guest.wait(patience).ok().flatten().and_then(|status| status.signal());
            let from_outside = killed == Some(SIGKILL);
            self.guest.kill();
            let console_text = self.guest.console();
            self.ended =
                Some(match (console::agent_died(&console_text), console::verdict(&console_text)) {
                    (Some(message), _) => {
                        TransportEnd { verdict: None, message, killed_externally: false }
                    }
                    (None, Some((verdict, message))) => {
                        TransportEnd { verdict: Some(verdict), message, killed_externally: false }
                    }
                    (None, None) if from_outside => {
                        let message =
                            "the guest's QEMU was killed (SIGKILL), and not by explode".to_owned();
                        TransportEnd { verdict: None, message, killed_externally: from_outside }
                    }
                    (None, None) => {
                        let tail = self.guest.console_tail(CONSOLE_LINES);
                        let message =
                            format!("the guest was lost; the end of its console:\n{tail}");
                        TransportEnd { verdict: None, message, killed_externally: from_outside }
                    }
                });
        }
        self.ended.clone().expect("it was just set")
    }
}

/// Returns the kernel of guests: the tree that `EXPLODE_KERNEL` names, else explode's own.
pub fn kernel() -> KernelSource {
    match std::env::var_os("EXPLODE_KERNEL").filter(|tree| !tree.is_empty()) {
        Some(tree) => KernelSource::Tree(tree.into()),
        None => KernelSource::Debian,
    }
}

/// Returns a guest with these drivers. Builds the parts that are missing.
///
/// # Errors
/// A part is missing; the message says how to get it.
pub fn spec(source: &KernelSource, drivers: &[&str]) -> Result<GuestSpec, VmError> {
    let (cache, options, progress) =
        (Cache::of_user()?, BuildOptions::of_environment()?, Bar::default());
    let builder = Builder { cache: &cache, options: &options, progress: &progress };
    // Fails before it builds a kernel that nothing could run.
    qemu()?;
    let kernel = builder.kernel(source)?;
    let image = builder.image()?;
    let mut spec = GuestSpec::new(&kernel, &image.file);
    spec.files.push(described(&image));
    spec.modules = Some(builder.modules(&kernel)?);
    for driver in drivers {
        spec.drivers.extend(builder.driver(&kernel, driver)?);
    }
    spec.accelerator = builder.accelerator(&kernel, &spec.image)?;
    let boots = std::env::var_os(SNAPSHOTS_VARIABLE).is_some_and(|word| word == "off");
    spec.snapshots = (!boots).then(|| builder.snapshots());
    Ok(spec)
}

/// Returns packages of Debian for a guest, or its archive.
fn userland(packages: &GuestPackages) -> Result<Userland, VmError> {
    with_builder(packages, |builder, names, without| match packages.rootfs.as_deref() {
        Some(RootfsArchive { file, hash }) => builder.rootfs(Path::new(file), hash),
        None => builder.userland(names, without),
    })
}

/// Returns the root with packages of Debian, or that of an archive, for commands on simulated
/// files. `None` without packages.
///
/// # Errors
/// As [`worker_spec`].
pub fn program_root(packages: &GuestPackages) -> Result<Option<ProgramRoot>, RunError> {
    if packages.is_empty() {
        return Ok(None);
    }
    let made = with_builder(packages, |builder, names, without| match packages.rootfs.as_deref() {
        Some(RootfsArchive { file, hash }) => builder.root_of_archive(Path::new(file), hash),
        None => builder.root_folder(names, without),
    });
    let RootFolder { folder, packages } = made.map_err(run_error)?;
    Ok(Some(ProgramRoot { folder, packages }))
}

/// Calls `get` with a builder and the names of packages.
fn with_builder<T>(
    packages: &GuestPackages,
    get: impl FnOnce(&Builder<'_>, &[&str], &[&str]) -> Result<T, VmError>,
) -> Result<T, VmError> {
    let (cache, options, progress) =
        (Cache::of_user()?, BuildOptions::of_environment()?, Bar::default());
    let [names, without] = [&packages.packages, &packages.without]
        .map(|names| names.iter().map(String::as_str).collect::<Vec<_>>());
    get(&Builder { cache: &cache, options: &options, progress: &progress }, &names, &without)
}

/// Returns the file that describes the image to the agent.
fn described(image: &GuestImage) -> GuestFile {
    let programs = image
        .programs
        .iter()
        .map(|(path, package, version)| format!("{path} {package} {version}\n"));
    let contents = format!("{IMAGE} {}\n{}", image.hash, programs.collect::<String>());
    GuestFile { path: IMAGE_FILE.to_owned(), mode: 0o644, contents: contents.into_bytes() }
}

/// Converts an error of the guest's parts to one of a run.
pub fn run_error(error: VmError) -> RunError {
    match error.kind() {
        explode_vm::VmErrorKind::Missing => RunError::Missing(error.to_string()),
        explode_vm::VmErrorKind::Broken => BrokenKind::Tool.of(error).into(),
        explode_vm::VmErrorKind::Usage => UsageError(error.to_string()).into(),
    }
}
