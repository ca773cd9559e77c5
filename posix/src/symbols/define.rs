//! The macro that defines functions of C, and what their bodies have in common.

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

use explode_ramdisk::files::Result;
use nix::errno::Errno;

use crate::descriptors::{self, Description};
use crate::folder::{PREFIX, StoreFiles};
use crate::owner::Home;
use crate::refusal::refuse_with;
use crate::walk::{ROOT, Route};

/// The answer to a call. `None` if the call is not for simulated files.
pub type CallAnswer<T> = Option<Result<T>>;

/// The address of a function.
#[derive(Clone, Copy)]
pub struct Address(pub *const ());

// SAFETY: The address is only compared and counted.
unsafe impl Sync for Address {}

/// A function of the C library, looked up when it is first called.
pub struct RealFunction {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
}

impl RealFunction {
    /// Returns the function of a name with a NUL after it.
    pub const fn new(name: &'static str) -> RealFunction {
        let Ok(name) = CStr::from_bytes_with_nul(name.as_bytes()) else {
            panic!("one NUL ends the name")
        };
        RealFunction { name, address: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// Returns the address. `None` if this C library has no such function.
    pub fn address(&self) -> Option<*mut c_void> {
        let mut address = self.address.load(Ordering::Acquire);
        if address.is_null() {
            // SAFETY: The name ends with a NUL.
            address = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
            self.address.store(address, Ordering::Release);
        }
        (!address.is_null()).then_some(address)
    }
}

/// A value that a function of C returns.
pub trait CValue: Sized {
    /// The value for an error, with `errno`.
    const FAILED: Self;
}

macro_rules! minus_one {
    ($($type:ty),*) => { $(impl CValue for $type { const FAILED: $type = -1; })* };
}

minus_one!(c_int, isize, i64);

impl<T> CValue for *mut T {
    const FAILED: *mut T = std::ptr::null_mut();
}

/// A function without a value shows no error.
impl CValue for () {
    const FAILED: () = ();
}

/// A result that is returned as a value of C.
pub trait As<C> {
    fn value(self) -> C;
}

impl As<c_int> for () {
    fn value(self) -> c_int {
        0
    }
}

impl As<()> for () {
    fn value(self) {}
}

impl As<c_int> for c_int {
    fn value(self) -> c_int {
        self
    }
}

impl As<isize> for usize {
    fn value(self) -> isize {
        self as isize
    }
}

impl As<i64> for i64 {
    fn value(self) -> i64 {
        self
    }
}

impl<T> As<*mut T> for *mut T {
    fn value(self) -> *mut T {
        self
    }
}

/// The result of a call that never succeeds.
pub enum Never {}

impl<C> As<C> for Never {
    fn value(self) -> C {
        match self {}
    }
}

/// Returns a result to C.
pub fn returned<T: As<C>, C: CValue>(result: Result<T>) -> C {
    match result {
        Ok(value) => value.value(),
        Err(errno) => {
            errno.set();
            C::FAILED
        }
    }
}

/// Defines functions of C, each with the answer for simulated files. If there is none, the function
/// of the C library is called.
macro_rules! define {
    ($(fn $name:ident($($arg:ident: $type:ty),* $(,)?) -> $return:ty = $answer:expr;)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($arg: $type),*) -> $return {
                use $crate::symbols::define::{CValue, RealFunction, returned};
                static REAL: RealFunction =
                    RealFunction::new(concat!(stringify!($name), "\0"));
                // SAFETY: The arguments are those of the call of C.
                #[allow(unused_unsafe, reason = "some answers use no argument")]
                if let Some(answer) = unsafe { $answer } {
                    return returned(answer);
                }
                let Some(address) = REAL.address() else {
                    nix::errno::Errno::ENOSYS.set();
                    return <$return as CValue>::FAILED;
                };
                type Real = unsafe extern "C" fn($($type),*) -> $return;
                // SAFETY: The C library declares the function with these types.
                let real = unsafe { std::mem::transmute::<*mut std::ffi::c_void, Real>(address) };
                // SAFETY: The arguments are those of the call of C.
                unsafe { real($($arg),*) }
            }
        )*

        /// The addresses of the functions.
        pub static ADDRESSES: &[$crate::symbols::define::Address] =
            &[$($crate::symbols::define::Address($name as *const ())),*];
    };
}

/// Returns the text of a C string. `None` for a null pointer.
///
/// # Safety
/// The pointer is null or leads to a C string, which outlives the result.
pub unsafe fn bytes<'a>(path: *const c_char) -> Option<&'a [u8]> {
    // SAFETY: That of this function.
    (!path.is_null()).then(|| unsafe { CStr::from_ptr(path) }.to_bytes())
}

/// Returns the text of a C string. `EILSEQ` if it is not UTF-8, which simulated files cannot hold.
///
/// # Safety
/// That of [`bytes`].
pub unsafe fn text<'a>(path: *const c_char) -> Result<&'a str> {
    // SAFETY: That of this function.
    let bytes = unsafe { bytes(path) }.ok_or(Errno::EFAULT)?;
    std::str::from_utf8(bytes).map_err(|_| Errno::EILSEQ)
}

/// A path of a call that is for simulated files.
pub struct Place {
    pub home: Home,
    /// The path. An error for one that simulated files cannot have.
    pub route: Result<Route>,
}

/// Returns the place of a path of a call. `None` if the path does not lead to simulated files.
///
/// # Safety
/// That of [`bytes`].
pub unsafe fn place(directory: c_int, path: *const c_char) -> Option<Place> {
    // SAFETY: That of this function.
    let bytes = unsafe { bytes(path) }?;
    if let Some(below) = bytes.strip_prefix(PREFIX.as_bytes()) {
        if !below.is_empty() && !below.starts_with(b"/") {
            return None;
        }
        let home = Home::current()?;
        home.refuse_if_ended();
        let route = match bytes.strip_prefix(home.prefix.as_bytes()) {
            Some(below) if below.is_empty() || below.starts_with(b"/") => route(ROOT, below),
            _ => Err(outside(&home, bytes)),
        };
        return Some(Place { home, route });
    }
    if bytes.starts_with(b"/") || directory == libc::AT_FDCWD {
        return None;
    }
    let open = descriptors::find(directory)?;
    let start = open.home.with(|folder| Ok(folder.opened(open.id)?.node));
    let route = start
        .and_then(|start| if bytes.is_empty() { Err(Errno::ENOENT) } else { route(start, bytes) });
    Some(Place { home: open.home.clone(), route })
}

/// Refuses a path that is not below the folder of a mount.
fn outside(home: &Home, path: &[u8]) -> Errno {
    let path = String::from_utf8_lossy(path);
    let text = format!("the node uses {path}; on its host only {} exists", home.prefix);
    refuse_with(home, text, Errno::ENOENT)
}

fn route(start: u32, path: &[u8]) -> Result<Route> {
    match OsStr::from_bytes(path).to_str() {
        _ if path.len() >= libc::PATH_MAX as usize => Err(Errno::ENAMETOOLONG),
        Some(names) => Ok(Route { start, names: names.to_owned() }),
        None => Err(Errno::EILSEQ),
    }
}

/// Answers a call on a path.
///
/// # Safety
/// That of [`bytes`].
pub unsafe fn on_path<T>(
    directory: c_int,
    path: *const c_char,
    call: impl FnOnce(&mut StoreFiles, &Route) -> Result<T>,
) -> CallAnswer<T> {
    // SAFETY: That of this function.
    let Place { home, route } = unsafe { place(directory, path) }?;
    Some(route.and_then(|route| home.with(|folder| call(folder, &route))))
}

/// Answers a call on two paths. `EXDEV` if only one of them leads to simulated files.
///
/// # Safety
/// That of [`bytes`], for both.
pub unsafe fn on_paths<T>(
    (from_directory, from): (c_int, *const c_char),
    (to_directory, to): (c_int, *const c_char),
    call: impl FnOnce(&mut StoreFiles, &Route, &Route) -> Result<T>,
) -> CallAnswer<T> {
    // SAFETY: That of this function.
    let (from, to) = unsafe { (place(from_directory, from), place(to_directory, to)) };
    match (from, to) {
        (None, None) => None,
        (Some(from), Some(to)) => Some(from.route.and_then(|source| {
            let target = to.route?;
            from.home.with(|folder| call(folder, &source, &target))
        })),
        _ => Some(Err(Errno::EXDEV)),
    }
}

/// Answers a call on a descriptor.
pub fn on_fd<T>(fd: c_int, call: impl FnOnce(&mut StoreFiles, u64) -> Result<T>) -> CallAnswer<T> {
    let open = descriptors::find(fd)?;
    Some(open.home.with(|folder| call(folder, open.id)))
}

/// Returns the open file of a descriptor, for calls that need more than its files.
pub fn opened(fd: c_int) -> Option<Arc<Description>> {
    descriptors::find(fd)
}
