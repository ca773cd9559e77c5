//! A plain guest: the kernel and the image, without modules of ours and without explode. What it does is a script of the shell.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;

use explode_vm::{
    Agent, BuildOptions, Builder, Cache, Guest, GuestFile, GuestSpec, KernelSource, Silent, Wanted,
};

/// What was said, and the exit code in the end.
#[derive(Debug)]
pub struct Said {
    pub code: i32,
    pub text: String,
}

/// Programs of coreutils, diffutils and attr, as any Linux has them or can.
const PROGRAMS: [&str; 14] = [
    "base64", "cksum", "cmp", "dd", "getfattr", "head", "mktemp", "setfattr", "sync", "tail", "tr",
    "truncate", "wc", "yes",
];

/// What the guest's script begins with: from there on it speaks to the host.
pub const TRY: &str = r#"
exec > /dev/virtio-ports/explode 2>&1
PATH=/usr/sbin:/usr/bin:/sbin:/bin
try() {
    name=$1
    shift
    echo "BEGIN $name"
    "$@"
    echo "END $? $name"
}
left() {
    losetup -a
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
lsmod 2> /dev/null | grep -E '^(rdd|ekm) ' && echo "a module of explode's is loaded"
"#;

/// What is tried of a finding.
pub fn of_finding(name: &str) -> String {
    format!(
        r#"
try "{name} script" sh /root/{name}.sh
try "{name} control" sh /root/{name}.sh --control
loop=$(losetup -f --show /root/disk)
try "{name} device" sh /root/{name}.sh "$loop"
losetup -d "$loop"
"#
    )
}

/// What is tried of its test for the suite.
pub fn of_test(name: &str, system: &str) -> String {
    format!(
        r#"
try "{name} test" suite {system} {name}
cp /suite/tests/{name} /root/whole
sed 's/^control=no$/control=yes/' /root/whole > /suite/tests/{name}
try "{name} test of control" suite {system} {name}
"#
    )
}

/// Looks at what they have left behind.
pub fn left(name: &str) -> String {
    format!("try \"{name} left\" left\n")
}

/// What else is tried, with the script of ext2.
pub const OTHERS: &str = r#"
try damaged sh /root/damaged.sh
try unknown sh /root/unknown.sh
loop=$(losetup -f --show /root/small)
try small sh /root/ext2.sh "$loop"
losetup -d "$loop"
try "no device" sh /root/ext2.sh /root/small
chmod 755 /root /root/ext2.sh
echo nobody:x:65534:65534::/:/bin/sh >> /etc/passwd
try "no root" su -s /bin/sh nobody -c "sh /root/ext2.sh"
try "other system" suite xfs ext2
mv /sbin/e2fsck /root/e2fsck
try "no program" sh /root/ext2.sh
mv /root/e2fsck /sbin/e2fsck
try "left at last" left
echo ALL
sleep 1000
"#;

/// Boots the guest with these files, runs /root/all, and hears what it says.
pub fn in_guest(files: BTreeMap<String, String>) -> BTreeMap<String, Said> {
    let spec = spec(files);
    let mut guest = Guest::boot(&spec).expect("it boots");
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

fn spec(files: BTreeMap<String, String>) -> GuestSpec {
    let (cache, options) =
        (Cache::of_user().expect("a home"), BuildOptions::of_environment().expect("sound"));
    let builder = Builder { cache: &cache, options: &options, progress: &Silent };
    let kernel = match std::env::var_os("EXPLODE_KERNEL").filter(|tree| !tree.is_empty()) {
        Some(tree) => KernelSource::Tree(tree.into()),
        None => KernelSource::Debian,
    };
    let kernel = builder.kernel(&kernel).expect("it was built");
    let image = builder.image().expect("it was built");
    let mut spec = GuestSpec::new(&kernel, &image);
    spec.accelerator = builder.accelerator(&kernel, &spec.image).expect("it was found");
    let program = PathBuf::from("/bin/sh").canonicalize().expect("every machine has a shell");
    spec.agent = Some(Agent { program, arguments: vec!["/root/all".to_owned()] });
    let file = |(path, text): (String, String)| GuestFile { path, mode: 0o755, contents: text.into_bytes() };
    spec.files = files.into_iter().map(file).collect();
    // The image has busybox's, some of which do less.
    let wanted = PROGRAMS.map(|name| Wanted { name: format!("/usr/bin/{name}"), required: true });
    spec.add_programs(&wanted).expect("every machine has these");
    spec
}
