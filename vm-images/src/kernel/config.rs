//! The configuration of a kernel: explode's own, and the options that a guest requires.

use std::collections::BTreeMap;

/// Explode's configuration, as changes to `make tinyconfig`.
pub(crate) const FRAGMENT: &str = include_str!("../../kernel/explode.config");

/// The options that a guest requires, with the reasons. They must be built in, because nothing
/// could load modules.
const NEEDED: &[(&str, &str)] = &[
    ("64BIT", "explode and its guest are x86-64 programs"),
    ("PCI", "QEMU's devices are on a PCI bus"),
    ("SERIAL_8250_CONSOLE", "the console is the serial port"),
    ("RUST", "explode's kernel modules are written in Rust"),
    ("MODULES", "explode's kernel modules are loaded at boot"),
    ("BINFMT_ELF", "the agent is an ELF program"),
    ("BINFMT_SCRIPT", "the guest's /init is a script"),
    ("BLK_DEV_INITRD", "the guest's root file system is an initramfs"),
    ("PRINTK", "the kernel's reports are read from its log"),
    ("MULTIUSER", "programs ask who they run as"),
    ("FUTEX", "threads wait by futexes"),
    ("EPOLL", "programs wait for events"),
    ("SHMEM", "shared memory is part of what databases do"),
    ("FILE_LOCKING", "databases lock their files"),
    ("POSIX_TIMERS", "the agent has deadlines"),
    ("PROC_FS", "the agent reads /proc"),
    ("PROC_SYSCTL", "background write-back is turned off through /proc/sys"),
    ("SYSFS", "the agent finds disks through /sys"),
    ("DEVTMPFS", "the disks' nodes appear in /dev"),
    ("TMPFS", "the guest's own files are in memory"),
    ("VIRTIO_PCI", "the stream to the host is a virtio device"),
    ("VIRTIO_CONSOLE", "the stream to the host is a virtio serial port"),
    ("BLOCK", "storage is what is checked"),
    ("KALLSYMS", "the modules find kernel functions by name"),
    ("KPROBES", "calls are made to fail by kprobes"),
    (
        "TRACEPOINTS",
        "changes of buffers are seen by tracepoints; CONFIG_BLK_DEV_IO_TRACE selects it",
    ),
];

/// Returns the options that are set in a `.config` file or fragment, by name without `CONFIG_`.
pub(crate) fn parse(text: &str) -> BTreeMap<&str, &str> {
    text.lines().filter_map(|line| line.strip_prefix("CONFIG_")?.split_once('=')).collect()
}

/// Returns the required options that this configuration lacks, one line for each.
pub(crate) fn lacking(config: &str) -> Vec<String> {
    let set = parse(config);
    NEEDED
        .iter()
        .filter(|(name, _)| set.get(name) != Some(&"y"))
        .map(|(name, reason)| format!("CONFIG_{name}=y ({reason})"))
        .collect()
}

/// Returns the lines of the fragment that a configuration made from it has lost, because another
/// kernel version has other dependencies.
pub(crate) fn lost(config: &str) -> Vec<&'static str> {
    let set = parse(config);
    FRAGMENT
        .lines()
        .filter(|line| {
            if let Some((name, value)) =
                line.strip_prefix("CONFIG_").and_then(|rest| rest.split_once('='))
            {
                set.get(name) != Some(&value)
            } else {
                line.strip_prefix("# CONFIG_")
                    .and_then(|rest| rest.strip_suffix(" is not set"))
                    .is_some_and(|name| set.contains_key(name))
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explodes_own_configuration_lacks_nothing() {
        // The fragment's options select TRACEPOINTS.
        assert_eq!(lacking(&format!("{FRAGMENT}\nCONFIG_TRACEPOINTS=y\n")), Vec::<String>::new());
        assert!(lost(FRAGMENT).is_empty());
    }

    #[test]
    fn missing_options_are_named_with_their_reason() {
        let config = FRAGMENT
            .replace("CONFIG_RUST=y", "# CONFIG_RUST is not set")
            .replace("CONFIG_TMPFS=y", "");
        let lines = lacking(&format!("{config}\nCONFIG_TRACEPOINTS=y\n"));
        assert_eq!(lines.len(), 2);
        assert!(lines[0].starts_with("CONFIG_RUST=y (explode's kernel modules"), "{}", lines[0]);
        assert_eq!(lost(&config), ["CONFIG_RUST=y", "CONFIG_TMPFS=y"]);
    }

    #[test]
    fn a_line_with_another_value_is_lost() {
        let config = FRAGMENT
            .replace("CONFIG_XFS_FS=m", "CONFIG_XFS_FS=y")
            .replace("# CONFIG_IPV6 is not set", "CONFIG_IPV6=m");
        assert_eq!(lost(&config), ["# CONFIG_IPV6 is not set", "CONFIG_XFS_FS=m"]);
    }
}
