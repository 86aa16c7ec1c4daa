//! The fault of an order's invoice: its number is known only once there is an order.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use domain::id::CheckoutId;
use payments::{Payments, invoice_number};

use super::{Lab, WAIT_MAX, scripts::Fault};

/// How often it is looked whether there is an order. Its payment takes much longer.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Lays the fault for the invoice of a checkout's order; stops where somebody ends the scenario.
pub async fn lay(lab: Arc<Lab>, payments: Payments, checkout: CheckoutId, fault: Fault) {
    let end = Instant::now() + WAIT_MAX;
    while lab.runs.has_scripts(checkout) && Instant::now() < end {
        if let Ok(Some(order)) = payments.checkout(checkout, None).await {
            let scripts = fault.of_invoice(&invoice_number(&order.reference));
            // Without it the invoice is an ordinary one, which the page shows as well.
            let laid = lab.control.install(&scripts).await.unwrap_or_default();
            lab.runs.add_scripts(checkout, laid);
            return;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
