//! The lines of an order or a receipt.

use domain::{money::Money, view::LineView};
use leptos::prelude::*;

use crate::text::{self, money::money, products, say};

/// What is ordered and what it costs.
#[component]
pub fn Lines(
    /// The lines.
    lines: Vec<LineView>,
    /// Their sum.
    total: Money,
) -> impl IntoView {
    let lang = text::lang();
    let rows = lines
        .into_iter()
        .map(|line| {
            let name = products::name(lang, line.sku.as_str());
            view! {
                <tr>
                    <th scope="row">
                        {line.quantity} " × " {name}
                        {(line.quantity > 1)
                            .then(|| {
                                view! {
                                    <span class="unit">
                                        {say!(lang, shop.cart.each, price = money(lang, line.unit))}
                                    </span>
                                }
                            })}
                    </th>
                    <td>{money(lang, line.total)}</td>
                </tr>
            }
        })
        .collect_view();
    view! {
        <table class="lines">
            <caption class="visually-hidden">{say!(lang, checkout.lines)}</caption>
            <tbody>{rows}</tbody>
            <tfoot>
                <tr>
                    <th scope="row">{say!(lang, shop.cart.total)}</th>
                    <td>{money(lang, total)}</td>
                </tr>
            </tfoot>
        </table>
    }
    .into_any()
}
