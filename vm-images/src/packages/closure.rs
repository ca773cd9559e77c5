//! The packages that a package needs to run: its dependencies, and theirs, without recommendations.

use std::fs;

use super::archive::{Package, apt, lists_stamp};
use crate::base::{CacheKey, Result, VmError};
use crate::cache::{Cache, write_whole};
use crate::host::command;

/// Returns the packages `base` and `names` and everything that they depend on, in the versions that
/// the archive offers, except the packages of `without`.
///
/// apt solves the dependencies as for a machine on which nothing is installed. The result is kept
/// until apt's lists change.
///
/// # Errors
/// [`VmError::Missing`] if the archive lacks a package, with apt's own words.
pub(crate) fn closure(
    cache: &Cache,
    base: &[&str],
    names: &[&str],
    without: &[&str],
) -> Result<Vec<Package>> {
    for name in names.iter().chain(without) {
        check_name(name)?;
    }
    let all = [base, names].concat();
    let key = CacheKey::new(1).with("closure", all.join(" ")).with("lists", lists_stamp()?);
    let known = cache.root().join("closures").join(key.hash());
    let plan = match fs::read_to_string(&known) {
        Ok(plan) => plan,
        Err(_) => {
            let plan = solved(base, names)?;
            write_whole(&known, plan.as_bytes())?;
            plan
        }
    };
    let mut packages = parse_plan(&plan);
    if let Some(unknown) = without.iter().find(|name| !packages.iter().any(|p| p.name == **name)) {
        return Err(VmError::Usage(format!(
            "without {unknown}: {} does not need it; omit it",
            names.join(" ")
        )));
    }
    packages.retain(|package| !without.contains(&package.name.as_str()));
    Ok(packages)
}

/// Returns apt's plan for an installation.
fn solved(base: &[&str], names: &[&str]) -> Result<String> {
    command::output(
        apt("apt-get")
            // Nothing is installed.
            .args(["-o", "Dir::State::status=/dev/null"])
            .args(["-o", "APT::Install-Recommends=false", "-o", "APT::Install-Suggests=false"])
            .args(["--simulate", "-q", "install"])
            .args(base)
            .args(names),
    )
    .map_err(|error| {
        VmError::missing(
            format!("apt finds no way to install {}: {error}", names.join(" ")),
            "write the names of packages of Debian 12; if they are, run as root: apt-get update",
        )
    })
}

/// Checks that the name is one that a package can have. apt takes other words as options.
fn check_name(name: &str) -> Result<()> {
    let may =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"+-.".contains(&byte);
    if name.len() > 1 && name.bytes().all(may) && !name.starts_with(['-', '+', '.']) {
        return Ok(());
    }
    Err(VmError::Usage(format!(
        "'{name}' is no name of a package; use lower case letters, digits, '+', '-' and '.'"
    )))
}

/// Parses the lines `Inst NAME (VERSION ...)` of a simulated installation. A name may have an
/// architecture, `NAME:amd64`.
fn parse_plan(text: &str) -> Vec<Package> {
    let package = |line: &str| {
        let (name, rest) = line.strip_prefix("Inst ")?.split_once(" (")?;
        let name = name.split([':', ' ']).next()?.to_owned();
        let version = rest.split([' ', ')']).next()?.to_owned();
        Some(Package { name, version })
    };
    let mut packages: Vec<Package> = text.lines().filter_map(package).collect();
    packages.sort_by(|one, other| one.name.cmp(&other.name));
    packages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_read_from_a_plan() {
        let text = "NOTE: This is only a simulation!\n\
                    Inst libc6 (2.36-9+deb12u14 Debian:12.1/oldstable [amd64])\n\
                    Inst git (1:2.39.5-0+deb12u3 Debian-Security:12/oldstable [amd64]) []\n\
                    Conf libc6 (2.36-9+deb12u14 Debian:12.1/oldstable [amd64])\n";
        let package = |name: &str, version: &str| Package {
            name: name.to_owned(),
            version: version.to_owned(),
        };
        assert_eq!(
            parse_plan(text),
            [package("git", "1:2.39.5-0+deb12u3"), package("libc6", "2.36-9+deb12u14")]
        );
    }

    #[test]
    fn words_that_are_no_names_are_refused() {
        for wrong in ["", "a", "-y", "Git", "git sh", "../git", "git=1"] {
            assert!(check_name(wrong).is_err(), "{wrong}");
        }
        for name in ["git", "libstdc++6", "python3.11", "postgresql-15"] {
            assert!(check_name(name).is_ok(), "{name}");
        }
    }
}
