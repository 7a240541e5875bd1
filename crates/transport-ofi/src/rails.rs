//! The entries of libfabric's list that a PE opens: one for its first rail, and those of the same kind for further ones.

use oxshmem_base::Error;
use oxshmem_libfabric_sys::Libfabric;
use oxshmem_os::interfaces;

use crate::address::MOST_RAILS;
use crate::info::Info;
use crate::list::{Selection, domains, list};

/// The entries that a PE opens.
pub(crate) struct ChosenEntries {
    pub(crate) first: Info,
    /// For its further rails.
    pub(crate) further: Vec<Info>,
    /// Cards that were wanted as rails and do not serve, with reasons.
    pub(crate) missing: Vec<String>,
}

/// The entries to use: of the nearest card that is among them, and as many further ones as are wanted, of the same kind.
/// Among interfaces those come first that lead out of the host.
pub(crate) fn choose(library: &'static Libfabric, selection: &Selection) -> Result<ChosenEntries, Error> {
    let mut found = list(library, selection)?;
    let named: Vec<&str> = selection.domain.iter().flat_map(|names| domains(names)).collect();
    let order = match named[..] {
        [_, _, ..] => named,
        _ => selection.nearest.iter().map(String::as_str).collect(),
    };
    let place = |info: &Info| {
        let names = [info.domain_name(), info.card_name()];
        order.iter().position(|wanted| names.iter().any(|name| name == wanted)).unwrap_or(order.len())
    };
    let leading_out = interfaces::leading_out();
    // Stable: libfabric's order otherwise.
    found.sort_by_key(|info| {
        let (domain, card) = (info.domain_name(), info.card_name());
        (place(info), info.endpoint().order(), !leading_out.contains(&domain), domain != card)
    });
    let first = found.remove(0);
    let usual = if first.endpoint().card { selection.cards_each } else { 1 };
    let wanted = selection.rails.unwrap_or(usual).clamp(1, MOST_RAILS);
    let (mut further, mut missing) = (Vec::new(), Vec::new());
    found.sort_by_key(place);
    for info in found {
        if further.len() + 1 == wanted {
            break;
        }
        // A card may have several domains.
        let is_its_card = |rail: &Info| rail.card_name() == info.card_name();
        if selection.domain.is_none() && (is_its_card(&first) || further.iter().any(is_its_card)) {
            continue;
        }
        match first.why_no_rail(&info, selection) {
            None => further.push(info),
            Some(NoRail::Other) => {}
            Some(NoRail::Because(why)) => missing.push(format!("{} ({why})", info.domain_name())),
        }
    }
    if let Some(asked) = selection.rails.filter(|&asked| asked > 1 + further.len() + missing.len()) {
        let more = asked - 1 - further.len() - missing.len();
        missing.push(format!("{more} more that SHMEM_RAILS={asked} asks for"));
    }
    Ok(ChosenEntries { first, further, missing })
}

/// Why an entry is no rail beside another.
enum NoRail {
    /// It is something else altogether.
    Other,
    Because(String),
}

impl Info {
    /// Why another entry is no rail beside this one.
    fn why_no_rail(&self, other: &Info, selection: &Selection) -> Option<NoRail> {
        if self.provider() != other.provider() || self.domain_name() == other.domain_name() {
            return Some(NoRail::Other);
        }
        let named = selection.domain.is_some();
        let because = |why: String| Some(NoRail::Because(why));
        if self.delivery != other.delivery {
            return because("it completes puts in another way".into());
        }
        // Long transfers end with their slowest piece.
        let speeds = self.speed().zip(other.speed()).filter(|(mine, theirs)| mine != theirs);
        match speeds.filter(|_| !named && selection.rails.is_none()) {
            Some((mine, theirs)) => because(format!("its link has {theirs} bits a second and not {mine}")),
            None if other.is_loopback() && !named => Some(NoRail::Other),
            None => None,
        }
    }
}
