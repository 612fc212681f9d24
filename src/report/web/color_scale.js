// The scale of colours above a heat map.

function showColorScale(view, scale, room) {
  if (!scale) return;
  const box = boxAbovePlot(view, 'scaleBox', { class: 'scale' });
  const ramp = element('div', { class: 'ramp', 'aria-hidden': 'true' });
  ramp.style.background = `linear-gradient(to right, ${room.theme.heat.join(', ')})`;
  const stops = scale.stops.map((text) => element('span', {}, text));
  box.replaceChildren(element('span', {}, scale.name), ramp, element('div', { class: 'stops' }, ...stops));
}
