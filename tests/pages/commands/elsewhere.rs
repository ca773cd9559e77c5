//! The commands of pages that do not run beside the page, with the test that runs them or the
//! reason.

/// The place where commands with a certain beginning run.
#[derive(Debug)]
pub struct Elsewhere {
    /// The beginning of the command. Of several entries the longest one counts.
    pub command: &'static str,
    /// The page. Empty for all pages.
    pub page: &'static str,
    pub why: Why,
}

/// The reason why a command does not run beside its page.
#[derive(Debug)]
pub enum Why {
    /// The command needs a guest. The case runs the same checker on the same stack there. The
    /// command itself is parsed, with all its names and options.
    Guest { test: &'static str, case: &'static str },
    /// Another test runs it.
    Test { test: &'static str, case: &'static str },
    /// No test runs it.
    #[expect(dead_code, reason = "the reason is for readers")]
    Not(&'static str),
}

const fn guest(command: &'static str, test: &'static str, case: &'static str) -> Elsewhere {
    Elsewhere { command, page: "", why: Why::Guest { test, case } }
}

const fn test(
    command: &'static str,
    page: &'static str,
    test: &'static str,
    case: &'static str,
) -> Elsewhere {
    Elsewhere { command, page, why: Why::Test { test, case } }
}

const fn not(command: &'static str, page: &'static str, why: &'static str) -> Elsewhere {
    Elsewhere { command, page, why: Why::Not(why) }
}

pub static ALL: &[Elsewhere] = &[
    test("scripts/test", "", "scripts/test", "cargo test ${cargo_profile:-} --workspace"),
    test(
        "cargo test",
        "",
        "scripts/test",
        "cargo test ${cargo_profile:-} --workspace --features engines",
    ),
    test(
        "cargo test -p explode-cluster --features async",
        "docs/guide/async-hosts.md",
        "scripts/long/cluster-cases",
        "--test async_hosts",
    ),
    test(
        "cargo test -p explode-cluster --features sockets",
        "docs/guide/async-hosts.md",
        "scripts/test-programs",
        "async_hosts sockets std_fs",
    ),
    test("explode doctor", "", "tests/pages/interfaces.rs", "fn lines_of_doctor"),
    test("explode vm build", "", "scripts/test", "explode\" vm build"),
    // Systems of the kernel.
    guest(
        "explode run fs-sync",
        "tests/guest/cases.rs",
        "sync(2) leaves the disk's cache unflushed",
    ),
    guest("explode run fs-sync-ext4", "tests/guest/cases.rs", "clean one step deep"),
    guest(
        "explode run fs-ways --stack ext4",
        "tests/guest/ways.rs",
        "ways: {name} on {component}, exact counts",
    ),
    guest("explode run fs-reasonable --stack ext4", "tests/guest/ways.rs", "is reasonable"),
    guest(
        "explode run fs-workloads --stack ext4",
        "tests/guest/ways.rs",
        "workloads: one call on an empty ext4",
    ),
    guest(
        "explode run fs-failures",
        "tests/guest/kernel_choices.rs",
        "the findings of the page are found",
    ),
    guest(
        "explode run ext2+rename-in-steps",
        "tests/guest/kernel_sites.rs",
        "ext2_add_link:-ENOSPC:unlisted",
    ),
    guest("explode matrix ext4", "tests/guest/matrix.rs", "matrix ext4 missing.toml"),
    guest(
        "explode matrix --family raid",
        "tests/guest/host.rs",
        "matrix: the bug of a file system that needs the array",
    ),
    guest(
        "explode bench fs-sync --stack mirror.toml",
        "tests/guest/arrays.rs",
        "a synced file survives on ext4 on a mirror, as on one disk",
    ),
    guest(
        "explode run fs-sync --stack mirror.toml",
        "tests/guest/arrays.rs",
        "a synced file survives on ext4 on a mirror, as on one disk",
    ),
    guest("explode run fs-sync --stack ext4", "tests/guest/cases.rs", "clean one step deep"),
    // Arrays.
    guest(
        "explode run fs-basic --stack mirror.toml",
        "tests/guest/arrays.rs",
        "a synced file survives on ext4 on a mirror, as on one disk",
    ),
    guest(
        "explode compare fs-basic --stack mirror.toml",
        "tests/guest/arrays.rs",
        "a synced file survives on ext4 on a mirror, as on one disk",
    ),
    guest("explode run disk-blocks", "tests/guest/arrays.rs", "the write hole of level 5"),
    guest(
        "explode run disk-blocks --stack stale.toml",
        "tests/guest/arrays.rs",
        "a mirror with a bitmap does not use a stale member",
    ),
    guest(
        "explode run fs-workloads --stack bugs/md-flush-order/raid1.toml",
        "tests/guest/arrays.rs",
        "a journal on a mirror has a commit record without its blocks",
    ),
    guest(
        "explode run git.toml",
        "tests/stack_files/guest.rs",
        "fn packages_come_with_what_they_need",
    ),
    // File systems on two disks.
    guest(
        "explode run fs-sync --stack xfs-log.toml",
        "tests/guest/arrays.rs",
        "xfs with its log on a second disk",
    ),
    guest(
        "explode run fs-sync --stack f2fs-two.toml",
        "tests/guest/arrays.rs",
        "f2fs on two disks keeps what is synced",
    ),
    guest(
        "explode run fs-sync --stack bugs/ext4-external-journal/external.toml",
        "tests/guest/arrays.rs",
        "ext4 with its journal on a second disk",
    ),
    guest(
        "explode run fs-sync --stack two-copies.toml",
        "tests/guest/arrays.rs",
        "keeps what is synced, exact counts",
    ),
    guest(
        "explode run fs-sync --stack bugs/btrfs-raid1-stale/raid1.toml",
        "tests/guest/arrays.rs",
        "raid1 whose first disk comes back loses what is synced",
    ),
    // Stack files of the pages.
    guest("explode run notes.toml", "tests/stack_files/guest.rs", "notes add {path}"),
    guest("explode run unsynced.toml", "tests/stack_files/guest.rs", "notes add --no-sync {path}"),
    guest("explode run mine.toml", "tests/stack_files/guest.rs", "A file system made of commands"),
    guest(
        "explode run counter.toml",
        "tests/outside_crate.rs",
        "fn a_component_of_shell_commands_in_a_guest",
    ),
    // The crate of two guides, whose program is not explode.
    test(
        "explode ",
        "docs/guide/writing-a-component.md",
        "tests/outside_crate.rs",
        "fn in_process_on_simulated_files",
    ),
    test(
        "explode ",
        "docs/guide/writing-a-checker.md",
        "tests/outside_crate.rs",
        "fn in_process_on_simulated_files",
    ),
    // A trace that replays in a guest.
    test("explode minimise bugs/", "", "tests/script/bugs.rs", "ext2-fsync-xattr/trace"),
    test("explode show small.json", "", "tests/script/bugs.rs", "ext2-fsync-xattr/trace"),
    not("", "docs/guide/patched-kernel.md", "needs the source of a kernel and a build of it"),
];

/// Returns the entry of a command on this page.
pub fn find(page: &str, command: &str) -> Option<&'static Elsewhere> {
    let command = command.replacen("cargo run -- ", "explode ", 1);
    let begins = |entry: &&Elsewhere| {
        command.starts_with(entry.command) && (entry.page.is_empty() || entry.page == page)
    };
    ALL.iter().filter(begins).max_by_key(|entry| entry.command.len())
}
