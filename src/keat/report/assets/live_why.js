"use strict";
// Why an event was scored as it was: the page of `keat explain`, in a frame that has no rights here.
import {ask, refusal} from "./live_feed.js";
const byId = id => document.getElementById(id), dialog = byId("why");
let asked = null;

export async function showWhy(seq) {
  close();
  asked = new AbortController();
  const mine = asked;
  byId("why-title").textContent = `Why event ${seq} was scored as it was`;
  byId("why-wait").textContent = "The state is made again as it was right before it; this takes seconds.";
  dialog.showModal();
  try {
    const response = await ask(`v1/explain/${seq}/page`, {signal: mine.signal});
    if (mine !== asked) return;
    if (!response.ok) { byId("why-wait").textContent = await refusal(response); return; }
    const frame = document.createElement("iframe");
    frame.setAttribute("sandbox", "allow-scripts");
    frame.title = `Explanation of event ${seq}`;
    frame.srcdoc = await response.text();
    if (mine !== asked) return;
    byId("why-wait").textContent = "";
    dialog.append(frame);
  } catch {
    if (mine === asked) byId("why-wait").textContent = "The service cannot be reached.";
  }
}

function close() {
  asked?.abort();
  asked = null;
  dialog.querySelector("iframe")?.remove();
  if (dialog.open) dialog.close();
}

byId("close").addEventListener("click", close);
dialog.addEventListener("close", () => { if (asked) close(); });
dialog.addEventListener("click", event => { if (event.target === dialog) close(); });
