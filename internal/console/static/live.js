// @ts-check
// Live parts of a page. The server sends fragments of HTML over EventSource, each with its
// position in the log, and this module inserts them. The browser itself asks for what it missed
// (Last-Event-ID), so nothing is stored here.

/**
 * Puts the templates of a fragment into the page. Each has data-into, a selector,
 * and data-how: append, prepend, replace, text (append to the text), fill or remove.
 * @param {string} html
 */
export function apply(html) {
  const near = atEnd();
  const chosen = document.querySelector("#answering :checked");
  keepFocus(() => put(html));
  // An answer being written keeps its question, while that waits.
  const to = chosen?.isConnected ? chosen : [...document.querySelectorAll("#answering input")].at(-1);
  if (to instanceof HTMLInputElement) to.checked = true;
  document.dispatchEvent(new CustomEvent("live"));
  if (near) window.scrollTo({ top: document.body.scrollHeight });
}

/** @param {string} html */
function put(html) {
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
      const now = part.content.firstElementChild;
      if (now) become(into, now);
    } else if (how === "text") {
      into.append(document.createTextNode(part.content.textContent ?? ""));
    } else if (how === "fill") {
      fill(into, part.content);
    } else if (how === "prepend") {
      part.content.firstElementChild?.classList.add("fresh");
      into.prepend(part.content);
      shorten(into);
    } else if (!document.getElementById(part.content.firstElementChild?.id ?? "")) { // otherwise it came another way
      into.append(part.content);
    }
  }
}

/**
 * Drops the oldest rows of a live list that has grown long. The link to older tasks leads
 * over the first page as it is now, because the page that was behind this one begins later.
 * @param {Element} rows
 */
function shorten(rows) {
  if (rows.childElementCount <= 200) return;
  while (rows.childElementCount > 200) rows.lastElementChild?.remove();
  const older = document.querySelector("[data-older]");
  if (!(older instanceof HTMLElement)) return;
  older.hidden = false;
  older.querySelector("a")?.setAttribute("href", older.dataset.older ?? "");
}

/**
 * Makes a node what another one is. What is the same in both stays, so that a click that
 * has begun on it still reaches it, a sound plays on, and a field keeps what was written.
 * @param {ChildNode} old
 * @param {ChildNode} now
 */
export function become(old, now) {
  if (old.isEqualNode(now)) return;
  if (!(old instanceof Element && now instanceof Element) || old.tagName !== now.tagName || old.id !== now.id) {
    old.replaceWith(now);
    return;
  }
  for (const name of old.getAttributeNames()) if (!now.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of now.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  fill(old, now);
}

/**
 * Gives an element the children of another one.
 * @param {Element} into
 * @param {ParentNode & Node} from
 */
function fill(into, from) {
  const old = [...into.childNodes];
  const now = [...from.childNodes];
  const shorter = Math.min(old.length, now.length);
  /** @param {number} i @param {number} j */
  const same = (i, j) => old[i]?.isEqualNode(now[j] ?? null);
  let head = 0;
  while (head < shorter && same(head, head)) head++;
  let tail = 0;
  while (tail < shorter - head && same(old.length - 1 - tail, now.length - 1 - tail)) tail++;
  const gone = old.slice(head, old.length - tail);
  const come = now.slice(head, now.length - tail);
  if (gone.length === come.length) {
    gone.forEach((node, i) => become(node, /** @type {ChildNode} */ (come[i])));
    return;
  }
  for (const node of gone) node.remove();
  for (const node of come) into.insertBefore(node, old[old.length - tail] ?? null);
}

/**
 * Changes the page. An element that had the focus and is there again has it again.
 * @param {() => void} change
 */
export function keepFocus(change) {
  const had = document.activeElement;
  const near = had?.parentElement?.closest("[id]")?.id;
  change();
  if (!(had instanceof HTMLElement) || had.isConnected) return;
  const place = (near && document.getElementById(near)) || document;
  const again = [...place.querySelectorAll(had.tagName)].find((el) => el.isEqualNode(had));
  if (again instanceof HTMLElement) again.focus({ preventScroll: true });
}

/** Whether the reader is at the page's end, and wants to stay there. */
function atEnd() {
  return window.innerHeight + window.scrollY > document.body.scrollHeight - 120;
}

const line = document.querySelector("[data-line]");
/** @type {number | undefined} */
let late;

/** @param {boolean} lost */
function connection(lost) {
  window.clearTimeout(late);
  if (!lost) {
    if (line instanceof HTMLElement) line.hidden = true;
    return;
  }
  late = window.setTimeout(() => {
    if (line instanceof HTMLElement) line.hidden = false;
  }, 500);
}

// A picture that loads late must not push away the end that the viewer is reading.
let stays = true;
window.addEventListener("scroll", () => (stays = atEnd()), { passive: true });
document.addEventListener(
  "load",
  (e) => {
    if (e.target instanceof HTMLImageElement && stays && document.querySelector("#composer")) window.scrollTo({ top: document.body.scrollHeight });
  },
  true,
);

/**
 * Follows a stream of fragments, until the server says that there is no more.
 * @param {() => URL} address where it goes on, as far as the page knows
 * @param {(id: string) => void} come is told the position of each event
 */
function follow(address, come) {
  let source = new EventSource(address());
  let over = false;
  const begin = () => {
    source.onmessage = (e) => {
      if (e.lastEventId) come(e.lastEventId);
      apply(e.data);
    };
    source.addEventListener("end", () => {
      close();
      connection(false);
    });
    source.addEventListener("gone", gone);
    source.onopen = () => connection(false);
    source.onerror = () => {
      if (over) return;
      connection(true);
      if (source.readyState !== EventSource.CLOSED) return;
      // The browser gave up, as after an answer that is not a stream, such as a proxy's error
      // page while the server starts. Resume from the present page.
      window.setTimeout(() => {
        if (over) return;
        source = new EventSource(address());
        begin();
      }, 1000);
    };
  };
  const close = () => {
    over = true;
    source.close();
    streams.delete(close);
  };
  begin();
  streams.add(close);
  return close;
}

/** @type {Set<() => void>} what closes the streams that are open */
const streams = new Set();
function closeAll() {
  for (const close of streams) close();
}
window.addEventListener("pagehide", closeAll);

/** Reads the page anew where it cannot go on, or leads to the login: its session has ended. */
export function gone() {
  closeAll(); // even if the viewer stays because of a draft
  location.reload();
}

// The page's list, whose events have ids of their own.
const list = document.querySelector("[data-list]");
if (list instanceof HTMLElement) {
  let after = "";
  follow(
    () => {
      const at = new URL(list.dataset.list ?? "", location.href);
      if (after) at.searchParams.set("after", after);
      return at;
    },
    (id) => (after = id),
  );
}

// The tasks of the page, which share one stream: a browser has few connections. An
// element's data-live is a task with a position, agent/id@5; an event's id is the
// positions of all of them, joined by dots.
/** @type {(() => void) | undefined} */
let stop;
/** @type {HTMLElement[]} */
let followed = [];

function followTasks() {
  const tasks = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("[data-live]")]).slice(-40);
  const nav = document.querySelector(".places .name");
  if (!(nav instanceof HTMLAnchorElement)) return;
  // An element that replaced another, as the scrubber does, has its own position.
  if (tasks.length === followed.length && tasks.every((el, i) => el === followed[i])) return;
  followed = tasks;
  stop?.();
  stop = undefined;
  if (!tasks.length) { // a page of the past, without updates
    connection(false);
    return;
  }
  stop = follow(
    () => {
      const at = new URL("live", nav.href);
      for (const el of tasks) at.searchParams.append("task", el.dataset.live ?? "");
      return at;
    },
    (id) => {
      for (const [i, position] of id.split(".").entries()) {
        const el = tasks[i];
        if (el) el.dataset.live = (el.dataset.live ?? "").replace(/@\d+$/, `@${position}`);
      }
    },
  );
}
followTasks();
document.addEventListener("live", followTasks);

// A page that the browser cached and shows again has lost its streams.
window.addEventListener("pageshow", (e) => {
  if (e.persisted) location.reload();
});

// How far this machine's clock is ahead of the server's, whose times the page shows.
const ahead = Date.now() - Number(document.body.dataset.now ?? Date.now());

// Elapsed times: data-since is the start, in milliseconds. Ages: an open page continues to
// count from the server's time, in the same words.
setInterval(() => {
  const clock = Date.now() - ahead;
  for (const el of document.querySelectorAll("[data-since]")) {
    if (el instanceof HTMLElement) el.textContent = elapsed(clock - Number(el.dataset.since));
  }
  for (const el of document.querySelectorAll("time[data-age]")) {
    if (!(el instanceof HTMLTimeElement)) continue;
    const now = age(clock - Date.parse(el.dateTime.replace(" ", "T")));
    if (el.textContent !== now) el.textContent = now;
  }
}, 1000);

/** @param {number} ms */
function elapsed(ms) {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 60) return `${s} s`;
  if (s < 3600) return units(s, 60, "min", 1, "s");
  if (s < 48 * 3600) return units(s, 3600, "h", 60, "min");
  return units(s, 86400, "days", 3600, "h");
}

/**
 * @param {number} s @param {number} large @param {string} its
 * @param {number} small @param {string} of
 */
function units(s, large, its, small, of) {
  const left = Math.floor((s % large) / small);
  return `${Math.floor(s / large)} ${its}` + (left ? ` ${left} ${of}` : "");
}

/** @param {number} ms */
function age(ms) {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 48 * 3600) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86400)} days`;
}
