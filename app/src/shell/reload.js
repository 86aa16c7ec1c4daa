addEventListener("unhandledrejection", () => {
  const wait = () => setTimeout(ask, 5000);
  const ask = () => fetch(location.href, { cache: "no-store" }).then((answer) => (answer.ok ? location.reload() : wait()), wait);
  if (!document.querySelector("[data-live]")) wait();
}, { once: true });
