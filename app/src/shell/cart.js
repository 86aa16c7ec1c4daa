addEventListener("pageshow", ({ persisted }) => {
  if (!persisted) return;
  const show = ({ count }) => document.querySelectorAll("[data-cart-count]").forEach((it) => (it.dataset.cartCount = it.textContent = count));
  fetch("/cart/count", { cache: "no-store" }).then((answer) => answer.json()).then(show).catch(() => {});
});
