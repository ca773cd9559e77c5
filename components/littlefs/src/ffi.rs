//! The functions of `shim.c`.

use std::ffi::{c_char, c_int, c_void};

/// A volume of `shim.c`.
#[repr(C)]
pub struct Volume {
    opaque: [u8; 0],
}

/// An open file of `shim.c`.
#[repr(C)]
pub struct File {
    opaque: [u8; 0],
}

#[repr(C)]
pub struct Device {
    pub context: *mut c_void,
    pub read: unsafe extern "C" fn(*mut c_void, u32, u32, *mut c_void, u32) -> c_int,
    pub prog: unsafe extern "C" fn(*mut c_void, u32, u32, *const c_void, u32) -> c_int,
    pub erase: unsafe extern "C" fn(*mut c_void, u32) -> c_int,
    pub sync: unsafe extern "C" fn(*mut c_void) -> c_int,
}

#[repr(C)]
pub struct Geometry {
    pub prog_size: u32,
    pub block_size: u32,
    pub block_count: u32,
    pub cache_size: u32,
    pub block_cycles: i32,
}

unsafe extern "C" {
    pub fn explode_lfs_new(device: *const Device, geometry: *const Geometry) -> *mut Volume;
    pub fn explode_lfs_free(volume: *mut Volume);
    pub safe fn explode_lfs_version() -> u32;
    pub fn explode_lfs_format(volume: *mut Volume) -> c_int;
    pub fn explode_lfs_mount(volume: *mut Volume) -> c_int;
    pub fn explode_lfs_mkconsistent(volume: *mut Volume) -> c_int;
    pub fn explode_lfs_unmount(volume: *mut Volume) -> c_int;
    pub fn explode_lfs_file_open(
        volume: *mut Volume,
        path: *const c_char,
        flags: c_int,
        opened: *mut *mut File,
    ) -> c_int;
    pub fn explode_lfs_file_close(volume: *mut Volume, file: *mut File) -> c_int;
    pub fn explode_lfs_file_free(file: *mut File);
    pub fn explode_lfs_file_sync(volume: *mut Volume, file: *mut File) -> c_int;
    pub fn explode_lfs_file_size(volume: *mut Volume, file: *mut File) -> i32;
    pub fn explode_lfs_file_read(
        volume: *mut Volume,
        file: *mut File,
        at: u32,
        buffer: *mut c_void,
        size: u32,
    ) -> i32;
    pub fn explode_lfs_file_write(
        volume: *mut Volume,
        file: *mut File,
        at: u32,
        buffer: *const c_void,
        size: u32,
    ) -> i32;
    pub fn explode_lfs_file_truncate(volume: *mut Volume, file: *mut File, size: u32) -> c_int;
    pub fn explode_lfs_stat(
        volume: *mut Volume,
        path: *const c_char,
        is_directory: *mut c_int,
        size: *mut u32,
    ) -> c_int;
    pub fn explode_lfs_list(
        volume: *mut Volume,
        path: *const c_char,
        context: *mut c_void,
        each: unsafe extern "C" fn(*mut c_void, *const c_char, c_int),
    ) -> c_int;
    pub fn explode_lfs_mkdir(volume: *mut Volume, path: *const c_char) -> c_int;
    pub fn explode_lfs_remove(volume: *mut Volume, path: *const c_char) -> c_int;
    pub fn explode_lfs_rename(volume: *mut Volume, from: *const c_char, to: *const c_char)
    -> c_int;
}
