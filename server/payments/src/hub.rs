//! Tells open status pages that something changed. Only a hint: whoever hears it reads the store.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use domain::id::CheckoutId;
use tokio::sync::watch;

/// One channel per watched checkout.
#[derive(Default)]
pub struct Hub {
    channels: Mutex<HashMap<CheckoutId, watch::Sender<u64>>>,
}

impl Hub {
    /// A receiver that changes whenever the checkout may have.
    pub fn subscribe(&self, id: CheckoutId) -> watch::Receiver<u64> {
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        channels.retain(|_, sender| !sender.is_closed());
        channels.entry(id).or_insert_with(|| watch::Sender::new(0)).subscribe()
    }

    /// Something about this checkout was committed.
    pub fn tell(&self, id: CheckoutId) {
        let channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = channels.get(&id) {
            sender.send_modify(|count| *count = count.wrapping_add(1));
        }
    }
}
