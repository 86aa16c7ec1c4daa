{
  const root = document.querySelector("[data-lab]");
  const id = root.dataset.lab;
  const cart = root.querySelector("[data-lab-cart]")?.dataset.labCart;
  const form = root.querySelector("[data-pay-form]");
  // The fault waits for this id: the form pays under it, whoever wakes the form.
  try {
    if (cart) localStorage.setItem(`payonce.checkout.${cart}`, id);
  } catch {}
  const stay = () => setTimeout(() => location.reload());
  if (form) {
    // The shop's form leads to the order's page, which has this one as its neighbour.
    window.navigation?.addEventListener("navigate", (event) => {
      const here = new URL(event.destination.url).pathname === `/checkout/${id}`;
      if (!here || !event.cancelable || event.navigationType === "traverse") return;
      event.preventDefault();
      stay();
    });
    document.addEventListener("submit", (event) => {
      if (event.defaultPrevented || event.target !== form) return;
      event.preventDefault();
      fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)), redirect: "manual" })
        .then((answer) => (answer.type === "opaqueredirect" ? stay() : form.submit()), stay);
    });
  }
  const sleep = (ms) => new Promise((next) => setTimeout(next, ms));
  const parts = (of) => [...of.querySelectorAll("[data-lab-part]")];
  const slot = root.querySelector("[data-lab-watch]");
  const look = async () => {
    const answer = await fetch(`/lab/${id}/watch`, { cache: "no-store" });
    if (!answer.ok) throw answer.status;
    const fresh = document.createElement("template");
    fresh.innerHTML = await answer.text();
    const [now, old] = [fresh.content.firstElementChild, slot.firstElementChild];
    for (const part of parts(now)) {
      const shown = parts(old).find((it) => it.dataset.labPart === part.dataset.labPart);
      const held = shown !== document.activeElement && shown.contains(document.activeElement);
      if (shown.innerHTML !== part.innerHTML && !held) shown.innerHTML = part.innerHTML;
    }
    old.querySelector(".lab-side[data-side=shop]").dataset.face = now.querySelector(".lab-side[data-side=shop]").dataset.face;
    for (const name of ["again", "agreement"]) {
      if (now.dataset[name] === undefined) delete old.dataset[name];
      else old.dataset[name] = now.dataset[name];
    }
  };
  let following = false;
  const follow = async () => {
    if (following || !slot) return;
    following = true;
    for (let again; (again = Number(slot.firstElementChild.dataset.again)); ) {
      await sleep(document.hidden ? 4000 : again);
      await look().catch(() => sleep(2000));
    }
    following = false;
  };
  // What these forms lead to is shown where they stand.
  root.addEventListener("submit", async (event) => {
    const part = event.target.closest("[data-lab-part]");
    if (!part) return;
    event.preventDefault();
    part.tabIndex = -1;
    part.focus();
    await fetch(event.target.action, { method: "POST", redirect: "manual" }).then(look).catch(stay);
    follow();
  });
  follow();
}
