//! Debian packages, which are found in the archive's lists, downloaded and unpacked. They are never
//! installed, so any user can do it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::UNIX_EPOCH;

use itertools::Itertools as _;

use crate::base::{CacheKey, ErrorContext, Result, VmError};
use crate::cache::{Building, Cache, write_whole};
use crate::host::command;

/// The folder of apt's lists of packages.
const LISTS: &str = "/var/lib/apt/lists";

/// The files besides the lists that decide which version apt offers: the user's preferences and the
/// installed packages.
const PREFERENCES: &[&str] =
    &["/etc/apt/preferences", "/etc/apt/preferences.d", "/var/lib/dpkg/status"];

/// A package in one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Package {
    pub name: String,
    pub version: String,
}

/// Returns the versions that the archive offers for these packages, in their order.
///
/// A call of apt takes most of a second, so the result is kept until apt's lists, its preferences
/// or the installed packages change.
pub(crate) fn candidates(cache: &Cache, names: &[&str]) -> Result<Vec<Package>> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let stamp = lists_stamp()?;
    let others = PREFERENCES.iter().map(|path| modified(Path::new(path))).join(" ");
    let key = CacheKey::new(2)
        .with("packages", names.join(" "))
        .with("lists", &stamp)
        .with("preferences", others);
    let known = cache.root().join("versions").join(key.hash());
    let policy = match fs::read_to_string(&known) {
        Ok(text) => text,
        Err(_) => command::output(apt("apt-cache").arg("policy").args(names))?,
    };
    let versions = parse_policy(&policy);
    let packages = names
        .iter()
        .map(|&name| match versions.get(name) {
            Some(version) => Ok(Package { name: name.to_owned(), version: version.clone() }),
            None => Err(VmError::missing(
                format!("the package archive offers no {name}"),
                "explode builds its guest from packages of Debian 12; if this is one, run as \
                 root: apt-get update",
            )),
        })
        .collect::<Result<Vec<_>>>()?;
    if !known.exists() {
        write_whole(&known, policy.as_bytes())?;
    }
    Ok(packages)
}

/// Downloads packages and unpacks them into the folder `root`.
pub(crate) fn unpack(building: &Building<'_>, packages: &[Package], root: &Path) -> Result<()> {
    offered(packages)?;
    let downloads = building.dir.join("downloads");
    fs::create_dir_all(&downloads).at("make the folder", &downloads)?;
    fs::create_dir_all(root).at("make the folder", root)?;
    building.progress.step(&format!("downloading {}", counted(packages)));
    let wanted = packages.iter().map(|package| format!("{}={}", package.name, package.version));
    // Without this option root's downloads are made by another user, who cannot write here.
    building.run(
        apt("apt-get")
            .args(["-o", "APT::Sandbox::User=root", "-q", "download"])
            .args(wanted)
            .current_dir(&downloads),
    )?;
    building.progress.step(&format!("unpacking {}", counted(packages)));
    let mut files = Vec::new();
    for entry in fs::read_dir(&downloads).at("list", &downloads)? {
        files.push(entry.at("list", &downloads)?.path());
    }
    files.sort();
    for (done, file) in files.iter().enumerate() {
        building.progress.tick(done as u64, files.len() as u64);
        building.run(Command::new("dpkg-deb").arg("-x").arg(file).arg(root))?;
    }
    fs::remove_dir_all(&downloads).at("remove", &downloads)
}

/// Returns true if apt has lists.
pub(crate) fn have_lists() -> bool {
    lists_stamp().is_ok()
}

/// Checks that the archive still has these versions.
fn offered(packages: &[Package]) -> Result<()> {
    let names = packages.iter().map(|package| package.name.as_str());
    let offers = parse_madison(&command::output(apt("apt-cache").arg("madison").args(names))?);
    for Package { name, version } in packages {
        let versions = offers.get(name).map_or(&[][..], Vec::as_slice);
        if versions.contains(version) {
            continue;
        }
        let has = if versions.is_empty() {
            "no version of it".to_owned()
        } else {
            format!("version {}", versions.join(", "))
        };
        return Err(VmError::missing(
            format!("the package archive no longer has {name} {version}; it has {has}"),
            format!(
                "run as root: apt-get update; if that does not help, name another version: \
                 EXPLODE_PACKAGES=\"{name}={}\"",
                if let [only] = versions { only } else { "VERSION" }
            ),
        ));
    }
    Ok(())
}

/// Returns a command of apt with a locale whose output can be parsed.
pub(super) fn apt(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env("LC_ALL", "C");
    command
}

/// Returns a text that changes when apt's lists change.
pub(super) fn lists_stamp() -> Result<String> {
    let mut stamps = Vec::new();
    for entry in fs::read_dir(LISTS).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.contains("_Packages") {
            continue;
        }
        stamps.push(format!("{name}@{}", modified(&entry.path())));
    }
    if stamps.is_empty() {
        return Err(VmError::missing(
            "apt has no lists of packages, and explode builds its guest from Debian's packages",
            "run as root: apt-get update",
        ));
    }
    stamps.sort();
    Ok(stamps.join(" "))
}

/// Returns the modification time of a file in nanoseconds since 1970. `absent` if it does not
/// exist.
fn modified(path: &Path) -> String {
    let changed = path.metadata().and_then(|data| data.modified());
    let since = changed.map(|changed| changed.duration_since(UNIX_EPOCH).unwrap_or_default());
    since.map_or_else(|_| "absent".to_owned(), |since| since.as_nanos().to_string())
}

fn counted(packages: &[Package]) -> String {
    match packages {
        [one] => one.name.clone(),
        _ => format!("{} packages", packages.len()),
    }
}

/// Parses the output of `apt-cache policy` into candidates by package.
fn parse_policy(text: &str) -> BTreeMap<String, String> {
    let mut versions = BTreeMap::new();
    let mut name = "";
    for line in text.lines() {
        if let Some(version) = line.trim_start().strip_prefix("Candidate: ") {
            if version != "(none)" {
                versions.insert(name.to_owned(), version.to_owned());
            }
        } else if !line.starts_with(' ') {
            name = line.trim_end().trim_end_matches(':');
        }
    }
    versions
}

/// Parses the output of `apt-cache madison` into versions by package, the newest first.
fn parse_madison(text: &str) -> BTreeMap<String, Vec<String>> {
    let mut offers: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in text.lines() {
        let mut columns = line.split('|').map(str::trim);
        let (Some(name), Some(version), Some(source)) =
            (columns.next(), columns.next(), columns.next())
        else {
            continue;
        };
        let versions = offers.entry(name.to_owned()).or_default();
        if source.ends_with("Packages") && !versions.iter().any(|known| known == version) {
            versions.push(version.to_owned());
        }
    }
    offers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_are_read_from_policy() {
        let text = "libc6:\n  Installed: 2.36-9\n  Candidate: 2.36-9+deb12u14\n  Version table:\n \
                    *** 2.36-9 500\n\
                    nothing:\n  Installed: (none)\n  Candidate: (none)\n  Version table:\n\
                    zlib1g:\n  Installed: (none)\n  Candidate: 1:1.2.13.dfsg-1\n";
        let versions = parse_policy(text);
        assert_eq!(versions.len(), 2);
        assert_eq!(versions["libc6"], "2.36-9+deb12u14");
        assert_eq!(versions["zlib1g"], "1:1.2.13.dfsg-1");
    }

    #[test]
    fn versions_are_read_from_madison() {
        let text = " rustc-web | 1.96.0+dfsg1-1~deb12u2 | http://a bookworm-security/main amd64 \
                    Packages\n \
                    rustc-web | 1.85.0+dfsg3-1~deb12u3 | http://b bookworm/main amd64 Packages\n \
                    rustc-web | 1.85.0+dfsg3-1~deb12u3 | http://c bookworm/main amd64 Packages\n \
                    rustc-web | 1.85.0+dfsg3-1~deb12u3 | http://c bookworm/main Sources\n";
        let offers = parse_madison(text);
        assert_eq!(offers["rustc-web"], ["1.96.0+dfsg1-1~deb12u2", "1.85.0+dfsg3-1~deb12u3"]);
    }
}
