"use strict";
// Server-sent events by fetch, which can send a token; EventSource cannot. It tries again by itself.
const KEY = "keat token";
const SILENT = 6000;  // milliseconds without a word, after which the service is taken to be away

export const token = {
  get: () => sessionStorage.getItem(KEY),
  set: text => sessionStorage.setItem(KEY, text),
  forget: () => sessionStorage.removeItem(KEY),
};

export function ask(path, options = {}) {
  const known = token.get();
  return fetch(path, {...options, cache: "no-store", headers: known ? {Authorization: `Bearer ${known}`} : {}});
}

export async function refusal(response) {
  try { return (await response.json()).error; } catch { return `The service answered ${response.status}.`; }
}

// Calls on[kind](content) for each event; on.away(sentence) and on.locked(sentence) say why there are none.
export async function follow(path, on) {
  for (let wait = 1000;; wait = Math.min(wait * 1.6, 10000)) {
    const stop = new AbortController();
    let silence = 0;
    const heard = () => { clearTimeout(silence); silence = setTimeout(() => stop.abort(), SILENT); };
    try {
      heard();
      const response = await ask(path, {signal: stop.signal});
      if (response.status === 401 || response.status === 403) {
        on.locked(response.status === 403 ? await refusal(response) : "");
        return;
      }
      if (response.ok) {
        for await (const [kind, content] of events(response.body, heard)) { wait = 1000; on[kind]?.(content); }
        on.away("The service has stopped, or cannot be reached.");
      } else on.away(await refusal(response));
    } catch { on.away("The service cannot be reached."); }
    clearTimeout(silence);
    await new Promise(done => setTimeout(done, wait));
  }
}

async function* events(body, heard) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const {done, value} = await reader.read();
    if (done) return;
    heard();
    const frames = (text + value).split("\n\n");
    text = frames.pop();
    for (const frame of frames) {
      const field = name => frame.split("\n").find(line => line.startsWith(name))?.slice(name.length);
      const data = field("data: ");
      if (data !== undefined) yield [field("event: "), JSON.parse(data)];  // else a sign of life
    }
  }
}
