//! The provider's door, shut for the scenario that needs a refused connection.
//!
//! It is everybody's: nobody knows whose payment a connection is for before a byte was sent. So it
//! opens again as soon as the payment it was shut for has met it, and after two minutes by itself.

use std::{
    collections::HashSet,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use domain::id::CheckoutId;
use payments::Payments;
use uuid::Uuid;

use super::Lab;

/// The provider opens its door by itself after so long.
const SHUT_MAX: Duration = Duration::from_secs(120);
/// How often it is looked whether the payment has met it.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Who needs the door shut.
#[derive(Default)]
pub struct Holders(Mutex<HashSet<Uuid>>);

impl Holders {
    fn lock(&self) -> MutexGuard<'_, HashSet<Uuid>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it is shut for this one.
    pub fn has(&self, holder: Uuid) -> bool {
        self.lock().contains(&holder)
    }
}

impl Lab {
    /// Shuts the door for somebody; false if that did not happen.
    pub async fn shut_door(&self, holder: Uuid) -> bool {
        let shut = self.control.shut(SHUT_MAX).await;
        if shut {
            self.door.lock().insert(holder);
        }
        shut
    }

    /// Opens the door if it was shut for this one, and for nobody else.
    pub async fn open_door(&self, holder: Uuid) {
        let last = {
            let mut holders = self.door.lock();
            holders.remove(&holder) && holders.is_empty()
        };
        if last {
            self.control.open().await;
        }
    }
}

/// Opens the door once a payment has met it, or after the longest time.
pub async fn open_once_met(lab: std::sync::Arc<Lab>, payments: Payments, checkout: CheckoutId) {
    let met = async {
        while lab.door.has(checkout.0) {
            let sent = payments.requests(checkout).await.unwrap_or_default();
            if sent.iter().any(|it| it.transport == "not_sent") {
                break;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    };
    let _met_or_late = tokio::time::timeout(SHUT_MAX, met).await;
    lab.open_door(checkout.0).await;
}
