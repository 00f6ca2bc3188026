// @ts-check
// What pages do beyond what forms and links do: the composer of a chat, and keys.
import { apply } from "./live.js";

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

  const asked = new URLSearchParams(location.search).get("say");
  if (asked) text.value = asked;

  text.addEventListener("keydown", (e) => {
    if (e.key === "Enter" && !e.shiftKey && !e.isComposing) {
      e.preventDefault();
      form.requestSubmit();
    }
  });
  for (const b of document.querySelectorAll("[data-example]")) {
    b.addEventListener("click", () => {
      text.value = /** @type {HTMLElement} */ (b).dataset.example ?? "";
      text.focus();
    });
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
    // The same id again is the same message: nothing is done twice if an answer was lost.
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
      document.querySelector("#start")?.remove();
      text.value = "";
      files = [];
      show();
      apply(said);
      window.scrollTo({ top: document.body.scrollHeight });
      const context = form.querySelector("input[name=context]");
      if (context instanceof HTMLInputElement && context.value) {
        const here = new URL(location.href);
        here.searchParams.delete("say");
        here.searchParams.set("context", context.value);
        history.replaceState(null, "", here);
      }
    } catch {
      say("The server did not answer. Your message is still here: send it again when the server is back.");
    } finally {
      send.disabled = false;
      text.focus();
    }
  });
}

// The scrubber of a task: the page follows it when it is let go.
const scrub = document.querySelector("[data-scrub]");
if (scrub instanceof HTMLFormElement) {
  const range = /** @type {HTMLInputElement} */ (scrub.elements.namedItem("at"));
  range.addEventListener("input", () => {
    const said = scrub.querySelector("output");
    if (said) said.textContent = `${range.value} of ${range.max}`;
  });
  range.addEventListener("change", () => scrub.requestSubmit());
}

// Keys: / goes to the message, g and a letter to a place, ? lists them.
/** @type {Record<string, string>} */
const places = { c: "", i: "inbox", t: "tasks", a: "agents" };
let leader = 0;
document.addEventListener("keydown", (e) => {
  const at = e.target;
  if (at instanceof HTMLElement && (at.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName))) {
    if (e.key === "Escape") at.blur();
    return;
  }
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  const home = document.querySelector(".places .name");
  if (e.key === "/") {
    const field = document.querySelector("textarea, input[type=search]");
    if (field instanceof HTMLElement) {
      e.preventDefault();
      field.focus();
    }
  } else if (e.key === "g") {
    leader = Date.now();
  } else if (Date.now() - leader < 1500 && e.key in places && home instanceof HTMLAnchorElement) {
    location.href = home.href + places[e.key];
  } else {
    const link = document.querySelector(`[data-key="${CSS.escape(e.key)}"]`);
    if (link instanceof HTMLElement) link.click();
  }
});
