//! Boots a guest with this program as its agent, and exchanges bytes with it:
//! `cargo run -p explode-vm --example boot`.
//!
//! `--kernel DIR` uses a built tree, `--no-modules` omits explode's modules, `--driver=NAME` loads
//! a driver, `--no-snapshot` boots in any case, `--shell` ends in a shell, `--wait` leaves the guest
//! running, `--doctor` only checks the machine.

#![allow(clippy::print_stdout, reason = "a program that shows something")]

use std::error::Error;
use std::fs::File;
use std::io::{Read, Write};
use std::time::Instant;

use explode_vm::{
    Agent, BuildOptions, BuildProgress, Builder, Cache, Guest, GuestSpec, KernelSource, doctor,
    shell,
};

/// The argument that tells the program that it runs in the guest.
const IN_GUEST: &str = "in-guest";
const PORT: &str = "/dev/virtio-ports/explode";

struct Lines(Instant);

impl BuildProgress for Lines {
    fn step(&self, what: &str) {
        println!("{:7.1} s  {what}", self.0.elapsed().as_secs_f32());
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    if arguments.iter().any(|word| word == IN_GUEST) {
        return agent();
    }
    let has = |option: &str| arguments.iter().any(|word| word == option);
    let tree = arguments.iter().skip_while(|word| *word != "--kernel").nth(1);
    let source = tree.map_or(KernelSource::Debian, |tree| KernelSource::Tree(tree.into()));

    let lines = Lines(Instant::now());
    let (cache, options) = (Cache::of_user()?, BuildOptions::of_environment()?);
    let builder = Builder { cache: &cache, options: &options, progress: &lines };
    if has("--doctor") {
        for check in doctor(&builder, &source) {
            println!(
                "{:15} {:10} {} {}",
                check.name,
                format!("{:?}", check.state),
                check.detail,
                check.remedy
            );
        }
        return Ok(());
    }
    let kernel = builder.kernel(&source)?;
    let mut spec = GuestSpec::new(&kernel, &builder.image()?.file);
    for option in arguments.iter().filter_map(|word| word.strip_prefix("--driver=")) {
        spec.drivers.extend(builder.driver(&kernel, option)?);
    }
    if !has("--no-modules") {
        spec.modules = Some(builder.modules(&kernel)?);
    }
    spec.agent = Some(Agent::this_program([IN_GUEST]));
    spec.accelerator = builder.accelerator(&kernel, &spec.image)?;
    spec.snapshots = (!has("--no-snapshot")).then(|| builder.snapshots());
    if has("--shell") {
        shell(&spec)?;
        return Ok(());
    }
    lines.step(&format!("booting {} by {}", kernel.release(), spec.accelerator.name()));
    let mut guest = Guest::boot(&spec)?;
    lines.step(&format!("the agent has answered, QEMU is process {}", guest.id()));
    if has("--wait") {
        std::thread::sleep(std::time::Duration::from_secs(3600));
    }
    let (mut reader, mut writer) = guest.take_stream().ok_or("the stream is taken once")?;
    let mut hello = [0; 5];
    reader.read_exact(&mut hello)?;
    let sent: Vec<u8> = (0..4 << 20).map(|at: u32| at.to_le_bytes()[1]).collect();
    let mut received = vec![0; sent.len()];
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| writer.write_all(&sent));
        reader.read_exact(&mut received)
    })?;
    assert!(sent == received, "what comes back is what was sent");
    lines.step(&format!(
        "{} MiB there and back in {:.1} s",
        sent.len() >> 20,
        start.elapsed().as_secs_f32()
    ));
    println!("{}", guest.console_tail(10));
    Ok(())
}

/// Runs as the agent: sends a greeting, then returns the bytes that it receives.
fn agent() -> Result<(), Box<dyn Error>> {
    println!("agent: up with {:?}", std::env::args().collect::<Vec<_>>());
    for file in [
        "/proc/modules",
        "/proc/filesystems",
        "/proc/uptime",
        "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    ] {
        println!(
            "{file}: {}",
            std::fs::read_to_string(file)?.split_whitespace().collect::<Vec<_>>().join(" ")
        );
    }
    let port = File::options().read(true).write(true).open(PORT)?;
    (&port).write_all(b"hello")?;
    let mut buffer = vec![0; 64 << 10];
    loop {
        let len = (&port).read(&mut buffer)?;
        (&port).write_all(&buffer[..len])?;
    }
}
