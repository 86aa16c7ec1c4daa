//! From a cart to an order and its payment operations: everything the shopper's forms may do.

use domain::{
    catalogue::{CURRENCIES, Product, QUANTITY_MAX, Sku},
    evidence::Evidence,
    fingerprint::fingerprint,
    id::{CartId, CheckoutId, CustomerId, OperationId, OrderId},
    money::{Currency, Money},
    operation::Kind,
    order::{OrderNews, OrderState, decide_order},
    schedule::Timestamp,
    view::CartView,
};

use crate::{
    Error, PayOutcome, PayRequest, clock, crash,
    engine::{Engine, Lease, order_transition, unsettled},
    opening, read,
    store::{Cart, Goods, Operation, Order, OrderLine, StoreError, Transition, Work},
};

/// Changes one line of a customer's open cart; 0 removes it.
pub async fn set_line(
    engine: &Engine,
    customer: CustomerId,
    sku: &str,
    quantity: u32,
    currency: Currency,
    add: bool,
) -> Result<CartView, Error> {
    let product = Product::find(sku)
        .ok_or_else(|| Error::Invalid(format!("there is no product {:?}", short(sku))))?;
    if !CURRENCIES.contains(&currency) {
        return Err(Error::Invalid(format!("there is no price list in {currency}")));
    }
    let now = clock::now();
    let mut work = engine.store.write().await?;
    let mut cart = work.open_cart(customer).await?.unwrap_or_else(|| Cart {
        id: CartId(clock::fresh_id()),
        customer,
        currency,
        version: 0,
        ordered: false,
        lines: Vec::new(),
    });
    let place = cart.lines.iter().position(|(of, _)| of.as_str() == sku);
    let before = place.and_then(|place| cart.lines.get(place)).map_or(0, |(_, quantity)| *quantity);
    let wanted = if add { before.saturating_add(quantity) } else { quantity };
    if wanted > QUANTITY_MAX {
        return Err(Error::TooManyOfOne);
    }
    cart.currency = currency;
    cart.version += 1;
    match (place, wanted) {
        (Some(place), 0) => drop(cart.lines.remove(place)),
        (Some(place), wanted) => {
            if let Some(line) = cart.lines.get_mut(place) {
                line.1 = wanted;
            }
        }
        (None, 0) => {}
        (None, wanted) => cart.lines.push((product.sku(), wanted)),
    }
    work.save_cart(&cart, now).await?;
    work.commit().await?;
    read::cart_view(&cart)
}

/// Text from outside, short enough to be repeated in a message.
fn short(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Lines with today's prices, and their sum.
pub fn priced(cart: &Cart) -> Result<(Vec<OrderLine>, Money), Error> {
    let mut total = Money::new(0, cart.currency);
    let mut lines = Vec::with_capacity(cart.lines.len());
    for (sku, quantity) in &cart.lines {
        let product =
            Product::find(sku.as_str()).ok_or(Error::Internal("an unknown product in a cart"))?;
        let unit =
            product.price(cart.currency).ok_or(Error::Internal("a cart without a price list"))?;
        total = unit.times(*quantity).and_then(|sum| total.plus(sum)).ok_or(Error::Overflow)?;
        lines.push(OrderLine { sku: sku.clone(), quantity: *quantity, unit_minor: unit.minor });
    }
    Ok((lines, total))
}

/// The fingerprint of an order: what a second post with the same checkout id must equal.
fn order_hash(cart: CartId, version: i64, amount: Money, lines: &[OrderLine]) -> String {
    let lines: Vec<(&str, u32, i64)> =
        lines.iter().map(|line| (line.sku.as_str(), line.quantity, line.unit_minor)).collect();
    fingerprint("payment", &format!("cart:{cart}:{version}"), amount, &lines)
}

/// The shopper pressed Pay. Commits order and operation, or tells what is there already.
pub async fn pay(engine: &Engine, request: &PayRequest) -> Result<PayOutcome, Error> {
    check_instrument(&request.payment_token)?;
    let now = clock::now();
    let mut work = engine.store.write().await?;
    if let Some(order) = work.order_of_checkout(request.checkout_id).await? {
        return pay_again(engine, work, order, request, now).await;
    }
    let Some(cart) = work.cart(request.cart_id).await? else {
        return Err(Error::Invalid("there is no such cart".into()));
    };
    if cart.customer != request.customer {
        return Ok(PayOutcome::NotYours);
    }
    if let Some(order) = work.order_of_cart(cart.id).await? {
        return Ok(PayOutcome::AlreadyPaying(order.checkout_id));
    }
    let (lines, total) = priced(&cart)?;
    let amount = Money::new(request.amount_minor, request.currency);
    if cart.version != request.cart_version || total != amount {
        return Err(Error::CartChanged);
    }
    if lines.is_empty() {
        return Err(Error::EmptyCart);
    }
    if request.attempt != 1 {
        return Err(Error::Invalid("the first payment of an order is attempt 1".into()));
    }
    let missing = work.reserve(&lines).await?;
    if !missing.is_empty() {
        return Err(Error::OutOfStock(missing));
    }
    let order = Order {
        id: OrderId(clock::fresh_id()),
        checkout_id: request.checkout_id,
        cart_id: cart.id,
        cart_version: cart.version,
        customer: cart.customer,
        reference: clock::fresh_reference(),
        state: OrderState::AwaitingPayment,
        request_hash: order_hash(cart.id, cart.version, total, &lines),
        amount: total,
        goods: Goods::Reserved,
        sequence: 1,
        mail_to: request.mail_to.clone(),
        language: request.language.clone(),
        created_at: now,
        lines,
    };
    work.insert_order(&order).await?;
    work.close_cart(cart.id, now).await?;
    open_payment(engine, work.as_mut(), &order, 1, &request.payment_token, now).await?;
    work.commit().await?;
    crash::point("order_committed");
    announce(engine, request.checkout_id);
    Ok(PayOutcome::Accepted)
}

/// A token is a short word; anything that looks like a card number is not taken, and not repeated.
fn check_instrument(token: &str) -> Result<(), Error> {
    let (_, token) = chosen(token);
    let plain = token.len() <= 64
        && token.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    // Digits in a row, however they are grouped: a token of letters and digits is none.
    let mut run = 0;
    let longest = token.chars().fold(0, |longest: u32, it| {
        run = match it {
            '0'..='9' => run + 1,
            '-' | '_' => run,
            _ => 0,
        };
        longest.max(run)
    });
    if token.is_empty() || !plain || longest >= 12 {
        return Err(Error::Invalid("choose one of the listed cards".into()));
    }
    Ok(())
}

/// With whom and with what a shopper pays: `stripe:pm_card_visa`. A bare token is for the first
/// provider.
fn chosen(token: &str) -> (Option<&str>, &str) {
    token.split_once(':').map_or((None, token), |(provider, token)| (Some(provider), token))
}

/// The same checkout id again: the stored state counts, and only a proven no opens the next attempt.
async fn pay_again(
    engine: &Engine,
    mut work: Box<dyn Work>,
    mut order: Order,
    request: &PayRequest,
    now: Timestamp,
) -> Result<PayOutcome, Error> {
    if order.customer != request.customer {
        return Ok(PayOutcome::NotYours);
    }
    let amount = Money::new(request.amount_minor, request.currency);
    if order_hash(request.cart_id, request.cart_version, amount, &order.lines) != order.request_hash
    {
        return Err(Error::Conflict);
    }
    let operations = work.operations_of(order.id).await?;
    let payments: Vec<&Operation> =
        operations.iter().filter(|it| it.kind == Kind::PAYMENT).collect();
    let last = payments.iter().map(|payment| payment.attempt).max().unwrap_or(0);
    if request.attempt <= last {
        let used = payments.iter().find(|payment| payment.attempt == last);
        let (provider, token) = chosen(&request.payment_token);
        let other = used.is_some_and(|used| {
            used.instrument.as_deref().is_some_and(|it| it != token)
                || provider.is_some_and(|provider| provider != used.provider)
        });
        let ignored = request.attempt < last || other;
        return Ok(if ignored { PayOutcome::OtherCardIgnored } else { PayOutcome::Stored });
    }
    let all_void = payments.iter().all(|payment| payment.state.is_void());
    if request.attempt != last + 1 || !all_void {
        return Ok(PayOutcome::OtherCardIgnored);
    }
    if order.state != OrderState::AwaitingPayment {
        return Ok(PayOutcome::NoMorePayments);
    }
    if order.goods == Goods::Free {
        let missing = work.reserve(&order.lines).await?;
        if !missing.is_empty() {
            return Err(Error::OutOfStockForOrder(missing));
        }
        order.goods = Goods::Reserved;
    }
    order.sequence += 1;
    work.update_order(&order, now).await?;
    open_payment(engine, work.as_mut(), &order, request.attempt, &request.payment_token, now)
        .await?;
    work.commit().await?;
    crash::point("order_committed");
    announce(engine, request.checkout_id);
    Ok(PayOutcome::Accepted)
}

/// One payment operation with its key and bytes, committed before anything is sent.
async fn open_payment(
    engine: &Engine,
    work: &mut dyn Work,
    order: &Order,
    attempt: u32,
    token: &str,
    now: Timestamp,
) -> Result<(), Error> {
    let (name, token) = chosen(token);
    let provider = match name {
        Some(name) => engine.provider(name),
        None => engine.providers.first(),
    };
    let (provider, capability) = provider
        .and_then(|provider| Some((provider, provider.capability(&Kind::PAYMENT)?)))
        .ok_or_else(|| Error::Invalid("choose one of the listed ways to pay".into()))?;
    let operation = opening::operation(opening::Opening {
        id: OperationId(clock::fresh_id()),
        kind: Kind::PAYMENT,
        order,
        attempt,
        provider: provider.as_ref(),
        reference: format!("{}-{attempt}", order.reference),
        amount: order.amount,
        instrument: Some(token.to_owned()),
        request_hash: order.request_hash.clone(),
        deadline_at: now.after(capability.deadline),
        now,
    });
    let prefix = format!("pay:{}:v{attempt}", order.checkout_id);
    engine.open(work, &operation, order, None, &prefix).await?;
    work.insert_transition(&Transition {
        operation_id: operation.id,
        order_id: order.id,
        from: None,
        to: operation.state,
        evidence: "pay_pressed".into(),
        source: "shopper".into(),
        version: operation.version,
        order_sequence: order.sequence,
        order_state: order.state,
        at: now,
    })
    .await?;
    Ok(())
}

fn announce(engine: &Engine, checkout: CheckoutId) {
    engine.hub.tell(checkout);
    engine.wake.notify_one();
}

/// The shopper gives the order up: void operations end at once, others by what the provider says.
pub async fn cancel(engine: &Engine, id: CheckoutId, customer: CustomerId) -> Result<(), Error> {
    let now = clock::now();
    let mut work = engine.store.write().await?;
    let order = work.order_of_checkout(id).await?.ok_or(Error::NotFound)?;
    if order.customer != customer {
        return Err(Error::NotFound);
    }
    let mut operations = work.operations_of(order.id).await?;
    let open = operations.iter().any(unsettled);
    let state = decide_order(order.state, OrderNews::CancelAsked { open });
    if state == order.state {
        return Ok(());
    }
    let mut order = Order { state, sequence: order.sequence + 1, ..order };
    if !open && order.goods == Goods::Reserved {
        work.release(&order.lines).await?;
        order.goods = Goods::Free;
    }
    if let Some(last) = operations.iter_mut().rfind(|it| it.kind == Kind::PAYMENT) {
        let expected = last.version;
        last.version += 1;
        work.update_operation(last, expected).await?;
        work.insert_transition(&order_transition(last, &order, "cancel_asked", "shopper", now))
            .await?;
    }
    work.update_order(&order, now).await?;
    work.insert_outbox(&format!("order.{state}"), &order.id.to_string(), &order.reference, now)
        .await?;
    // One whose provider is not set up any more meets the wish when it is set up again.
    let reachable = |it: &&Operation| it.state.is_open() && engine.capability(it).is_ok();
    for operation in operations.iter().filter(reachable) {
        let loaded = engine.load(work.as_mut(), operation.id).await?;
        engine.apply(work.as_mut(), loaded, &Evidence::Tick, Lease::Keep, now).await?;
    }
    work.commit().await?;
    announce(engine, id);
    Ok(())
}

/// Somebody opened the page or came back from the provider: worth a question within the rates.
pub async fn hint(engine: &Engine, id: CheckoutId) -> Result<(), Error> {
    let now = clock::now();
    let mut work = engine.store.read().await?;
    let Some(order) = work.order_of_checkout(id).await? else { return Ok(()) };
    let open = work.operations_of(order.id).await?.into_iter().find(unsettled);
    drop(work);
    let Some(operation) = open.filter(|it| engine.capability(it).is_ok()) else { return Ok(()) };
    let mut work = engine.store.write().await?;
    let loaded = engine.load(work.as_mut(), operation.id).await?;
    if !loaded.operation.state.is_open()
        && loaded.operation.review_reason.is_none_or(|why| !why.by_deadline())
    {
        return Ok(());
    }
    engine.apply(work.as_mut(), loaded, &Evidence::Hint, Lease::Keep, now).await?;
    work.commit().await?;
    engine.wake.notify_one();
    Ok(())
}

/// What may still be sold, by name.
pub async fn stock(engine: &Engine) -> Result<Vec<(Sku, u32)>, StoreError> {
    let mut work = engine.store.read().await?;
    let stock = work.stock().await?;
    Ok(stock
        .into_iter()
        .filter_map(|(name, free)| Some((Product::find(&name)?.sku(), free)))
        .collect())
}
