//! Compiles littlefs and the few lines of C that keep its structures out of Rust.

fn main() {
    for file in
        ["shim.c", "littlefs/lfs.c", "littlefs/lfs.h", "littlefs/lfs_util.c", "littlefs/lfs_util.h"]
    {
        println!("cargo::rerun-if-changed={file}");
    }
    cc::Build::new()
        .flag("-std=c99")
        // It prints to standard output, which is not ours to give; assertions stay.
        .define("LFS_NO_DEBUG", None)
        .define("LFS_NO_WARN", None)
        .define("LFS_NO_ERROR", None)
        .include("littlefs")
        .files(["shim.c", "littlefs/lfs.c", "littlefs/lfs_util.c"])
        .compile("explode-littlefs");
}
