// What was said, kept until a check fails and is printed then: calls and
// answers as the program sees them, HTTP exchanges as they were on the wire,
// and what either side wrote to its log.

let lines = [];

// clear begins the transcript of the next check.
export function clear() {
  lines = [];
}

// say adds one line.
export function say(mark, what) {
  const line = typeof what === 'string' ? what : JSON.stringify(what);
  lines.push(`${mark} ${line.length > 2000 ? `${line.slice(0, 2000)} … (${line.length} characters)` : line}`);
}

// text is the transcript so far.
export function text() {
  return lines.map((l) => `    ${l}`).join('\n');
}

// watchFetch records what goes through fetch, which is what the SDKs use. It
// changes nothing: they read the response, the transcript a clone of it.
export function watchFetch() {
  const real = globalThis.fetch;
  globalThis.fetch = async (url, init) => {
    const version = new Headers(init?.headers).get('A2A-Version');
    say('wire>', `${init?.method ?? 'GET'} ${url}${version ? ` (A2A-Version: ${version})` : ''} ${init?.body ?? ''}`);
    const response = await real(url, init);
    const head = `${response.status} ${response.headers.get('Content-Type') ?? ''}`;
    if (!response.body) {
      say('<wire', head);
    } else {
      drain(response.clone().body, (chunk) => say('<wire', `${head} ${chunk}`));
    }
    return response;
  };
}

async function drain(body, each) {
  const decoder = new TextDecoder();
  try {
    for await (const chunk of body) each(decoder.decode(chunk, { stream: true }));
  } catch {
    // The program gave up the response; so does its transcript.
  }
}

// watchExpress is a middleware that records what an SDK's server is asked and
// what it answers.
export function watchExpress(req, res, next) {
  say('wire>', `${req.method} ${req.url} ${req.body ? JSON.stringify(req.body) : ''}`);
  for (const name of ['write', 'end']) {
    const real = res[name].bind(res);
    res[name] = (chunk, ...rest) => {
      if (chunk && typeof chunk !== 'function') say('<wire', `${res.statusCode} ${chunk}`);
      return real(chunk, ...rest);
    };
  }
  next();
}
