//! overlay on the files below it: a lower folder that is empty or has a few files, an upper one
//! that receives every change, and a work folder in which overlay prepares them. Any sync passes
//! through to the file system of the upper folder (kernel, filesystems/overlayfs.rst). Recovery is
//! only that of the file system below.

mod folders;
mod layer;
mod lower;

use explode_runtime::base::{OptionDef, Options, UsageError};
use explode_runtime::stack::{Component, ComponentDef};

use super::MODES;
use super::common::{Common, options};
pub use layer::NAME;
use layer::Overlay;

/// The definition for the registry.
pub fn def() -> ComponentDef {
    ComponentDef::new(
        NAME,
        "overlay on folders of the file system below",
        build,
    )
    .modes(MODES)
    .on("ext4")
    .options(options![OptionDef {
        name: "lower",
        about: "contents of the lower folder, which a change copies up: empty, files (/a and /b/a)",
        default: "empty",
    }])
}

fn build(options: &Options) -> Result<Box<dyn Component>, UsageError> {
    let lower = options.one_of("lower", &[("empty", false), ("files", true)])?;
    Ok(Box::new(Overlay::new(Common::of(options)?, lower)))
}

#[cfg(test)]
mod tests {
    use explode_runtime::plan::Registry;
    use explode_runtime::stack::StackSpec;
    use explode_runtime::verdict::{Profile, Promise};

    use super::super::profiles;
    use super::*;

    fn profile_of(stack: StackSpec) -> Profile {
        let mut registry = Registry::default();
        crate::register(&mut registry);
        registry.components.profile_of(&stack).unwrap().expect("it has a profile")
    }

    /// Returns the profile of overlay on these components, bottom first.
    fn on(below: &[(&str, Options)]) -> Profile {
        let plug =
            |stack: StackSpec, (name, options): &(&str, Options)| stack.plug(name, options.clone());
        profile_of(below.iter().fold(StackSpec::default(), plug).plug(NAME, Options::none()))
    }

    /// Returns the source of the line that excludes this word.
    fn excluded<'p>(profile: &'p Profile, word: &str) -> Option<&'p str> {
        profile.excludes(word).map(|line| line.source)
    }

    #[test]
    fn overlay_keeps_no_more_than_the_file_system_below() {
        let plain = |name| (name, Options::none());
        let ext2 = on(&[plain("ramdisk"), plain("ext2")]);
        assert_eq!(ext2.system, "overlay on ext2 in Linux");
        let of = |word| excluded(&ext2, word).unwrap_or_default();
        assert!(of("replaced-name").contains("rename(2)"), "{}", of("replaced-name"));
        assert!(of("unsynced-attributes").contains("reboot(2)"), "{}", of("unsynced-attributes"));
        // A line that both exclude keeps overlay's own words.
        assert!(of("unsynced-contents").contains("overlayfs.rst"), "{}", of("unsynced-contents"));
        assert_eq!([excluded(&ext2, "synced-by-fsync"), excluded(&ext2, "kind")], [None, None]);
        // The excluded line replaces the kept one.
        let lines = |word: &str| ext2.promises.iter().filter(|line| line.name == word).count();
        assert_eq!(lines("replaced-name"), 1);

        let f2fs = |mode: &str| {
            on(&[plain("ramdisk"), ("f2fs", Options::none().with("fsync_mode", mode))])
        };
        let (synced, flushed) = (f2fs("posix"), f2fs("nobarrier"));
        assert_eq!(excluded(&synced, "synced-by-fsync"), None);
        assert!(
            excluded(&flushed, "synced-by-fsync")
                .unwrap_or_default()
                .contains("f2fs.rst, fsync_mode")
        );
        assert_eq!(excluded(&flushed, "synced-by-sync"), None);
    }

    #[test]
    fn overlay_keeps_its_own_promises_on_ext4_and_without_a_profile_below() {
        let plain = |name| (name, Options::none());
        let own: Vec<Promise> = profiles::overlay();
        assert_eq!(on(&[plain("ramdisk"), plain("ext4")]).promises, own);
        let alone = on(&[plain("ramdisk"), plain("toyfs")]);
        assert_eq!((alone.system.as_str(), alone.promises), ("overlay", own));
    }

    /// A layer between without a profile hides nothing. A layer with a profile replaces all below
    /// it.
    #[test]
    fn a_layer_between_counts_if_it_has_a_profile() {
        let below = |excludes: &str| {
            let liar = ("lying-sync", Options::none().with("excludes", excludes));
            on(&[("ramdisk", Options::none()), ("ext2", Options::none()), liar])
        };
        let (without, with) = (below("none"), below("synced-by-fsync"));
        assert_eq!(without.system, "overlay on ext2 in Linux");
        assert!(
            without.excludes("replaced-name").is_some()
                && without.excludes("synced-by-fsync").is_none()
        );
        assert_eq!(with.system, "overlay on lying-sync");
        assert!(
            with.excludes("replaced-name").is_none() && with.excludes("synced-by-fsync").is_some()
        );
    }

    /// Other layers on a file system have their own profiles.
    #[test]
    fn only_overlay_is_limited_by_the_promises_below() {
        let stack = |top: &str, options| {
            let below =
                StackSpec::default().plug("ramdisk", Options::none()).plug("ext2", Options::none());
            profile_of(below.plug(top, options))
        };
        assert_eq!(stack("rename-in-steps", Options::none()).system, "ext2 in Linux");
        let liar = stack("lying-sync", Options::none().with("excludes", "kind"));
        assert_eq!((liar.system.as_str(), liar.promises.len()), ("lying-sync", 1));
        let sqlite = stack("sqlite", Options::none());
        assert!(sqlite.excludes("replaced-name").is_none(), "{}", sqlite.system);
    }
}
