//! The size of the heap's pages, where the user wants huge ones.

use oxshmem_base::knobs::Settings;
use oxshmem_base::size;
use oxshmem_os::memory;

/// The huge pages for the heap. `None`: small ones, because the user wants no others or the system has none free.
pub(super) fn choose(settings: &Settings) -> Result<Option<u64>, String> {
    let (sizes, default) = (memory::huge_page_sizes(), memory::huge_page_size());
    if !settings.huge_pages {
        return Ok(None);
    }
    Ok(of_sizes(settings.huge_page_size, &sizes, default)?.filter(|size| memory::free_huge_pages(*size) > 0))
}

/// The size among those of the kernel that is `wanted`, or the default.
fn of_sizes(wanted: Option<u64>, sizes: &[u64], default: Option<u64>) -> Result<Option<u64>, String> {
    match wanted {
        Some(wanted) if !sizes.contains(&wanted) => {
            let known: Vec<String> = sizes.iter().map(|bytes| size::display(*bytes)).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            Err(format!(
                "SHMEM_SYMMETRIC_HEAP_PAGE_SIZE asks for pages of {}; the kernel has huge pages of these sizes: {known}",
                size::display(wanted)
            ))
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
        let refused = of_sizes(Some(3 << 20), &sizes, Some(2 << 20)).unwrap_err();
        assert!(refused.contains("pages of 3 MiB") && refused.ends_with("2 MiB, 1 GiB"), "{refused}");
        assert!(of_sizes(Some(2 << 20), &[], None).unwrap_err().ends_with("none"));
    }
}
