//! The fault lab: for demos on one's own machine, never beside real money.

use payments::provider::Access;
use secrecy::SecretString;

use super::{Flags, Wrong, providers, values};

const NAME: &str = "PAYONCE_LAB_CONTROL_URL";

/// What the fault lab needs.
#[derive(Clone, Debug)]
pub struct LabSettings {
    /// ExamplePay's control API.
    pub control_url: String,
    /// ExamplePay's own API, for the naive shop that is shown for comparison.
    pub api_url: String,
    /// The key it takes.
    pub api_key: SecretString,
    /// The invoicing partner's address and the key it takes, for the same shop; `None` without one.
    pub invoicing: Option<(String, SecretString)>,
    /// What the shop's waits are multiplied by: a fault that has to outlast one of them is too.
    pub time_scale: f64,
}

/// The lab's settings; none where there is to be no lab. What is wrong is one line each.
pub fn read(
    flags: &Flags,
    public_url: Option<&str>,
    accesses: &[Access],
    wrong: &mut Wrong,
) -> Option<LabSettings> {
    let given = flags.lab_control_url.as_deref().filter(|it| !it.trim().is_empty())?;
    let control_url = wrong.take(values::url(NAME, given));
    let lab = "the fault lab breaks payments on purpose";
    if let Some(why) = providers::live(&flags.providers) {
        wrong.0.push(format!("{NAME} is set although {why}: {lab}, so take one of them away"));
    }
    if public_url.is_some_and(|it| it.starts_with("https://") && !values::is_this_machine(it)) {
        wrong.0.push(format!("{NAME} is set although PAYONCE_PUBLIC_URL is not on this machine: {lab}, so take it away, or give http://localhost"));
    }
    let own = accesses
        .iter()
        .find_map(|it| if let Access::ExamplePay(own) = it { Some(own) } else { None });
    if own.is_none() && wrong.0.is_empty() {
        wrong.0.push(format!("{NAME} is set, but PAYONCE_EXAMPLEPAY_API_KEY is not: give the key, or take the lab away"));
    }
    let invoicing = accesses.iter().find_map(|it| match it {
        Access::Invoicing(it) => Some((it.base_url.clone(), it.api_key.clone())),
        Access::ExamplePay(_) | Access::Stripe(_) | Access::PayPal(_) | Access::Shipping(_) => None,
    });
    let own = own?;
    Some(LabSettings {
        control_url: control_url?,
        api_url: own.base_url.clone(),
        api_key: own.api_key.clone(),
        invoicing,
        time_scale: values::scale(&flags.time_scale).unwrap_or(1.0),
    })
}
