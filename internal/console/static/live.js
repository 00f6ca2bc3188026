// @ts-check
// Live parts of a page. The server sends fragments of HTML over EventSource, each
// under its position in the log, and this module puts them where they belong. The
// browser itself asks for what it missed (Last-Event-ID), so nothing is kept here.

/**
 * Puts the templates of a fragment into the page. Each has data-into, a selector,
 * and data-how: append, replace, text (append to the text), state, or remove.
 * @param {string} html
 */
export function apply(html) {
  const near = atEnd();
  const holder = document.createElement("template");
  holder.innerHTML = html;
  for (const part of holder.content.querySelectorAll("template[data-into]")) {
    if (!(part instanceof HTMLTemplateElement)) continue;
    const into = document.querySelector(part.dataset.into ?? "");
    const how = part.dataset.how;
    if (!into) continue;
    if (how === "remove") {
      into.remove();
    } else if (how === "replace") {
      into.replaceWith(part.content);
    } else if (how === "text") {
      into.append(document.createTextNode(part.content.textContent ?? ""));
    } else if (how === "fill") {
      into.replaceChildren(part.content);
    } else if (how === "prepend") {
      into.prepend(part.content);
    } else {
      into.append(part.content);
    }
  }
  document.dispatchEvent(new CustomEvent("live"));
  if (near) window.scrollTo({ top: document.body.scrollHeight });
}

/** Whether the reader is at the page's end, and wants to stay there. */
function atEnd() {
  return window.innerHeight + window.scrollY > document.body.scrollHeight - 120;
}

/**
 * Follows the stream of an element with data-live, until the server says that there
 * is no more.
 * @param {HTMLElement} el
 */
function follow(el) {
  const address = new URL(el.dataset.live ?? "", location.href);
  if (el.dataset.after) address.searchParams.set("after", el.dataset.after);
  const source = new EventSource(address);
  const line = document.querySelector("[data-line]");
  /** @type {number | undefined} */
  let late;
  source.onmessage = (e) => {
    if (e.lastEventId) el.dataset.after = e.lastEventId;
    apply(e.data);
  };
  source.addEventListener("end", () => {
    source.close();
    window.clearTimeout(late);
  });
  source.addEventListener("gone", () => {
    source.close();
    location.reload();
  });
  source.onopen = () => {
    window.clearTimeout(late);
    if (line instanceof HTMLElement) line.hidden = true;
  };
  source.onerror = () => {
    window.clearTimeout(late);
    late = window.setTimeout(() => {
      if (line instanceof HTMLElement) line.hidden = false;
    }, 500);
    if (source.readyState === EventSource.CLOSED) {
      // The browser gave up, as after an answer that is not a stream: a proxy's
      // error page while the server starts. The page as it stands resumes.
      window.setTimeout(() => {
        if (document.contains(el)) follow(el);
      }, 1000);
    }
  };
  window.addEventListener("pagehide", () => source.close(), { once: true });
}

/** @type {WeakSet<Element>} */
const followed = new WeakSet();

function followAll() {
  for (const el of document.querySelectorAll("[data-live]")) {
    if (!(el instanceof HTMLElement) || followed.has(el)) continue;
    followed.add(el);
    follow(el);
  }
}
followAll();
document.addEventListener("live", followAll);

// Elapsed times: data-since is when it began, in milliseconds.
setInterval(() => {
  for (const el of document.querySelectorAll("[data-since]")) {
    if (el instanceof HTMLElement) el.textContent = elapsed(Date.now() - Number(el.dataset.since));
  }
}, 1000);

/** @param {number} ms */
function elapsed(ms) {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
}
