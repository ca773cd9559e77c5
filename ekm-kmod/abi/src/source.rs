//! The sources of the room `wire`, as data, because the builds of both modules compile them.

/// The path of each file below the folder in which the modules are built, and its bytes.
pub const WIRE: &[(&str, &[u8])] = &[
    ("ekm-kmod/abi/src/wire.rs", include_bytes!("wire.rs")),
    ("ekm-kmod/abi/src/wire/followed.rs", include_bytes!("wire/followed.rs")),
];
