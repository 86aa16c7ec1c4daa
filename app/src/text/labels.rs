//! The short words on pages: headings, buttons, links, hints, in the order a visitor meets them.

/// The frame.
pub mod frame {
    pub const NAV: &str = "Main";
    pub const SHOP: &str = "Shop";
    pub const ORDERS: &str = "My orders";
    pub const CART: &str = "Cart";
    pub const CURRENCY: &str = "Prices in";
    pub const CONTACT: &str = "Contact";
    pub const PROMISE: &str = "How paying works here";
    pub const PROMISE_TEXT: &str = "One cart is one order, and one order is paid once. If an answer gets lost on the way, we find out for you instead of asking you to pay again.";
    /// What a screen reader adds to the number beside "Cart".
    pub const IN_CART: &str = "in the cart";
}

/// The front page and a product's page.
pub mod shop {
    pub const ALL: &str = "Everything we make and pick";
    pub const SOLD_OUT: &str = "Sold out";
    pub const SOLD_OUT_LONG: &str =
        "Sold out. When an order is given up, its things come back here.";
    pub const FACTS: &str = "Good to know";
    pub const HOW_MANY: &str = "How many";
    pub const PUT_INTO_CART: &str = "Put into the cart";
    pub const BACK: &str = "Back to the shop";
    pub const TO_THE_SHOP: &str = "To the shop";
    /// Three reasons to buy here.
    pub const REASONS: [(&str, &str); 3] = [
        (
            "Made in small runs",
            "When something is gone, it is gone until the next firing or harvest.",
        ),
        ("Sent on weekdays", "Packed in paper, by hand, on the next working day."),
        ("Thirty days to change your mind", "Send it back as it was, and we send your money back."),
    ];
}

/// "Only 3 left", where few are left.
pub fn only_left(count: u32) -> String {
    format!("Only {count} left")
}

/// How many things.
pub fn things(count: u32) -> String {
    format!("{count} {}", if count == 1 { "thing" } else { "things" })
}

/// The price of one.
pub fn each(price: &str) -> String {
    format!("{price} each")
}

/// The cart.
pub mod cart {
    pub const TITLE: &str = "Your cart";
    pub const EMPTY: &str = "Your cart is empty";
    pub const EMPTY_TEXT: &str =
        "Something good to drink is a page away. If you have just paid, your order is under";
    pub const CHANGE: &str = "Change";
    pub const REMOVE: &str = "Remove";
    pub const TOTAL: &str = "Total";
    pub const TOTAL_HINT: &str = "Tax and shipping are included.";
    pub const CHECK_OUT: &str = "Check out";
}

/// What a screen reader says for a line's number field.
pub fn how_many_of(name: &str) -> String {
    format!("How many of {name}")
}

/// What a screen reader adds to a line's buttons.
pub fn of_line(name: &str) -> String {
    format!(": {name}")
}

/// The checkout.
pub mod checkout {
    pub const TITLE: &str = "Checkout";
    pub const ORDER: &str = "Your order";
    pub const LINES: &str = "What is ordered";
    pub const CHANGE_CART: &str = "Change the cart";
    pub const PAYMENT: &str = "Payment";
    pub const BY_STRIPE: &str = "Card, by Stripe";
    pub const BY_STRIPE_HINT: &str =
        "You type it into Stripe's form: its number never comes near this shop.";
    pub const STRIPE_UNREACHABLE: &str =
        "Stripe's form did not answer. Nothing was ordered and nothing was charged.";
    pub const CHOOSE: &str = "Choose how to pay";
    pub const EVERYDAY: &str = "Ordinary cards";
    pub const TROUBLE: &str = "Cards for a bad day on the network";
    pub const TOKENS_HINT: &str = "These are test cards. No card number is ever typed here: the shop only knows what the provider calls a card.";
    pub const PAY: &str = "Pay";
    pub const SENDING: &str = "Sending your payment…";
    pub const ONCE: &str = "Pay is pressed once for a cart, whatever happens on the way: a second press, a lost connection or another tab lead to the same order.";
}

/// What the browser says while it does not know whether its post arrived.
pub mod unknown {
    pub const TITLE: &str = "Checking payment status";
    pub const TEXT: &str = "The shop's answer has not reached this browser. Do not pay again: we check automatically whether your order arrived.";
    pub const SAME: &str = "Whatever we send is the same request, never a second payment.";
    pub const OFFLINE: &str =
        "You are offline. Your order is not lost: once you are back, we ask the shop about it.";

    /// The same, for an island, which brings no words of its own.
    pub fn words() -> crate::islands::pay_guard::UnknownWords {
        crate::islands::pay_guard::UnknownWords {
            title: TITLE.to_owned(),
            text: TEXT.to_owned(),
            same: SAME.to_owned(),
            offline: OFFLINE.to_owned(),
        }
    }
}

/// The status page.
pub mod status {
    /// What a second post for an order that is being paid is told.
    pub const OTHER_CARD: &str =
        "This order was being paid already, so the card you chose just now was not used.";
    /// What a post with another id for a cart that is being paid is told.
    pub const ALREADY_PAYING: &str =
        "This cart was already being paid. Here is where it stands; nothing was added to it.";
    pub const OFFLINE: &str = "You are offline. Your payment is not affected.";
    pub const CONTINUE: &str = "Continue to your bank";
    pub const CONTINUE_TO_PAYPAL: &str = "Continue to PayPal";
    pub const CHECK_AGAIN: &str = "Check again";
    pub const UNKNOWN_SINCE: &str = "Not known since";
    pub const NOW: &str = "Now";
    pub const LAST_CHECK: &str = "Last check";
    pub const NEXT_CHECK: &str = "Next check";
    pub const PERSON_FROM: &str = "A person looks at it from";
    pub const ORDER: &str = "Order";
    pub const REFERENCE: &str = "Reference";
    pub const RECEIPT: &str = "Receipt";
    pub const YOUR_ORDER: &str = "Your order";
    pub const PLACED: &str = "Placed on";
    pub const PAID_AT: &str = "Paid on";
    pub const PAID_WITH: &str = "Paid through";
    /// Where the amount on record is not the order's, as a person accepted it.
    pub const TAKEN: &str = "Taken";
    pub const REFUNDS: &str = "Refunds";
    pub const PARCEL: &str = "Your parcel";
    pub const INVOICE: &str = "Invoice";
    pub const PAY_AGAIN: &str = "Pay this order";
    pub const GIVE_UP: &str = "Give this order up";
    pub const PRINT_HINT: &str = "This page is your receipt: keep the link, or print it.";
    pub const STRANGER: &str = "What was ordered is shown only in the browser that ordered it.";
}

/// The list of orders.
pub mod orders {
    pub const EMPTY: &str = "No orders yet";
    pub const EMPTY_TEXT: &str = "Orders belong to this browser: another one, or one whose cookies were cleared, does not show them here.";
}

/// A provider by the name that people know.
pub fn provider(name: &str) -> String {
    match name {
        "examplepay" => "ExamplePay".to_owned(),
        "stripe" => "Stripe".to_owned(),
        "paypal" => "PayPal".to_owned(),
        other => other.to_owned(),
    }
}

/// A post that was not taken.
pub mod problem {
    pub const TO_ORDER: &str = "To the order";
}
