// PayPal's library brings no types.
declare module "@paypal/checkout-server-sdk";
