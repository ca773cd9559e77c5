//! Threads of the store, which belong to the mount of the thread that starts them.

use std::ffi::{c_int, c_void};

use libc::{pthread_attr_t, pthread_t};
use nix::errno::Errno;

use super::define::{Address, RealFunction};
use crate::owner::Home;
use crate::refusal::refuse_with;

type Routine = extern "C-unwind" fn(*mut c_void) -> *mut c_void;
type Create =
    unsafe extern "C" fn(*mut pthread_t, *const pthread_attr_t, Routine, *mut c_void) -> c_int;

/// The text for a thread where only one may run.
const THREAD: &str = "the node starts a thread, which explode cannot order; a handler does its \
                      work before it returns";

/// A thread that is to be started.
struct Start {
    home: Home,
    routine: Routine,
    argument: *mut c_void,
}

/// Starts a thread, as pthread_create(3).
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_create(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    routine: Routine,
    argument: *mut c_void,
) -> c_int {
    static REAL: RealFunction = RealFunction::new("pthread_create\0");
    #[cfg(feature = "isolation")]
    if let Some(refused) = crate::isolation::thread_starts() {
        return refused;
    }
    let Some(address) = REAL.address() else { return Errno::ENOSYS as c_int };
    // SAFETY: The C library declares the function with this type.
    let create: Create = unsafe { std::mem::transmute(address) };
    let Some(home) = Home::current() else {
        // SAFETY: The arguments are those of the call of C.
        return unsafe { create(thread, attributes, routine, argument) };
    };
    if home.refuses_threads() {
        return refuse_with(&home, THREAD.to_owned(), Errno::EAGAIN) as c_int;
    }
    home.threads.starts();
    let start = Box::into_raw(Box::new(Start { home, routine, argument }));
    // SAFETY: The arguments are those of the call of C, and `begin` takes the box.
    let result = unsafe { create(thread, attributes, begin, start.cast()) };
    if result != 0 {
        // SAFETY: No thread has taken the box.
        unsafe { Box::from_raw(start) }.home.threads.has_started();
    }
    result
}

/// Begins a thread of the store.
extern "C-unwind" fn begin(start: *mut c_void) -> *mut c_void {
    // SAFETY: `pthread_create` has made the box for this call.
    let Start { home, routine, argument } = *unsafe { Box::from_raw(start.cast::<Start>()) };
    home.threads.started();
    Home::replace(Some(home));
    routine(argument)
}

/// The address of the function, for the linker.
pub static ADDRESSES: &[Address] = &[Address(pthread_create as *const ())];
