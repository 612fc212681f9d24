// Logarithmic scales. They are plotted as decades above their lower end, so that bars stand on 0 and ticks can be
// 1, 2, 5 where less than two decades are shown.

function valuesOfDecades(factors, low, high) {
  const values = [];
  for (let exponent = Math.floor(Math.log10(low)) - 1; exponent <= Math.ceil(Math.log10(high)); ++exponent) {
    for (const factor of factors) values.push(Number(`${factor}e${exponent}`));
  }
  return values;
}

/// Tick values that reach around [low, high], or for a tight scale lie inside.
function logarithmicTicks(low, high, count, tight) {
  const decades = Math.log10(high / low);
  const candidates = valuesOfDecades(decades < 2 ? [1, 2, 5] : [1], low, high);
  const inside = candidates.filter((value) => value >= low * 0.999999 && value <= high * 1.000001);
  if (tight && inside.length > 1) return thinned(inside, count);
  const below = candidates.filter((value) => value <= low * 1.000001).pop();
  const above = candidates.find((value) => value >= high * 0.999999) || 10 ** Math.ceil(Math.log10(high));
  return candidates.filter((value) => value >= below && value <= above);
}

/// Every n-th value, such that whole multiples of n decades stay: 10⁻⁹, 10⁻⁶, 10⁻³.
function thinned(values, count) {
  const stride = Math.ceil(values.length / (count + 1));
  if (stride === 1) return values;
  const phase = values.findIndex((value) => Math.round(Math.log10(value)) % stride === 0);
  return values.filter((_, i) => (i - Math.max(0, phase)) % stride === 0);
}

function logarithmicTickText(ticks, unit) {
  if (PREFIXES[unit]) return (value) => numberWithUnit(value, unit);
  const readable = ticks.every((value) => value >= 0.01 && value <= 1e4);
  return (value) => (readable ? plainNumber(value, 3) : scientific(value, 2));
}

function logarithmicScale(axis, [low, high], count, tight) {
  if (low === high) [low, high] = [low / 2, high * 2];
  const around = logarithmicTicks(low, high, count, tight);
  const min = tight ? low : around[0];
  const max = tight ? high : around[around.length - 1];
  const ticks = thinned(around, count);
  const origin = Math.log10(min);
  const toPlot = (value) => (isNumber(value) && value > 0 ? Math.log10(value) - origin : null);
  const fromPlot = (plotted) => 10 ** (plotted + origin);
  const text = logarithmicTickText(ticks, axis.unit);
  // The tick's own number, not the power of its logarithm, which may be 0.9999999.
  const tickAt = (plotted) => ticks.find((tick) => Math.abs(toPlot(tick) - plotted) < 1e-6);
  return {
    min: 0, max: toPlot(max),
    ticks: ticks.map(toPlot),
    toPlot,
    fromPlot,
    tickText: (plotted) => text(tickAt(plotted) || fromPlot(plotted)),
    // Ticks of bytes and seconds carry their own unit.
    unitName: PREFIXES[axis.unit] ? '' : axis.unit || '',
  };
}
