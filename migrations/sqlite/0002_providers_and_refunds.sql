-- Several providers, refunds by request, and effects made behind our back.

-- The provider's id of the effect itself, where it is not that of the operation: a PayPal capture
-- below its order, a Stripe charge below its PaymentIntent. Refunds and disputes name it.
alter table operations add column effect_id text;
create index operations_effect on operations (provider, effect_id) where effect_id is not null;

-- When each provider's list was compared with ours the last time, and up to when it was read.
create table sweeps (
    provider text primary key not null,
    swept_at integer not null,
    listed_until integer not null
) strict;
