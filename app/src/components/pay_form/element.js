// Stripe's Payment Element: the card is typed into Stripe's own frame, and what comes out is a
// ConfirmationToken, which the payment form carries like any other choice. One token is made per
// form; a repeat of the post carries the same.
(() => {
  const box = document.querySelector("[data-stripe-element]");
  const form = box?.closest("form");
  const choice = form?.querySelector('input[value="stripe:element"]');
  if (!choice || !window.Stripe) return;
  const say = (text) => (box.querySelector("[data-stripe-says]").textContent = text);
  const stripe = Stripe(box.dataset.key, { locale: document.documentElement.lang });
  const { amount, currency, returnUrl } = box.dataset;
  const elements = stripe.elements({ mode: "payment", amount: Number(amount), currency, paymentMethodTypes: ["card"] });
  elements.create("payment").mount(box.querySelector("[data-stripe-mount]"));
  const show = () => (box.hidden = !choice.checked);
  form.addEventListener("change", show);
  choice.disabled = false;
  show();
  let busy = false;
  addEventListener("submit", (event) => {
    if (event.target !== form || !choice.checked || choice.value !== "stripe:element") return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (busy) return;
    busy = true;
    say("");
    (async () => {
      const checked = await elements.submit();
      const made = checked.error ? checked : await stripe.createConfirmationToken({ elements, params: { return_url: new URL(returnUrl, location.href).href } });
      if (made.error) return say(made.error.message ?? "");
      choice.value = `stripe:${made.confirmationToken.id}`;
      // Not within the very event that was stopped: a form submits once at a time.
      setTimeout(() => form.requestSubmit(form.querySelector("[data-pay-control]")));
    })().catch(() => say(box.dataset.unreachable)).finally(() => (busy = false));
  }, true);
})();
