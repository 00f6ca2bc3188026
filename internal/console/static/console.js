// @ts-check
// The behavior of pages beyond forms and links: the composer of a chat, and keys.
import { apply, become, gone, keepFocus } from "./live.js";

const talks = document.querySelector("#talks");
const composer = document.querySelector("#composer");
if (composer instanceof HTMLFormElement) compose(composer);

/** @param {HTMLFormElement} form */
function compose(form) {
  const text = /** @type {HTMLTextAreaElement} */ (form.elements.namedItem("text"));
  const choice = /** @type {HTMLInputElement} */ (form.querySelector("input[type=file]"));
  const list = /** @type {HTMLElement} */ (form.querySelector("#attached"));
  const trouble = /** @type {HTMLElement} */ (form.querySelector("#unsent"));
  const send = /** @type {HTMLButtonElement} */ (form.querySelector("#send"));
  const limit = Number(form.dataset.max);
  const accept = (form.dataset.accept ?? "").split(",").filter(Boolean);
  /** @type {File[]} */
  let files = [];
  /** @type {string | undefined} the id of a message whose answer did not come */
  let unsure;

  // The server does not store an answer without a task. This entry of the tab's history does,
  // for the session that got it, with the id of the conversation before it.
  const session = new FormData(form).get("csrf");
  /** @type {{after: string, said: string}[]} */
  const kept = history.state?.session === session ? history.state.kept : [];
  for (const { after, said } of kept) {
    apply(said);
    const one = talks?.lastElementChild;
    const before = document.getElementById(after);
    if (one && before) before.after(one);
    else if (one) talks.prepend(one);
  }

  choice.addEventListener("change", () => {
    attach([...(choice.files ?? [])]);
    choice.value = "";
  });
  document.addEventListener("dragover", (e) => {
    if (!e.dataTransfer?.types.includes("Files")) return;
    e.preventDefault();
    form.classList.add("over");
  });
  document.addEventListener("dragleave", () => form.classList.remove("over"));
  document.addEventListener("drop", (e) => {
    form.classList.remove("over");
    if (!e.dataTransfer?.files.length) return;
    e.preventDefault();
    attach([...e.dataTransfer.files]);
  });
  text.addEventListener("paste", (e) => {
    if (!e.clipboardData?.files.length) return;
    e.preventDefault();
    attach([...e.clipboardData.files]);
  });

  /** @param {File[]} more */
  function attach(more) {
    say("");
    for (const f of more) {
      if (accept.length && !accept.some((a) => a === f.type || (a.endsWith("/*") && f.type.startsWith(a.slice(0, -1))))) {
        say(`${f.name}: the agent does not accept ${f.type || "files of this kind"}. It accepts ${accept.join(", ")}.`);
      } else if (files.concat(f).reduce((n, x) => n + x.size, 0) > limit) {
        say(`${f.name} is too large: a message may have ${Math.floor(limit / 1048576)} MiB.`);
      } else {
        files.push(f);
      }
    }
    show();
  }

  function show() {
    list.replaceChildren(
      ...files.map((f, i) => {
        const li = document.createElement("li");
        li.className = "file";
        const b = document.createElement("button");
        b.type = "button";
        b.className = "plain";
        b.textContent = "Remove";
        b.setAttribute("aria-label", `Remove ${f.name}`);
        b.addEventListener("click", () => {
          files.splice(i, 1);
          show();
        });
        li.append(f.name + " ", b);
        return li;
      }),
    );
  }

  /** @param {string} what */
  function say(what) {
    trouble.textContent = what;
    trouble.hidden = what === "";
  }

  form.addEventListener("submit", async (e) => {
    e.preventDefault();
    if (send.disabled || (!text.value.trim() && !files.length)) return;
    const body = new FormData(form);
    body.delete("file");
    for (const f of files) body.append("file", f);
    // The same id means the same message: nothing is done twice if an answer was lost.
    unsure ??= crypto.randomUUID?.() ?? `console-${Date.now()}-${Math.random()}`;
    body.set("id", unsure);
    send.disabled = true;
    say("");
    try {
      const url = new URL(form.action);
      url.searchParams.set("fragment", "");
      const answer = await fetch(url, { method: "POST", body, redirect: "error" });
      const said = await answer.text();
      unsure = undefined;
      if (!answer.ok) {
        say(said);
        return;
      }
      text.value = "";
      files = [];
      show();
      apply(said);
      window.scrollTo({ top: document.body.scrollHeight });
      const here = new URL(location.href);
      const context = form.querySelector("input[name=context]");
      if (context instanceof HTMLInputElement && context.value) {
        here.searchParams.delete("say");
        here.searchParams.set("context", context.value);
      }
      const last = /** @type {HTMLElement} */ (talks?.lastElementChild);
      if (last?.dataset.task === "") kept.push({ after: last.previousElementSibling?.id ?? "", said });
      while (JSON.stringify(kept).length > 1 << 20) kept.shift(); // browsers limit its size
      history.replaceState({ session, kept }, "", here);
    } catch {
      say("The server did not answer. Your message is still here: send it again when the server is back.");
    } finally {
      send.disabled = false;
      text.focus();
    }
  });
}

// Enter sends the message, Shift and Enter begins a new line. On touch screens, whose keyboards
// have no such Shift, Enter begins a new line, and the button sends.
document.addEventListener("keydown", (e) => {
  const at = e.target;
  if (!(at instanceof HTMLTextAreaElement) || !("enter" in at.dataset)) return;
  if (e.key === "Enter" && !e.shiftKey && !e.isComposing && !matchMedia("(pointer: coarse)").matches) {
    e.preventDefault();
    at.form?.requestSubmit();
  }
});

// Forms that only change their page as the answer says, if the page has a place for that.
document.addEventListener("submit", async (e) => {
  const form = e.target;
  if (!(form instanceof HTMLFormElement) || !("send" in form.dataset)) return;
  if (form.dataset.send && !document.querySelector(form.dataset.send)) return;
  e.preventDefault();
  const by = e.submitter;
  const had = document.activeElement;
  const body = new URLSearchParams();
  for (const [name, value] of new FormData(form, by)) body.append(name, String(value));
  const buttons = [...form.querySelectorAll("button")];
  for (const b of buttons) b.disabled = true;
  let trouble = "";
  try {
    // Not form.action, which is a button if one has that name.
    const url = new URL(form.getAttribute("action") ?? "", location.href);
    url.searchParams.set("fragment", "");
    const answer = await fetch(url, { method: "POST", body, redirect: "error" });
    const said = await answer.text();
    if (answer.ok) apply(said);
    else trouble = said;
  } catch {
    trouble = "The server did not answer. Try again when it is back.";
  }
  for (const b of buttons) b.disabled = false;
  // A disabled button loses the focus.
  if (document.activeElement === document.body && had instanceof HTMLElement) had.focus({ preventScroll: true });
  form.querySelector("[data-trouble]")?.remove();
  if (trouble) {
    const p = document.createElement("p");
    p.className = "notice bad";
    p.setAttribute("role", "alert");
    p.dataset.trouble = "";
    p.textContent = trouble;
    form.append(p);
  }
});

// Texts to copy get a button, if the browser lets pages copy.
function copyButtons(page = document) {
  for (const pre of page.querySelectorAll("pre[data-copy]")) {
    if (!navigator.clipboard || pre.parentElement?.classList.contains("copied")) continue;
    const around = document.createElement("div");
    around.className = "copied";
    pre.replaceWith(around);
    const b = document.createElement("button");
    b.type = "button";
    b.textContent = "Copy";
    b.addEventListener("click", async () => {
      await navigator.clipboard.writeText(pre.textContent ?? "");
      b.textContent = "Copied";
      window.setTimeout(() => (b.textContent = "Copy"), 1500);
    });
    around.append(pre, b);
  }
}
copyButtons();

// The number of tasks that wait for the viewer, in the menu and in the tab's title. The request
// also detects that the session has ended.
const { waiting } = document.body.dataset;
if (waiting) {
  const title = document.title.replace(/^\(\d+\) /, "");
  let known = document.querySelector("#waiting")?.textContent?.match(/\d+/)?.[0] ?? "0";
  let last = Date.now();
  const ask = async () => {
    if (Date.now() - last < (document.hidden ? 30000 : 5000)) return;
    last = Date.now();
    const at = new URL(waiting, location.href);
    if (talks instanceof HTMLElement && talks.dataset.agent) { // tasks of its context may begin in another tab
      at.search = location.search;
      at.searchParams.set("agent", talks.dataset.agent);
      for (const el of [...talks.children].slice(-100)) if (el instanceof HTMLElement) at.searchParams.append("task", el.dataset.task ?? "");
    }
    at.searchParams.set("known", known);
    const answer = await fetch(at, { redirect: "error" }).catch(() => undefined);
    if (answer?.status === 401) {
      window.clearInterval(asking);
      gone();
    }
    const news = answer?.ok && (await answer.text().catch(() => ""));
    if (news) apply(news);
    const n = answer?.ok && answer.headers.get("Parley-Waiting");
    if (!n || n === known) return;
    known = n;
    document.title = n === "0" ? title : `(${n}) ${title}`;
    refresh();
  };
  const asking = window.setInterval(ask, 2500);
}

// A page of figures, or of a task that goes on, is refreshed every few seconds while it is
// visible.
window.setInterval(() => {
  if (!document.hidden && document.querySelector("[data-polled]")) refresh();
}, 5000);

// Refreshes a page that shows waiting tasks when their number has changed, and the page of a
// task when its state has, unless the viewer is writing in it or has something open to press.
// Returns whether it did.
async function refresh() {
  const part = document.querySelector("[data-fresh]");
  if (!part || busy(part)) return false;
  const from = /** @type {HTMLElement} */ (part).dataset.fresh || location.href;
  const answer = await fetch(from, { redirect: "error" }).catch(() => undefined);
  if (!answer?.ok) return false;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  copyButtons(page);
  keepFocus(() => {
    for (const id of [part.id, "waiting-words", "reply", "scrub", "view"]) {
      const old = document.getElementById(id);
      const now = page.getElementById(id);
      if (old && now && !busy(old)) become(old, now);
    }
  });
  return !busy(part);
}

/** @param {Element} part */
function busy(part) {
  if (part.querySelector("details:is(.confirm, .sent > *)[open]")) return true;
  return [...part.querySelectorAll("textarea, input, select")].some((field) => field === document.activeElement || written(field));
}

/**
 * Whether a field has something that the page did not bring.
 * @param {Element} field
 */
function written(field) {
  if (field instanceof HTMLSelectElement) return field.selectedOptions[0] !== (field.querySelector("[selected]") ?? field.options[0]);
  if (field instanceof HTMLTextAreaElement) return field.value.trim() !== "" && field.value !== field.defaultValue;
  return field instanceof HTMLInputElement && (field.value !== field.defaultValue || field.checked !== field.defaultChecked);
}

// The scrubber of a task: while it moves, the page shows the task as of each position.
const scrub = document.querySelector("[data-scrub]");
if (scrub instanceof HTMLFormElement) {
  const range = /** @type {HTMLInputElement} */ (scrub.elements.namedItem("at"));
  let wanted = 0;
  let shows = false;
  const show = async () => {
    if (shows) return;
    shows = true;
    for (let at = 0; at !== wanted; ) {
      at = wanted;
      const here = new URL(location.href);
      here.searchParams.delete("after");
      // Pages of entries begin before their position, even at the end.
      if (at === Number(range.max) && !/wire|log/.test(here.search)) here.searchParams.delete("at");
      else here.searchParams.set("at", String(at));
      const answer = await fetch(here, { redirect: "error" }).catch(() => undefined);
      if (!answer?.ok) break;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      copyButtons(page);
      for (const part of ["#as-of", ".tabs"]) {
        const now = page.querySelector(part);
        if (now) document.querySelector(part)?.replaceWith(now);
      }
      history.replaceState(null, "", here);
      document.dispatchEvent(new CustomEvent("live"));
    }
    shows = false;
  };
  const tell = () => {
    const said = scrub.querySelector("output");
    if (said) said.textContent = `${range.value} of ${range.max}`;
  };
  range.addEventListener("input", () => {
    tell();
    wanted = Number(range.value);
    show();
  });

  // The parts above the conversation, and the form below it, follow it. They catch up if that
  // was not possible when the state changed.
  let known = document.querySelector("#about .state")?.textContent;
  const keepUp = async () => {
    const talk = document.querySelector("#as-of [data-live]");
    const last = talk instanceof HTMLElement && talk.dataset.live?.match(/\d+$/)?.[0];
    if (!talk || !last) return;
    const end = range.value === range.max;
    range.max = last;
    if (end) range.value = last;
    tell();
    const state = talk.querySelector("[id$=state] .state")?.textContent;
    if (!state || state === known) return;
    const before = known;
    known = state;
    if (!(await refresh()) && known === state) known = before;
  };
  document.addEventListener("live", keepUp);
  window.setInterval(keepUp, 2500);
}

// Whatever opens over a page closes with Escape, or with a click outside it.
document.addEventListener("click", (e) => {
  for (const d of document.querySelectorAll("details[open]:is(.confirm, .menu)")) {
    if (e.target instanceof Node && !d.contains(e.target)) d.removeAttribute("open");
  }
});
document.addEventListener("keydown", (e) => {
  const d = e.key === "Escape" && document.querySelector("details[open]:is(.confirm, .menu)");
  if (!d) return;
  d.removeAttribute("open");
  d.querySelector("summary")?.focus();
});

// Keys: / focuses the message, g and a letter opens a page, unless the viewer turned keys off.
// No key leaves a page with unsent input: the field with it gets the focus instead.
const keys = document.querySelector("#keys");
const on = keys?.querySelector("input");
if (keys instanceof HTMLElement && on) {
  keys.hidden = false;
  on.checked = localStorage.getItem("parley-keys") !== "off";
  on.addEventListener("change", () => localStorage.setItem("parley-keys", on.checked ? "on" : "off"));
}
/** @type {Record<string, string>} */
const places = { c: "", i: "inbox", t: "tasks", a: "agents", w: "webhooks", o: "operate" };
let leader = 0;
document.addEventListener("keydown", (e) => {
  const at = e.target;
  if (at instanceof HTMLElement && (at.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName))) {
    if (e.key === "Escape") at.blur();
    return;
  }
  if (e.ctrlKey || e.metaKey || e.altKey || !on?.checked) return;
  const home = document.querySelector(".places .name");
  if (e.key === "/") {
    const field = document.querySelector("textarea, input[type=search]");
    if (field instanceof HTMLElement) {
      e.preventDefault();
      field.focus();
    }
    return;
  }
  if (e.key === "g") {
    leader = Date.now();
    return;
  }
  const place = Date.now() - leader < 1500 && e.key in places && home instanceof HTMLAnchorElement && home.href + places[e.key];
  const link = document.querySelector(`[data-key="${CSS.escape(e.key)}"]`);
  if (!place && !(link instanceof HTMLElement)) return;
  const draft = unsent();
  if (draft) {
    e.preventDefault();
    draft.closest("details")?.setAttribute("open", ""); // closed elements cannot get the focus
    draft.focus();
  } else if (place) {
    location.href = place;
  } else if (link instanceof HTMLElement) {
    link.click();
  }
});

// For other ways to leave the page, the browser asks, except for the form that sends the text.
/** @type {EventTarget | null} */
let sent = null;
document.addEventListener("submit", (e) => {
  if (!e.defaultPrevented) sent = e.target; // otherwise the page stays
});
document.addEventListener("input", () => {
  sent = null;
});
window.addEventListener("beforeunload", (e) => {
  const draft = unsent();
  if (draft && draft.form !== sent) e.preventDefault();
});

/** The field that would be lost with the page, or whose form's files would. */
function unsent() {
  const fields = /** @type {(HTMLInputElement | HTMLTextAreaElement)[]} */ ([...document.querySelectorAll("textarea, [data-send] :is(input, select)")]);
  return fields.find((field) => written(field) || (field.form?.querySelector("#attached")?.childElementCount ?? 0) > 0);
}
