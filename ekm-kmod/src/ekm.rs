//! The sources of EKM, except those that it shares with its user.

/// The name and the bytes of a file.
pub type ModuleSource = (&'static str, &'static [u8]);

/// Returns the files of one folder.
macro_rules! files {
    ($folder:literal: $($name:literal,)*) => {
        &[$((concat!($folder, $name), include_bytes!(concat!("../", $name)))),*]
    };
}

/// The name of each file below the folder in which the modules are built, and its bytes.
pub const EKM: &[ModuleSource] = files![
    "ekm-kmod/":
    "Kbuild",
    "asked.rs",
    "buffer.rs",
    "buffers.rs",
    "call_record.rs",
    "calls.rs",
    "choices.rs",
    "choose.rs",
    "clock.rs",
    "commit.rs",
    "contents.rs",
    "device.rs",
    "ekm.rs",
    "failures.rs",
    "flusher.rs",
    "follow.rs",
    "forget.rs",
    "kprobe.rs",
    "kretprobe.rs",
    "lock.rs",
    "log.rs",
    "marks.rs",
    "pages.rs",
    "random.rs",
    "sites.rs",
    "stacks.rs",
    "symbols.rs",
    "systems.rs",
    "trace.rs",
    "unset.rs",
    "versions.rs",
    "watch.rs",
    "common/area.rs",
    "common/bindgen.args",
    "common/bindings.kbuild",
    "common/bio.rs",
    "common/call.rs",
    "common/control.rs",
    "common/kernel.h",
    "common/mix.rs",
    "common/mod.rs",
    "include/explode.h",
];
