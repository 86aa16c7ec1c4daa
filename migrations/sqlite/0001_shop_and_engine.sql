-- Everything the shop and its payment engine remember.
--
-- Times are milliseconds since 1970-01-01T00:00:00Z. Money is an integer count of the currency's
-- smallest unit beside its ISO 4217 code. Ids are UUIDs in their 36-character form. What must never
-- happen twice is forbidden here, by a constraint, and not only by code.

-- Who is at the other end: an anonymous customer behind an opaque cookie, of which only the hash
-- is kept, so that a copy of this table opens nobody's session.
create table sessions (
    token_hash text primary key not null,
    customer_id text not null,
    created_at integer not null
) strict;
create index sessions_customer on sessions (customer_id);

-- What somebody is about to order. A customer has one open cart; an order closes it for good.
create table carts (
    id text primary key not null,
    customer_id text not null,
    currency text not null,
    version integer not null default 0,
    ordered_at integer,
    created_at integer not null
) strict;
create unique index carts_one_open on carts (customer_id) where ordered_at is null;

create table cart_lines (
    cart_id text not null references carts (id),
    sku text not null,
    quantity integer not null check (quantity between 1 and 20),
    position integer not null,
    primary key (cart_id, sku)
) strict;

-- Goods. `reserved` is promised to orders whose payment is not settled, unknown ones included.
-- Sold and promised together never exceed what there is.
create table stock (
    sku text primary key not null,
    on_hand integer not null check (on_hand >= 0),
    reserved integer not null default 0 check (reserved >= 0),
    sold integer not null default 0 check (sold >= 0),
    constraint stock_never_oversold check (reserved + sold <= on_hand)
) strict;

-- What the shopper wants. One per checkout id and one per cart, whatever the number of clicks.
create table orders (
    id text primary key not null,
    checkout_id text not null,
    cart_id text not null references carts (id),
    cart_version integer not null,
    customer_id text not null,
    reference text not null unique,
    state text not null check (state in ('awaiting_payment', 'paid', 'cancel_requested', 'canceled',
        'refund_due', 'partially_refunded', 'refunded', 'payment_reversed')),
    request_hash text not null,
    amount_minor integer not null check (amount_minor > 0),
    currency text not null,
    goods text not null check (goods in ('reserved', 'free', 'sold')),
    -- Counts the committed changes of this order: what a stream of events resumes from.
    sequence integer not null default 0,
    created_at integer not null,
    updated_at integer not null,
    constraint orders_checkout_once unique (checkout_id),
    constraint orders_cart_once unique (cart_id),
    constraint orders_customer_checkout_once unique (customer_id, checkout_id)
) strict;
create index orders_customer on orders (customer_id, created_at);
create index orders_unpaid on orders (updated_at) where state = 'awaiting_payment';

create table order_lines (
    order_id text not null references orders (id),
    sku text not null,
    quantity integer not null check (quantity > 0),
    unit_minor integer not null check (unit_minor >= 0),
    position integer not null,
    primary key (order_id, sku)
) strict;

-- One business intent against one provider. Written and committed before the first byte is sent.
create table operations (
    id text primary key not null,
    kind text not null,
    order_id text not null references orders (id),
    attempt integer not null check (attempt > 0),
    provider text not null,
    provider_operation_id text,
    reference text not null,
    account text,
    state text not null check (state in ('created', 'requested', 'requires_action', 'retry_scheduled',
        'pending_confirmation', 'requires_review', 'succeeded', 'rejected', 'canceled', 'reversed')),
    version integer not null default 1,
    request_hash text not null,
    amount_minor integer not null check (amount_minor > 0),
    currency text not null,
    -- The token the shopper chose; erased with the stored bodies.
    instrument text,
    acknowledged integer not null default 0 check (acknowledged in (0, 1)),
    -- When this state was entered, and since when the outcome has been unknown.
    entered_at integer not null,
    unknown_since integer,
    -- Scheduling: when somebody looks at it again, and who owns it until when.
    next_action_at integer,
    deadline_at integer not null,
    lease_owner text,
    lease_until integer,
    fence integer not null default 0,
    lookup_wanted integer not null default 0 check (lookup_wanted in (0, 1)),
    lookups integer not null default 0,
    replays integer not null default 0,
    clean_sends integer not null default 0,
    looked_up_at integer,
    -- What the provider asked the shopper to do, and what it said in the end.
    action_url text,
    action_expires_at integer,
    decline_code text,
    canceled_why text,
    review_reason text,
    effect_minor integer,
    effect_currency text,
    -- For support: the newest attempt at a glance.
    attempts integer not null default 0,
    last_attempt_at integer,
    last_transport_error text,
    last_http_status integer,
    last_provider_error text,
    last_provider_request_id text,
    compensates_operation_id text references operations (id),
    refund_request_id text,
    refunds_operation_id text references operations (id),
    created_at integer not null,
    confirmed_at integer,
    confirmed_by text,
    constraint operations_provider_id_once unique (provider, provider_operation_id),
    constraint operations_refund_request_once unique (refund_request_id),
    constraint operations_attempt_once unique (order_id, kind, attempt)
) strict;
-- At most one payment of an order is worked on. `requires_review` is outside and blocks by rule.
create unique index operations_one_open_payment on operations (order_id)
    where kind = 'payment' and state in
        ('created', 'requested', 'requires_action', 'retry_scheduled', 'pending_confirmation');
-- At most one compensating refund of an operation that may still give the money back.
create unique index operations_one_compensation on operations (compensates_operation_id)
    where compensates_operation_id is not null and state not in ('rejected', 'canceled');
create index operations_due on operations (next_action_at) where next_action_at is not null;
create index operations_leased on operations (lease_until) where lease_until is not null;
create index operations_order on operations (order_id);
create index operations_reference on operations (provider, reference);

-- One mutating provider endpoint of an operation: its key and its bytes never change.
create table steps (
    operation_id text not null references operations (id),
    name text not null,
    position integer not null,
    cancels integer not null default 0 check (cancels in (0, 1)),
    idempotency_key text not null check (length(idempotency_key) <= 64),
    request_path text not null,
    request_body text,
    request_hash text not null,
    window_ms integer,
    first_sent_at integer,
    replay_until integer,
    tainted integer not null default 0 check (tainted in (0, 1)),
    in_flight integer not null default 0 check (in_flight in (0, 1)),
    accepted integer not null default 0 check (accepted in (0, 1)),
    sends integer not null default 0,
    primary key (operation_id, name),
    constraint steps_key_once unique (idempotency_key)
) strict;

-- One request on the wire, lookups too. A row is committed before its request is sent; its end is
-- written once, by whoever learned it.
create table attempts (
    id text primary key not null,
    operation_id text not null references operations (id),
    step text,
    fence integer not null,
    sent_at integer not null,
    ended_at integer,
    duration_ms integer,
    transport_state text not null,
    http_status integer,
    provider_request_id text,
    provider_error text,
    verdict text,
    replay integer not null default 0 check (replay in (0, 1)),
    cached integer not null default 0 check (cached in (0, 1))
) strict;
create index attempts_operation on attempts (operation_id, sent_at);

-- Every change of a state, with its cause. Never changed, never deleted.
create table transitions (
    id integer primary key,
    operation_id text not null references operations (id),
    order_id text not null references orders (id),
    from_state text,
    to_state text not null,
    evidence text not null,
    source text not null,
    version integer not null,
    order_sequence integer not null,
    order_state text not null,
    at integer not null,
    constraint transitions_version_once unique (operation_id, version),
    constraint transitions_sequence_once unique (order_id, order_sequence)
) strict;

-- What providers told us, as received, before judgement.
create table provider_events (
    id integer primary key,
    provider text not null,
    event_id text not null,
    event_type text not null,
    body text not null,
    operation_id text references operations (id),
    state text not null check (state in ('applied', 'parked', 'unmatched')),
    tries integer not null default 0,
    next_try_at integer,
    received_at integer not null,
    applied_at integer,
    constraint provider_events_once unique (provider, event_id)
) strict;
create index provider_events_waiting on provider_events (next_try_at) where next_try_at is not null;

-- What contradicts the record; it moves nothing by itself.
create table anomalies (
    id integer primary key,
    operation_id text references operations (id),
    kind text not null,
    source text not null,
    evidence text not null,
    detail text not null,
    at integer not null
) strict;

-- What a person is told, once per incident.
create table alerts (
    id integer primary key,
    incident text not null,
    kind text not null,
    detail text not null,
    raised_at integer not null,
    closed_at integer
) strict;
create unique index alerts_one_open on alerts (incident) where closed_at is null;

-- What the rest of the shop is told, in the transaction that made it true.
create table outbox (
    id integer primary key,
    topic text not null,
    subject text not null,
    body text not null,
    created_at integer not null,
    done_at integer,
    constraint outbox_fact_once unique (topic, subject)
) strict;

-- What people did, and why.
create table audit (
    id integer primary key,
    who text not null,
    act text not null,
    subject text not null,
    reason text not null,
    at integer not null
) strict;

-- The opening stock of the eight products.
insert into stock (sku, on_hand) values
    ('kettle', 40), ('teapot', 60), ('cups', 120), ('sencha', 200),
    ('hojicha', 200), ('whisk', 80), ('tray', 50), ('caddy', 90);
