// What a changed value was when it was published: shown on hovering, on focus, and on the first touch.
// It stays while the pointer is on it, and Escape takes it away.

const SELECTOR = "a:has(> data.live-changed), a:has(> data.live-stays), td.live-changed, th.live-changed";

/**
 * @param {function} says What to say of an element.
 * @returns {function} Takes the tip away.
 */
export function tips(says) {
  const tip = document.createElement("div");
  tip.id = "live-tip";
  tip.setAttribute("role", "tooltip");
  tip.hidden = true;
  document.body.append(tip);
  let of = null; // the element that it speaks of
  let pressed = null; // that it spoke of when the finger came down
  let leaving;

  const about = (target) => target.closest?.(SELECTOR) ?? null;

  function show(element) {
    clearTimeout(leaving);
    if (element !== of) hide();
    of = element;
    tip.textContent = says(element);
    tip.hidden = false;
    element.setAttribute("aria-describedby", tip.id);
    place();
  }

  function place() {
    if (!of) return;
    const { left, top, bottom } = of.getClientRects()[0] ?? of.getBoundingClientRect();
    const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
    const above = top - tip.offsetHeight - 2;
    tip.style.left = `${Math.max(8, Math.min(left, room))}px`;
    tip.style.top = `${above > 64 ? above : bottom + 2}px`; // not under the page's header
  }

  function hide() {
    clearTimeout(leaving);
    of?.removeAttribute("aria-describedby");
    of = null;
    tip.hidden = true;
  }

  function leave() {
    clearTimeout(leaving);
    leaving = setTimeout(() => of?.contains(document.activeElement) || hide(), 200);
  }

  addEventListener("pointerover", ({ target, pointerType }) => {
    if (pointerType === "touch") return;
    if (target === tip) clearTimeout(leaving);
    else if (about(target)) show(about(target));
    else if (of) leave();
  });
  addEventListener("pointerdown", () => (pressed = of), true);
  addEventListener("focusin", ({ target }) => (about(target) ? show(about(target)) : hide()));
  addEventListener("focusout", hide);
  addEventListener("scroll", place, { passive: true, capture: true });
  addEventListener("keydown", ({ key }) => key === "Escape" && hide());
  addEventListener(
    "click",
    (event) => {
      if (event.pointerType !== "touch") return;
      const element = about(event.target);
      if (!element) hide();
      else if (element !== pressed) {
        event.preventDefault(); // the second touch follows the link
        event.stopPropagation();
        show(element);
      }
    },
    true,
  );
  return hide;
}
