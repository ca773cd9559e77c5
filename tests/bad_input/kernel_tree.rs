//! Small trees that look like a user's built kernel, with their own Makefile.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use explode_vm::{BuildOptions, Builder, Cache, Silent};
use tempfile::{TempDir, tempdir};

use crate::common::program;

/// A tree, and a cache with the user's tools and image and no builds for the tree.
pub struct Tree(TempDir);

/// A source file of the kernel, and a header that it uses.
pub const SOURCE: &str = "fs/ext4/inode.c";
pub const HEADER: &str = "fs/ext4/ext4.h";

impl Tree {
    /// `modules` is the command with which make builds modules. Each start of it adds a line to
    /// `starts`.
    pub fn new(modules: &str) -> Tree {
        let tree = Tree(tempdir().unwrap());
        let user = Cache::of_user().unwrap();
        fs::create_dir_all(tree.cache()).unwrap();
        for kind in ["tools", "image", "versions"] {
            std::os::unix::fs::symlink(user.root().join(kind), tree.cache().join(kind)).unwrap();
        }
        let fragment =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("vm-images/kernel/explode.config");
        let fragment = fs::read_to_string(fragment).unwrap();
        let compiler = rustc(&user);
        // The fragment's options select the first.
        let config =
            format!("{fragment}\nCONFIG_TRACEPOINTS=y\nCONFIG_RUSTC_VERSION_TEXT=\"{compiler}\"\n");
        let makefile = format!("modules:\n\t@echo start >>$(CURDIR)/starts\n\t{modules}\n");
        let command =
            format!("savedcmd_x := gcc\n\nsource_x := {SOURCE}\n\ndeps_x := \\\n  {HEADER} \\\n\n");
        tree.write(".config", &config, 10);
        tree.write("Makefile", &makefile, 10);
        tree.write(SOURCE, "", 10);
        tree.write(HEADER, "", 10);
        tree.write("fs/ext4/.inode.o.cmd", &command, 20);
        tree.write("include/config/kernel.release", "6.12.0-test\n", 30);
        for name in ["vmlinux.symvers", "rust/libkernel.rmeta", "scripts/module.lds"] {
            tree.write(name, "", 30);
        }
        tree.write("arch/x86/boot/bzImage", "an image", 30);
        tree
    }

    /// Returns the folder of the tree.
    pub fn folder(&self) -> PathBuf {
        self.0.path().join("tree")
    }

    fn cache(&self) -> PathBuf {
        self.0.path().join("cache/explode")
    }

    /// Writes a file of the tree, with a time `at` seconds after the tree's beginning.
    pub fn write(&self, name: &str, text: &str, at: u64) {
        let path = self.folder().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000 + at);
        fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    }

    /// Returns the number of times that modules were built.
    pub fn starts(&self) -> usize {
        fs::read_to_string(self.folder().join("starts")).unwrap_or_default().lines().count()
    }

    /// Returns `explode` with this tree as the guests' kernel, in the folder that has the tree and
    /// gets the run folder.
    pub fn explode(&self, args: &str) -> Command {
        let mut command = Command::new(program());
        command.args(args.split_whitespace()).current_dir(self.0.path());
        command
            .env("EXPLODE_KERNEL", self.folder())
            .env("XDG_CACHE_HOME", self.0.path().join("cache"));
        command
    }
}

/// Returns the version text of the compiler that builds modules.
fn rustc(user: &Cache) -> String {
    let options = BuildOptions::default();
    let tools = Builder { cache: user, options: &options, progress: &Silent }.tools().unwrap();
    let said = Command::new(tools.rustc()).arg("--version").output().unwrap().stdout;
    String::from_utf8(said).unwrap().trim().to_owned()
}
