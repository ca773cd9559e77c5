//! `explode-mark crash NAME` for programs on a kernel: a script that writes a line to EKM's
//! [`MARKS`] (EX-66).

use std::fs::{Permissions, create_dir_all, read, set_permissions, write};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use explode_ekm_abi::wire::MARKS;

/// The folder of the tool on a machine with the modules. It is meant for the PATH.
pub const TOOLS: &str = "/run/explode/bin";

/// The start of the tool, which rejects invalid arguments. `$2` is the name.
pub const MARK_REQUEST: &str = r#"#!/bin/sh
if [ "$#" != 2 ] || [ "$1" != crash ]; then
    echo 'explode-mark: use it so: explode-mark crash NAME' >&2
    exit 2
fi
case $2 in
'' | *[!A-Za-z0-9._-]*)
    echo "explode-mark: the name '$2' is not made of letters, digits, '.', '_' and '-'" >&2
    exit 2
    ;;
esac
if [ "${#2}" -gt 255 ]; then
    echo 'explode-mark: the name has more than 255 bytes' >&2
    exit 2
fi
"#;

/// Installs the tool. This is done before the first stack, so that it does not draw from its random
/// numbers.
///
/// # Errors
/// The process is not root.
pub(crate) fn install() -> io::Result<()> {
    let tool = Path::new(TOOLS).join("explode-mark");
    let script = format!("{MARK_REQUEST}echo \"crash $2\" >{MARKS}\n");
    if !read(&tool).is_ok_and(|present| present == script.as_bytes()) {
        create_dir_all(TOOLS)?;
        write(&tool, script)?;
    }
    set_permissions(tool, Permissions::from_mode(0o755))
}
