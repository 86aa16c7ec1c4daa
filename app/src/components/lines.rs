//! The lines of an order or a receipt.

use domain::{money::Money, view::LineView};
use leptos::prelude::*;

use crate::text::{
    labels::{cart::TOTAL, checkout::LINES, each},
    money::money,
    products::product,
};

/// What is ordered and what it costs.
#[component]
pub fn Lines(
    /// The lines.
    lines: Vec<LineView>,
    /// Their sum.
    total: Money,
) -> impl IntoView {
    let rows = lines
        .into_iter()
        .map(|line| {
            let (name, _, _) = product(line.sku.as_str());
            view! {
                <tr>
                    <th scope="row">
                        {line.quantity} " × " {name}
                        <span class="unit">{each(&money(line.unit))}</span>
                    </th>
                    <td>{money(line.total)}</td>
                </tr>
            }
        })
        .collect_view();
    view! {
        <table class="lines">
            <caption class="visually-hidden">{LINES}</caption>
            <tbody>{rows}</tbody>
            <tfoot>
                <tr>
                    <th scope="row">{TOTAL}</th>
                    <td>{money(total)}</td>
                </tr>
            </tfoot>
        </table>
    }
    .into_any()
}
