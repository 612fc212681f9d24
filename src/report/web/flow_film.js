// The film of points on their way: time, the slider and the button.

const PLAY_MS = 2600;
const STEP_MS = 700;
const wantsLessMotion = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

function setFlowTime(view, t) {
  const percent = Math.round(100 * t);
  view.time = t;
  view.flow.show(t);
  view.slider.value = percent;
  view.slider.setAttribute('aria-valuetext', `${percent} percent of the way`);
  view.shownTime.textContent = `${percent}${HARD_SPACE}%`;
}

function stopFlow(view) {
  view.playing = false;
  view.playButton.textContent = 'Play';
}

/// Readers who want less motion see five still pictures instead of a film.
function playedTime(elapsed, from) {
  const duration = PLAY_MS * (1 - from);
  if (wantsLessMotion()) return from + Math.min(1 - from, 0.25 * Math.floor(elapsed / STEP_MS));
  return duration > 0 ? from + (1 - from) * Math.min(1, elapsed / duration) : 1;
}

function playFlow(view) {
  const from = view.time >= 1 ? 0 : view.time;
  let start = null;
  view.playing = true;
  view.playButton.textContent = 'Pause';
  const frame = (now) => {
    if (!view.playing) return;
    if (start === null) start = now;
    setFlowTime(view, playedTime(now - start, from));
    if (view.time >= 1) stopFlow(view);
    else requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}

function makeFlowControls(view) {
  view.time = 0;
  view.playButton = element('button', { type: 'button' }, 'Play');
  view.slider = element('input', { type: 'range', min: 0, max: 100, value: 0 });
  view.shownTime = element('output', { 'aria-hidden': 'true' });
  view.playButton.addEventListener('click', () => (view.playing ? stopFlow(view) : playFlow(view)));
  view.slider.addEventListener('input', () => {
    stopFlow(view);
    setFlowTime(view, Number(view.slider.value) / 100);
  });
  const label = element('label', {}, 'Part of the way', view.slider, view.shownTime);
  view.controls = element('div', { class: 'controls' }, view.playButton, label);
  view.plot.after(view.controls);
}
