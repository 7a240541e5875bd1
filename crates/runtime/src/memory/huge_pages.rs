//! The size of the heap's pages, where the user wants huge ones.

use oxshmem_base::knobs::Settings;
use oxshmem_base::{Error, size};
use oxshmem_os::limits::Limits;
use oxshmem_os::memory;

/// The huge pages for the heap. `None`: small ones, because the user wants no others, or the system has none free, or the NUMA nodes of the
/// program have none, or the control groups allow none.
pub(super) fn choose(settings: &Settings) -> Result<Option<u64>, Error> {
    let (sizes, default) = (memory::huge_page_sizes(), memory::huge_page_size());
    if !settings.huge_pages {
        return Ok(None);
    }
    let is_free = |size: &u64| Limits::of_pages(*size).look().iter().all(|limit| limit.free >= *size);
    Ok(of_sizes(settings.huge_page_size, &sizes, default)?.filter(is_free))
}

/// The size among those of the kernel that is `wanted`, or the default.
fn of_sizes(wanted: Option<u64>, sizes: &[u64], default: Option<u64>) -> Result<Option<u64>, Error> {
    let list = |written: fn(u64) -> String, word: &str| {
        sizes.iter().map(|bytes| written(*bytes)).collect::<Vec<_>>().join(word)
    };
    match wanted {
        Some(wanted) if !sizes.contains(&wanted) => {
            let wished = size::setting(wanted);
            let error =
                Error::new(format!("SHMEM_SYMMETRIC_HEAP_PAGE_SIZE={wished} is no size of huge pages of this kernel"));
            Err(match sizes {
                [] => error.because("it has none").fix("unset SHMEM_SYMMETRIC_HEAP_USE_HUGE_PAGES"),
                _ => error
                    .because(format!("it has pages of {}", list(size::display, " and ")))
                    .fix(format!("set SHMEM_SYMMETRIC_HEAP_PAGE_SIZE to {}", list(size::setting, " or "))),
            })
        }
        Some(wanted) => Ok(Some(wanted)),
        None => Ok(default),
    }
}

#[cfg(test)]
mod tests {
    use super::of_sizes;

    #[test]
    fn a_size_that_the_kernel_does_not_have_is_refused() {
        let sizes = [2 << 20, 1 << 30];
        assert_eq!(of_sizes(None, &sizes, Some(2 << 20)), Ok(Some(2 << 20)));
        assert_eq!(of_sizes(Some(1 << 30), &sizes, Some(2 << 20)), Ok(Some(1 << 30)));
        let refused = of_sizes(Some(3 << 20), &sizes, Some(2 << 20)).unwrap_err().to_string();
        let words = ["PAGE_SIZE=3M is no size", "it has pages of 2 MiB and 1 GiB", "PAGE_SIZE to 2M or 1G"];
        assert!(words.iter().all(|words| refused.contains(words)), "{refused}");
        assert_eq!(of_sizes(Some(2 << 20), &[], None).unwrap_err().reason(), Some("it has none"));
    }
}
