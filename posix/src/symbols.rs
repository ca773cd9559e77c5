//! The functions of the C library that this crate takes the place of.
//!
//! A symbol of the program itself precedes one of a shared library, so calls of Rust's standard
//! library and of other code in the program arrive here. A call that is not for simulated files is
//! passed on to the function of the C library.

#[macro_use]
mod define;
mod data;
mod descriptor;
mod directory;
#[cfg(feature = "isolation")]
mod isolated;
mod memory;
mod name;
mod open;
mod other;
mod status;
mod system;
mod thread;

use define::Address;

/// Returns the number of functions. The call makes the linker keep all of them.
pub fn count() -> usize {
    let modules: [&[Address]; 10] = [
        data::ADDRESSES,
        descriptor::ADDRESSES,
        directory::ADDRESSES,
        memory::ADDRESSES,
        name::ADDRESSES,
        open::ADDRESSES,
        other::ADDRESSES,
        status::ADDRESSES,
        system::ADDRESSES,
        thread::ADDRESSES,
    ];
    #[cfg(feature = "isolation")]
    let modules = modules.into_iter().chain([isolated::ADDRESSES]);
    let addresses = modules.into_iter().flatten();
    addresses.filter(|Address(function)| !std::hint::black_box(*function).is_null()).count()
}
