// Live pages: the news of a run replace charts and parts of the page.

const LOST = 'connection lost; the run may have ended';
const PATIENCE_MS = 10000;

function liveStatus() {
  const known = document.getElementById('live-status');
  if (known) return known;
  const made = element('p', { id: 'live-status', role: 'status' });
  (document.querySelector('main') || document.body).prepend(made);
  return made;
}

/// Screen readers read a status aloud whenever it is set.
function sayStatus(text) {
  const status = liveStatus();
  if (status.textContent !== text) status.textContent = text;
}

function replaceParts(parts) {
  for (const [id, html] of Object.entries(parts)) {
    const part = document.getElementById(id);
    // Made and escaped by the server that made the page.
    if (part && part.innerHTML !== html) part.innerHTML = html;
  }
}

function followRun(address) {
  const source = new EventSource(address);
  let [lastStatus, giveUp] = ['', null];
  const connected = () => {
    clearTimeout(giveUp);
    giveUp = null;
    sayStatus(lastStatus);
  };
  source.addEventListener('open', connected);
  source.addEventListener('message', (event) => {
    const news = JSON.parse(event.data);
    if (news.parts) replaceParts(news.parts);
    if (news.charts && hasCharts()) showCharts(news.charts);
    if (typeof news.status === 'string') lastStatus = news.status;
    if (news.done) {
      source.close();
      lastStatus = lastStatus ? `${lastStatus} (finished)` : 'finished';
    }
    connected();
  });
  source.addEventListener('error', () => {
    sayStatus(LOST);
    // The browser tries again by itself, but for ever.
    const tries = source.readyState !== EventSource.CLOSED;
    if (tries && giveUp === null) giveUp = setTimeout(() => source.close(), PATIENCE_MS);
  });
}
