-- Mails about orders, and shoppers' requests for refunds.

-- Where the shopper wants to be written to, if anywhere, and in which language. Both are taken
-- from the post that made the order, and no later post changes them.
alter table orders add column mail_to text;
alter table orders add column language text not null default 'en';

-- One row per fact and operation, in the transaction that made the fact true: what is told twice
-- finds its row. Its id is the mail's Message-ID, however often it has to be handed over.
create table mails (
    id text primary key not null,
    order_id text not null references orders (id),
    operation_id text not null references operations (id),
    fact text not null,
    -- 'overtaken': what it had to say was no longer so when it could be sent.
    state text not null check (state in ('waiting', 'sent', 'refused', 'given_up', 'overtaken')),
    tries integer not null default 0,
    -- A try was begun, and its end is not on record.
    in_flight integer not null default 0 check (in_flight in (0, 1)),
    next_action_at integer,
    created_at integer not null,
    ended_at integer,
    constraint mails_fact_once unique (order_id, operation_id, fact)
) strict;
create index mails_due on mails (next_action_at) where next_action_at is not null;

-- What shoppers ask for. It moves no money: a person answers it, with a refund or with a no.
create table refund_requests (
    order_id text not null references orders (id),
    -- Counts the order's requests; a form names the next one, so that a second press is the first.
    number integer not null check (number > 0),
    state text not null check (state in ('open', 'answered', 'declined')),
    asked_why text,
    declined_why text,
    created_at integer not null,
    closed_at integer,
    primary key (order_id, number)
) strict;
create unique index refund_requests_one_open on refund_requests (order_id) where state = 'open';

-- Outcomes that are unknown are looked for twice a second: some of them become a fact to tell.
create index operations_unknown on operations (unknown_since) where unknown_since is not null;
