//! The probes of kernel functions that may fail, and the reasons why this kernel rejects one.

use std::fs::{self, File};
use std::os::fd::AsFd as _;

use explode_ekm_abi::user;
use explode_ekm_abi::wire::{
    FAIL_BUFFER, FAIL_CACHE, FAIL_COPY, FAIL_PAGE, FAIL_REQUEST, FAIL_SLAB, Kinds, LISTED_ERRNO,
    LISTED_ERRNO_NULL, LISTED_NULL, LISTED_TRUE, SITES_MAX,
};
use nix::errno::Errno;

use crate::numbers::{mask, number};
use explode_runtime::base::{RunError, UsageError};
use explode_runtime::choose::ChoiceKind;
use explode_runtime::faults::kernel::{FaultSite, KernelFaults};

/// The file with the names of functions.
const NAMES: &str = "/proc/kallsyms";

/// The function that each kind needs in a kernel.
const NEEDS: [(u32, &str); 6] = [
    (FAIL_SLAB, "should_failslab (CONFIG_FAILSLAB)"),
    (FAIL_PAGE, "should_fail_alloc_page (CONFIG_FAIL_PAGE_ALLOC)"),
    (FAIL_COPY, "fault_in_iov_iter_readable"),
    (FAIL_BUFFER, "__bread_gfp (CONFIG_BUFFER_HEAD)"),
    (FAIL_CACHE, "filemap_read_folio as a function of its own"),
    (FAIL_REQUEST, "should_fail_bio as a function of its own"),
];

/// Probes the functions that may fail, and no others.
///
/// # Errors
/// A kind that cannot fail in this kernel, or a function that does not exist or cannot or must not
/// fail.
pub(crate) fn register(ekm: &File, failures: &KernelFaults) -> Result<(), RunError> {
    check_functions(&failures.sites)?;
    let kinds = mask(failures.kinds());
    let found = user::choices(ekm.as_fd(), kinds).map_err(|errno| {
        RunError::Missing(format!(
            "EKM has no choices in this kernel: {}; it needs CONFIG_STACKTRACE, CONFIG_KALLSYMS \
             and CONFIG_KPROBES",
            errno.desc()
        ))
    })?;
    lacking(kinds, found).map_or(Ok(()), |text| Err(RunError::Missing(text)))?;
    if failures.sites.len() > SITES_MAX {
        let sites = failures.sites.len();
        return Err(UsageError(format!(
            "{sites} probes; at most {SITES_MAX} are possible, so omit some"
        ))
        .into());
    }
    for site in &failures.sites {
        let (probed, listed) = user::site(ekm.as_fd(), &site.symbol, site.returns, site.unlisted);
        probed.map_err(|errno| UsageError(refused(site, errno, listed)))?;
    }
    Ok(())
}

/// Describes the kinds that are wanted and missing in this kernel. `None` if none is missing.
fn lacking(wanted: u32, found: Kinds) -> Option<String> {
    let words = ChoiceKind::of_kernel().filter_map(|(kind, word)| Some((number(kind)?, word)));
    let needs = words.filter(|(number, _)| wanted & !found.kinds & number != 0);
    let needs: Vec<String> = needs
        .map(|(number, word)| {
            if found.untraced & number != 0 {
                return format!("'{word}' needs the function tracer (CONFIG_FUNCTION_TRACER)");
            }
            let needs = NEEDS
                .iter()
                .find(|(kind, _)| *kind == number)
                .map_or("a newer EKM", |(_, needs)| needs);
            format!("'{word}' needs {needs}")
        })
        .collect();
    let text = || {
        format!(
            "this kernel cannot fail all that 'fail' names: {}; name others, or build a kernel \
             with that",
            needs.join(", ")
        )
    };
    (!needs.is_empty()).then(text)
}

/// Checks that the kernel has exactly one function with each of these names.
fn check_functions(sites: &[FaultSite]) -> Result<(), RunError> {
    if sites.is_empty() {
        return Ok(());
    }
    let text = fs::read_to_string(NAMES)
        .map_err(|error| RunError::Missing(format!("{NAMES}: {error}")))?;
    let functions = || text.lines().filter_map(function);
    for FaultSite { symbol, .. } in sites {
        match functions().filter(|name| name == symbol).count() {
            1 => {}
            0 => {
                let text = format!(
                    "probe: this kernel has no function '{symbol}'{}",
                    hint(symbol, functions())
                );
                return Err(UsageError(text).into());
            }
            several => {
                let text = format!(
                    "probe: this kernel has {several} functions '{symbol}', and only one could be \
                     probed; name a function that calls the \
                     one that is meant"
                );
                return Err(UsageError(text).into());
            }
        }
    }
    Ok(())
}

/// Returns the name of the function in a line, which has an address, a letter, a name and its
/// module.
fn function(line: &str) -> Option<&str> {
    let mut words = line.split_ascii_whitespace().skip(1);
    let letter = words.next()?;
    words.next().filter(|_| letter.eq_ignore_ascii_case("t") || letter.eq_ignore_ascii_case("w"))
}

/// Returns a hint to a function with a similar name.
fn hint<'a>(symbol: &str, functions: impl Iterator<Item = &'a str> + Clone) -> String {
    let is_part = |name: &&str| name.strip_prefix(symbol).is_some_and(|rest| rest.starts_with('.'));
    if let Some(part) = functions.clone().find(is_part) {
        return format!("; the compiler has made '{part}' of it, whose arguments may be others");
    }
    // There are tens of thousands of names. Only those with the same first letters are compared.
    let most = 1 + symbol.len() / 3;
    let alike = |name: &&str| {
        name.len().abs_diff(symbol.len()) <= most
            && name.bytes().zip(symbol.bytes()).take(3).all(|(one, other)| one == other)
    };
    let near =
        functions.filter(alike).map(|name| (strsim::damerau_levenshtein(symbol, name), name)).min();
    match near {
        Some((distance, near)) if distance <= most => format!("; did you mean '{near}'?"),
        _ => format!(
            "; it may be inlined into its callers, or be of a module that is not loaded; {NAMES} \
             has all names"
        ),
    }
}

/// Returns the reason why EKM rejects a function.
fn refused(FaultSite { symbol, returns, .. }: &FaultSite, errno: Errno, listed: u32) -> String {
    let fails_with = match listed {
        LISTED_NULL => Some("null, write 0"),
        LISTED_ERRNO => Some("an error, write one such as -EIO"),
        LISTED_ERRNO_NULL => Some("an error or null, write one such as -EIO, or 0"),
        LISTED_TRUE => Some("true, write 1"),
        _ => None,
    };
    match (errno, fails_with) {
        (Errno::EPERM, Some(with)) => format!(
            "probe: '{symbol}' fails with {with}; the kernel's list of functions that may fail \
             does not allow {returns}"
        ),
        (Errno::EPERM, None) => format!(
            "probe: '{symbol}' is not in the kernel's list of functions that may fail \
             (ALLOW_ERROR_INJECTION), so its callers may rely on what it does; read it, and if it \
             may return {returns} at once, add ':unlisted' (unlisted = true in a stack file)"
        ),
        (Errno::EEXIST, _) => {
            format!(
                "probe: '{symbol}' is a second name of a function that is named already; omit \
                 one"
            )
        }
        (errno, _) => format!(
            "probe: '{symbol}' cannot be probed: {}; the kernel forbids probes in functions \
             that probes use; name a function that calls it",
            errno.desc()
        ),
    }
}

#[cfg(test)]
mod tests {
    use explode_ekm_abi::wire::{FAIL_MODULE, FAIL_PROBE, LATE};

    use super::*;

    #[test]
    fn each_kind_names_its_requirements() {
        let all = FAIL_SLAB | FAIL_COPY | FAIL_BUFFER | FAIL_MODULE | FAIL_PROBE;
        assert_eq!(lacking(all, Kinds { kinds: all, untraced: 0 }), None);
        let kinds = FAIL_COPY | FAIL_MODULE | FAIL_PROBE;
        assert_eq!(
            lacking(all, Kinds { kinds, untraced: FAIL_BUFFER }).unwrap(),
            "this kernel cannot fail all that 'fail' names: 'slab' needs should_failslab \
             (CONFIG_FAILSLAB), 'buffer' needs the function \
             tracer (CONFIG_FUNCTION_TRACER); name others, or build a kernel with that"
        );
        // Any kernel can make the other choices: in modules, in functions that the user names, and
        // in the disk of `rdd`.
        let of_functions =
            ChoiceKind::of_kernel().filter_map(|(kind, word)| Some((number(kind)?, word)));
        let of_functions =
            of_functions.filter(|(number, _)| (FAIL_MODULE | FAIL_PROBE | LATE) & number == 0);
        for (number, word) in of_functions {
            assert!(NEEDS.iter().any(|(kind, _)| *kind == number), "{word}");
        }
    }

    #[test]
    fn hints_name_similar_functions() {
        let lines = "ffff0000 T vfs_mkdir\nffff1000 t submit_bh_wbc.constprop.0\nffff2000 d \
                     vfs_mkdirs\nffff3000 t xfs_a\t[xfs]\n";
        let functions = lines.lines().filter_map(function);
        assert_eq!(
            functions.clone().collect::<Vec<_>>(),
            ["vfs_mkdir", "submit_bh_wbc.constprop.0", "xfs_a"]
        );
        assert_eq!(hint("vfs_mkdri", functions.clone()), "; did you mean 'vfs_mkdir'?");
        assert!(
            hint("submit_bh_wbc", functions.clone())
                .starts_with("; the compiler has made 'submit_bh_wbc.constprop.0'")
        );
        assert!(hint("something_else", functions).contains("may be inlined"));
    }
}
