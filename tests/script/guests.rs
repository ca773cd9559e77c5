//! Guests whose agent is a shell script. Workshops have explode and its modules. They make findings
//! and write scripts of them. Plain guests have only the kernel and the image. They run the
//! scripts.
//!
//! There are two of each kind at a time, which share the work.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::thread;

use explode_vm::{
    Agent, BuildOptions, Builder, BuiltKernel, Cache, Guest, GuestFile, GuestSpec, KernelSource,
    Silent, VmError, WantedProgram,
};

use crate::common::program;

/// The output of a command, and its exit code.
#[derive(Debug)]
pub struct Said {
    pub code: i32,
    pub text: String,
}

/// Programs of coreutils, diffutils, gzip, util-linux, attr and perl, which any Linux has or can
/// have.
const PROGRAMS: [&str; 23] = [
    "base64",
    "chmod",
    "cksum",
    "cmp",
    "cp",
    "dd",
    "fallocate",
    "getfattr",
    "gzip",
    "head",
    "ln",
    "mktemp",
    "mv",
    "perl",
    "readlink",
    "setfattr",
    "stat",
    "sync",
    "tail",
    "tr",
    "truncate",
    "wc",
    "yes",
];

/// The drivers of the findings' file systems that are not built into the kernel.
const DRIVERS: [&str; 11] = [
    "btrfs",
    "dm-flakey",
    "dm-log-writes",
    "f2fs",
    "hfs",
    "jfs",
    "nilfs2",
    "ntfs3",
    "reiserfs",
    "udf",
    "xfs",
];

/// The common beginning of a guest's script. It sends output to the host.
const TRY: &str = r#"
exec > /dev/virtio-ports/explode 2>&1
PATH=/usr/sbin:/usr/bin:/sbin:/bin
cd /root || exit
try() {
    name=$1
    shift
    echo "BEGIN $name"
    "$@"
    echo "END $? $name"
}
"#;

/// The end of the script.
const ALL: &str = "
echo ALL
sleep 1000
";

/// The functions for scripts of the workshop.
const WORKSHOP: &str = r#"
mkdir -p traces
# Disks of RAM stay until their driver goes, and there are at most 99.
fresh() { rmmod rdd && insmod "$(grep '/rdd\.ko$' /agent/modules)"; }
# NAME, the words with which the message of its trace ends, and what is run.
found() {
    trace=traces/$1.json
    explode run $3 --in here --format jsonl --out "runs/$1" > said 2>&1
    cp "$(grep -l -F "$2\"" "runs/$1/traces"/*.json | head -n 1)" "$trace" && return
    cat said
    grep -h '"message"' "runs/$1/traces"/*.json
    return 1
}
# NAME, and the form: the script, or why there is none. Of some the disk has to be found.
shown() {
    explode show "traces/$1.json" --as "$2" --tests 2000 2> said
    code=$?
    [ $code -eq 0 ] || cat said
    fresh
    return $code
}
"#;

/// The functions for scripts of the plain guest.
const PLAIN: &str = r#"
left() {
    losetup -a
    dmsetup ls | grep -v "^No devices found"
    grep /tmp/ /proc/mounts
    ls /tmp
    ls /test
    return 0
}
suite() {
    cd /suite || exit
    FSTYP=$1 TEST_DIR=/test RESULT_DIR=/results bash "tests/$2"
    code=$?
    [ ! -e "/results/$2.notrun" ] || echo "notrun: $(cat "/results/$2.notrun")"
    cd /root || exit
    return $code
}
mkdir -p /test /results
truncate -s 16M /root/disk
truncate -s 1M /root/small
! grep -E '^(rdd|ekm) ' /proc/modules || echo "a module of explode's is loaded"
"#;

/// Returns the commands that write a script of a finding. The workshop makes the finding, or the
/// trace is kept.
pub fn of_trace(name: &str, run: Option<(&str, &str)>, suite: bool) -> String {
    let found =
        run.map(|(args, words)| format!("try \"{name} found\" found {name} '{words}' '{args}'\n"));
    let suite = if suite {
        format!("try \"{name} xfstests\" shown {name} xfstests\n")
    } else {
        String::new()
    };
    format!("{}try \"{name} sh\" shown {name} sh\n{suite}", found.unwrap_or_default())
}

/// Returns the commands that test a script.
pub fn of_script(name: &str) -> String {
    format!(
        r#"
try "{name} script" sh /root/{name}.sh
try "{name} control" sh /root/{name}.sh --control
"#
    )
}

/// Returns the commands that run a test for the suite, and its control.
pub fn of_test(name: &str, system: &str, control: &str) -> String {
    format!(
        r#"
try "{name} test" suite {system} {name}
cp /suite/tests/{name} /root/whole
sed 's/^control=no$/control={control}/' /root/whole > /suite/tests/{name}
try "{name} test of control" suite {system} {name}
"#
    )
}

/// Returns the command that looks for leftovers.
pub fn left(name: &str) -> String {
    format!("try \"{name} left\" left\n")
}

/// Further tests with the script of ext2.
pub const OTHERS: &str = r#"
loop=$(losetup -f --show /root/disk)
try device sh /root/ext2.sh "$loop"
losetup -d "$loop"
try damaged sh /root/damaged.sh
try unknown sh /root/unknown.sh
loop=$(losetup -f --show /root/small)
try small sh /root/ext2.sh "$loop"
losetup -d "$loop"
try "no device" sh /root/ext2.sh /root/small
chmod 755 /root /root/ext2.sh
echo nobody:x:65534:65534::/:/bin/sh >> /etc/passwd
try "no root" su -s /bin/sh nobody -c "sh /root/ext2.sh"
try "other system" suite xfs sync-without-flush-trace
mv /sbin/e2fsck /root/e2fsck
try "no program" sh /root/ext2.sh
mv /root/e2fsck /sbin/e2fsck
try "left at last" left
"#;

/// Distributes the parts of a script to two guests in turn.
pub fn dealt(parts: impl IntoIterator<Item = String>) -> [String; 2] {
    let mut scripts = [String::new(), String::new()];
    parts.into_iter().enumerate().for_each(|(index, part)| scripts[index % 2].push_str(&part));
    scripts
}

/// Runs these scripts in plain guests with these files. Returns the output of each command.
pub fn plain(files: &BTreeMap<String, String>, scripts: &[String; 2]) -> BTreeMap<String, Said> {
    both(scripts, |script| heard(&of_plain(files.clone(), script)))
}

/// Runs these scripts in workshops with these files. Returns the output of each command.
pub fn workshop(files: &BTreeMap<String, String>, scripts: &[String; 2]) -> BTreeMap<String, Said> {
    both(scripts, |script| heard(&of_workshop(files.clone(), script)))
}

/// Returns the output of two guests, one for each script.
fn both(
    [one, other]: &[String; 2],
    said: impl Fn(&str) -> BTreeMap<String, Said> + Sync,
) -> BTreeMap<String, Said> {
    thread::scope(|scope| {
        let other = scope.spawn(|| said(other));
        let mut both = said(one);
        both.extend(other.join().expect("the other guest has done its work"));
        both
    })
}

fn of_plain(files: BTreeMap<String, String>, script: &str) -> GuestSpec {
    let mut spec = spec(files, &format!("{TRY}{PLAIN}{script}{ALL}"));
    let program = PathBuf::from("/bin/sh").canonicalize().expect("every machine has a shell");
    spec.agent = Some(Agent { program, arguments: vec!["/root/all".to_owned()] });
    // The image has busybox's versions, some of which can do less.
    let wanted =
        PROGRAMS.map(|name| WantedProgram { name: format!("/usr/bin/{name}"), required: true });
    spec.add_programs(&wanted).expect("every machine has these");
    spec
}

fn of_workshop(files: BTreeMap<String, String>, script: &str) -> GuestSpec {
    let mut spec = spec(files, &format!("{TRY}{WORKSHOP}{script}{ALL}"));
    spec.memory_mib = 2048;
    spec.modules = Some(with_builder(|builder, kernel| builder.modules(kernel)));
    spec.agent = Some(Agent { program: PathBuf::from(program()), arguments: Vec::new() });
    // Replaces the line that starts explode as the first process.
    let run = b"exec /bin/sh /root/all\n".to_vec();
    spec.files.push(GuestFile { path: "/agent/run".to_owned(), mode: 0o644, contents: run });
    spec
}

/// Boots the guest and reads its output.
fn heard(spec: &GuestSpec) -> BTreeMap<String, Said> {
    let mut guest = Guest::boot(spec).expect("it boots");
    let (reader, _writer) = guest.take_stream().expect("nobody has taken it");
    let mut said = BTreeMap::new();
    let mut text = String::new();
    for line in BufReader::new(reader).lines() {
        let line = line.expect("the guest speaks");
        if line == "ALL" {
            return said;
        } else if line.starts_with("BEGIN ") {
            assert_eq!(text, "", "nothing is said in between");
        } else if let Some(end) = line.strip_prefix("END ") {
            let (code, name) = end.split_once(' ').expect("a code and a name");
            let code = code.parse().expect("a number");
            said.insert(name.to_owned(), Said { code, text: std::mem::take(&mut text) });
        } else {
            text.push_str(&line);
            text.push('\n');
        }
    }
    panic!("the guest has ended early: {said:#?}\n{text}\n{}", guest.console_tail(40));
}

/// Gets a part of a guest, which is built if it is missing.
fn with_builder<T>(ask: impl FnOnce(&Builder<'_>, &BuiltKernel) -> Result<T, VmError>) -> T {
    let (cache, options) =
        (Cache::of_user().expect("a home"), BuildOptions::of_environment().expect("sound"));
    let builder = Builder { cache: &cache, options: &options, progress: &Silent };
    let kernel = match std::env::var_os("EXPLODE_KERNEL").filter(|tree| !tree.is_empty()) {
        Some(tree) => KernelSource::Tree(tree.into()),
        None => KernelSource::Debian,
    };
    let kernel = builder.kernel(&kernel).expect("it was built");
    ask(&builder, &kernel).expect("it was built")
}

/// Returns a guest with these files that runs this script.
fn spec(files: BTreeMap<String, String>, script: &str) -> GuestSpec {
    let mut spec = with_builder(|builder, kernel| {
        let mut spec = GuestSpec::new(kernel, &builder.image()?.file);
        for driver in DRIVERS {
            spec.drivers.extend(builder.driver(kernel, driver)?);
        }
        spec.accelerator = builder.accelerator(kernel, &spec.image)?;
        Ok(spec)
    });
    let script = ("/root/all".to_owned(), script.to_owned());
    let file = |(path, text): (String, String)| GuestFile {
        path,
        mode: 0o755,
        contents: text.into_bytes(),
    };
    spec.files = files.into_iter().chain([script]).map(file).collect();
    spec
}
