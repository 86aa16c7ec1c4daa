//! A fault that is over by itself, some time after its payment first met it.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use domain::id::CheckoutId;
use payments::Payments;

use super::{Lab, WAIT_MAX};

/// How often it is looked whether the payment has met it.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Ends the fault of a checkout this long after its payment was first answered; stops where
/// somebody else ends it, or nobody pays.
pub async fn end_after(lab: Arc<Lab>, payments: Payments, checkout: CheckoutId, passes: Duration) {
    let end = Instant::now() + WAIT_MAX;
    while lab.runs.has_scripts(checkout) && Instant::now() < end {
        let sent = payments.requests(checkout).await.unwrap_or_default();
        if sent.iter().any(|it| it.ended_at.is_some()) {
            tokio::time::sleep(passes).await;
            return lab.calm(checkout).await;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
