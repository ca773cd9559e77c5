//! The image of a guest: its hash, the packages of its programs, and the packages that the guest
//! has besides it. The host that boots the guest writes this file.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use explode_runtime::devices::IMAGE;

/// The path of the file in a guest: a line `image HASH`, then for each program a line
/// `PATH PACKAGE VERSION`, then for each package besides the image a line
/// [`PACKAGE`]` PACKAGE VERSION`.
pub const IMAGE_FILE: &str = "/agent/image";
/// The first word of the line of a package.
pub const PACKAGE: &str = "package";

/// The image of this machine. Empty if the machine is not a guest of explode.
#[derive(Debug, Default)]
pub(crate) struct Packages {
    image: Option<String>,
    /// The package and version of each program, by path.
    programs: BTreeMap<String, (String, String)>,
    /// The packages besides the image, with their versions.
    added: Vec<(String, String)>,
}

impl Packages {
    /// Reads the file of this machine.
    ///
    /// # Errors
    /// The file exists and cannot be read.
    pub fn of_this_machine() -> io::Result<Packages> {
        match std::fs::read_to_string(IMAGE_FILE) {
            Ok(text) => Ok(Packages::parse(&text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Packages::default()),
            Err(error) => Err(error),
        }
    }

    fn parse(text: &str) -> Packages {
        let mut packages = Packages::default();
        for line in text.lines() {
            match line.split(' ').collect::<Vec<_>>()[..] {
                [IMAGE, hash] => packages.image = Some(hash.to_owned()),
                [path, package, version] => {
                    let package = (package.to_owned(), version.to_owned());
                    match path {
                        PACKAGE => packages.added.push(package),
                        path => _ = packages.programs.insert(path.to_owned(), package),
                    }
                }
                _ => {}
            }
        }
        packages
    }

    /// Returns names and versions: those of the packages of these programs, of the packages besides
    /// the image, and the hash of the image if there is one. The stack's commands may run programs
    /// of each package.
    pub fn versions(&self, programs: &[impl AsRef<Path>]) -> Vec<(String, String)> {
        let package = |path: &Path| self.programs.get(path.to_str()?).cloned();
        let packages = programs.iter().filter_map(|path| package(path.as_ref()));
        let image = self.image.iter().map(|hash| (IMAGE.to_owned(), hash.clone()));
        packages.chain(self.added.iter().cloned()).chain(image).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_have_the_versions_of_their_packages() {
        let packages = Packages::parse(
            "image 0123\n/sbin/mke2fs e2fsprogs 1.47.0-2\n/sbin/e2fsck.static e2fsck-static \
             1.47.0-2\n/sbin/mkfs.fat dosfstools 4.2-1\npackage git 1:2.39.5-0\n",
        );
        let versions =
            packages.versions(&["/sbin/mke2fs", "/sbin/e2fsck.static", "/agent/bin/own"]);
        let versions: Vec<_> =
            versions.iter().map(|(name, version)| (&**name, &**version)).collect();
        let (image, tools) =
            (("image", "0123"), [("e2fsprogs", "1.47.0-2"), ("e2fsck-static", "1.47.0-2")]);
        assert_eq!(versions, [tools[0], tools[1], ("git", "1:2.39.5-0"), image]);
        assert!(Packages::parse("").versions(&["/sbin/mke2fs"]).is_empty());
    }
}
