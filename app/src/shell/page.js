addEventListener("pageshow", ({ persisted }) => {
  if (!persisted) return;
  const show = ({ count }) => document.querySelectorAll("[data-cart-count]").forEach((it) => (it.dataset.cartCount = it.textContent = count));
  fetch("/cart/count", { cache: "no-store" }).then((answer) => answer.json()).then(show).catch(() => {});
});
// The server tells times in UTC; here the reader's zone is known. A live panel says its own.
addEventListener("DOMContentLoaded", () => {
  const { lang } = document.documentElement;
  for (const time of document.querySelectorAll("time[data-local=day]")) {
    if (time.closest("[data-panel-slot]")) continue;
    time.title = time.textContent;
    time.textContent = new Date(time.dateTime).toLocaleString(lang === "en" ? "en-GB" : lang, { dateStyle: "long", timeStyle: "short" });
  }
});
