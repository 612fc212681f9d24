// Linear scales: their ends, ticks and what the ticks say.

function niceStep(atLeast) {
  const power = 10 ** Math.floor(Math.log10(atLeast));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= atLeast * 0.999999);
}

function linearTicks(low, high, step) {
  const first = Math.ceil(low / step - 1e-6);
  const last = Math.floor(high / step + 1e-6);
  return Array.from({ length: Math.max(0, last - first) + 1 }, (_, i) => (first + i) * step);
}

/// One tick alone does not say how long the axis is.
function stepFor(low, high, count, whole) {
  const step = niceStep((high - low) / count);
  const finer = linearTicks(low, high, step).length < 3 ? niceStep(step / 2.6) : step;
  return whole ? Math.max(1, finer) : finer;
}

function linearTickText(step, largest, size) {
  const [shownStep, shownLargest] = [step / size, largest / size];
  if (shownLargest >= 1e7 || shownLargest < 1e-3) {
    const digits = Math.floor(Math.log10(shownLargest)) - Math.floor(Math.log10(shownStep)) + 1;
    return (value) => (value === 0 ? '0' : scientific(value / size, between(1, digits, 6)));
  }
  const decimals = between(0, -Math.floor(Math.log10(shownStep) + 1e-9), 12);
  const format = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  return (value) => withMinusSign((value / size || 0).toLocaleString('en', format));
}

function linearScale(axis, [low, high], count, tight) {
  if (low === high) [low, high] = low === 0 ? [0, 1] : [low - Math.abs(low) / 2, high + Math.abs(high) / 2];
  const step = stepFor(low, high, count, axis.whole);
  const min = tight ? low : Math.floor(low / step + 1e-6) * step;
  const max = tight ? high : Math.ceil(high / step - 1e-6) * step;
  const largest = Math.max(Math.abs(min), Math.abs(max));
  const unit = prefixedUnit(axis.unit, largest);
  return {
    min, max,
    ticks: linearTicks(min, max, step),
    toPlot: (value) => (isNumber(value) ? value : null),
    fromPlot: (plotted) => plotted,
    tickText: linearTickText(step, largest, unit.size),
    unitName: unit.name,
  };
}
