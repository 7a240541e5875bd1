//! Times at which something happens if nothing else has before.

use tokio::time::Instant;

/// Returns at this time; never if there is none.
pub(crate) async fn at(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}
