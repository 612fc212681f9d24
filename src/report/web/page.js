// Draws the charts of a report page from the descriptions in its element "charts", and keeps a live page up to date.
//
// Every string of a description comes from somebody's data. It reaches the page as text (textContent, SVG text), never
// as HTML: tooltips are elements made here, and ECharts is given functions, not its own text templates.
'use strict';
(() => {
  // ---------------------------------------------------------------------------------------------------------------
  // Elements

  const SVG_SPACE = 'http://www.w3.org/2000/svg';

  function setAttributes(node, attributes) {
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    return node;
  }

  function element(tag, attributes = {}, ...children) {
    const node = setAttributes(document.createElement(tag), attributes);
    node.append(...children);
    return node;
  }

  function svgElement(tag, attributes = {}, ...children) {
    const node = setAttributes(document.createElementNS(SVG_SPACE, tag), attributes);
    node.append(...children);
    return node;
  }

  const between = (low, value, high) => Math.min(high, Math.max(low, value));

  // ---------------------------------------------------------------------------------------------------------------
  // Numbers for people

  const HARD_SPACE = '\u00a0';
  const SUPERSCRIPTS = '⁰¹²³⁴⁵⁶⁷⁸⁹';
  const PREFIXES = {
    B: [['TB', 1e12], ['GB', 1e9], ['MB', 1e6], ['kB', 1e3], ['B', 1]],
    s: [['s', 1], ['ms', 1e-3], ['µs', 1e-6], ['ns', 1e-9]],
  };

  const isNumber = (value) => typeof value === 'number' && Number.isFinite(value);
  const withMinusSign = (text) => text.replace('-', '−');

  function powerOfTen(exponent) {
    if (exponent === 1) return '10';
    return '10' + String(exponent).replace('-', '⁻').replace(/\d/g, (digit) => SUPERSCRIPTS[digit]);
  }

  /// 1.23 × 10⁻⁹, and 10⁻⁹ instead of 1 × 10⁻⁹.
  function scientific(value, digits = 3) {
    const [mantissa, exponent] = value.toExponential(digits - 1).split('e');
    const short = String(Number(mantissa));
    if (Number(exponent) === 0) return withMinusSign(short);
    const power = powerOfTen(Number(exponent));
    if (short === '1') return power;
    return short === '-1' ? withMinusSign('-' + power) : `${withMinusSign(short)}${HARD_SPACE}×${HARD_SPACE}${power}`;
  }

  function plainNumber(value, digits = 4) {
    if (!isNumber(value)) return '–';
    const size = Math.abs(value);
    if (size === 0) return '0';
    if (size < 1e-3 || size >= (Number.isInteger(value) ? 1e12 : 1e7)) return scientific(value, digits);
    // All digits before the point: 123,457 rather than 123,500.
    const wanted = Math.max(digits, Math.floor(Math.log10(size)) + 1);
    return withMinusSign(value.toLocaleString('en', { maximumSignificantDigits: wanted }));
  }

  /// The name and size of the unit in which a value of this size reads best.
  function prefixedUnit(unit, size) {
    const choices = PREFIXES[unit];
    if (!choices) return { name: unit || '', size: 1 };
    if (size === 0) return { name: unit, size: 1 };
    // 999.9 and more would be printed as 1,000 of the smaller unit.
    const [name, unitSize] = choices.find((choice) => size >= 0.9995 * choice[1]) || choices[choices.length - 1];
    return { name, size: unitSize };
  }

  function numberWithUnit(value, unit, digits = 4) {
    if (!isNumber(value)) return '–';
    const best = prefixedUnit(unit, Math.abs(value));
    const number = plainNumber(value / best.size, digits);
    if (!best.name) return number;
    return best.name === '%' ? number + '%' : number + HARD_SPACE + best.name;
  }

  // ---------------------------------------------------------------------------------------------------------------
  // Scales: from values to the numbers that ECharts plots, and back to what the ticks say.
  //
  // ECharts only ever sees linear axes. A logarithmic one is plotted as decades above its lower end, so that bars stand
  // on 0 and ticks can be 1, 2, 5 where less than two decades are shown.

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

  /// Smallest and largest of the values that the axis can show.
  function domainOf(values, logarithmic) {
    let [low, high] = [Infinity, -Infinity];
    for (const value of values) {
      if (!isNumber(value) || (logarithmic && value <= 0)) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
    if (low <= high) return [low, high];
    return logarithmic ? [1, 10] : [0, 1];
  }

  /// Where all values are whole, as iterations and counts are, the ticks are too.
  function forValues(axis, values) {
    return { ...axis, whole: !axis.unit && values.every((value) => !isNumber(value) || Number.isInteger(value)) };
  }

  function scaleOf(axis, domain, count, tight = false) {
    return (axis.log ? logarithmicScale : linearScale)(axis, domain, count, tight);
  }

  /// From 0 if that is not far from the values: differences then have their true size.
  function withZeroIfNear([low, high], axis) {
    if (axis.log) return [low, high];
    if (low > 0 && low < 0.4 * high) return [0, high];
    if (high < 0 && high > 0.4 * low) return [low, 0];
    return [low, high];
  }

  const withZero = ([low, high]) => [Math.min(0, low), Math.max(0, high)];

  /// "time (ms)". "seconds (ms)" would contradict itself.
  function axisName(axis, scale) {
    const plain = { seconds: 'time', bytes: 'size' };
    const title = axis.title || '';
    const other = PREFIXES[axis.unit] && scale.unitName !== axis.unit;
    const name = other ? plain[title.toLowerCase()] || title : title;
    return scale.unitName ? `${name} (${scale.unitName})`.trim() : name;
  }

  // ---------------------------------------------------------------------------------------------------------------
  // Theme: page.css has the colours.

  const DASHES = ['solid', [7, 4], [2, 3], [10, 4, 2, 4]];
  const SYMBOLS = ['circle', 'rect', 'triangle', 'diamond'];

  function readTheme() {
    const style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue('--' + name).trim();
    const list = (name) => color(name).split(',').map((entry) => entry.trim());
    const theme = { series: list('series'), heat: list('heat'), circle: list('circle') };
    for (const name of ['surface', 'ink', 'muted', 'line', 'grid', 'accent', 'band', 'rule', 'gap', 'faint']) {
      theme[name] = color(name);
    }
    theme.font = getComputedStyle(document.body).fontFamily;
    return theme;
  }

  const seriesColor = (theme, index) => theme.series[index % theme.series.length];
  const seriesDash = (index) => DASHES[index % DASHES.length];
  const seriesSymbol = (index) => SYMBOLS[index % SYMBOLS.length];

  const measuring = document.createElement('canvas').getContext('2d');

  function textWidth(text, room) {
    measuring.font = `${room.fontSize}px ${room.theme.font}`;
    return measuring.measureText(text).width;
  }

  const widestOf = (texts, room) => texts.reduce((widest, text) => Math.max(widest, textWidth(text, room)), 0);

  // ---------------------------------------------------------------------------------------------------------------
  // What the charts share

  const horizontalCount = (room) => between(3, Math.floor(room.width / 95), 9);
  const verticalCount = (room) => between(3, Math.floor(room.height / 50), 8);

  function tickTexts(scale) {
    return scale.ticks.map((tick) => scale.tickText(tick));
  }

  function axisStyle(room) {
    const { theme } = room;
    return {
      axisLine: { show: true, onZero: false, lineStyle: { color: theme.line } },
      axisTick: { show: false },
      axisLabel: { color: theme.muted, fontSize: room.fontSize, fontFamily: theme.font, margin: 8 },
      splitLine: { show: true, lineStyle: { color: theme.grid } },
      nameTextStyle: { color: theme.muted, fontSize: room.fontSize, fontFamily: theme.font },
      nameTruncate: { maxWidth: room.width * 0.55, ellipsis: '…' },
    };
  }

  function valueAxis(scale, room) {
    const style = axisStyle(room);
    return {
      ...style,
      type: 'value',
      min: scale.min,
      max: scale.max,
      axisTick: { show: false, customValues: scale.ticks },
      axisLabel: { ...style.axisLabel, customValues: scale.ticks, formatter: (value) => scale.tickText(value) },
    };
  }

  function categoryAxis(entries, room, extra = {}) {
    const style = axisStyle(room);
    return {
      ...style,
      type: 'category',
      data: entries,
      splitLine: { show: false },
      ...extra,
      axisLabel: { ...style.axisLabel, ...extra.axisLabel },
    };
  }

  const below = (axis, name) => (
    { ...axis, name, nameLocation: 'middle', nameGap: 33, axisLabel: { ...axis.axisLabel, margin: 12 } });

  /// The name of the upright axis stands above it, where it can be read without turning one's head.
  function uprightName(name, room) {
    return {
      text: name, left: 0, top: 2, padding: 0, textVerticalAlign: 'top',
      textStyle: {
        color: room.theme.muted, fontSize: room.fontSize, fontFamily: room.theme.font, fontWeight: 'normal',
        width: room.width - 8, overflow: 'truncate',
      },
    };
  }

  /// Space for the texts around a plot; one in bold is a little wider than it measures.
  function gridAround(leftTexts, bottomTexts, room) {
    const last = bottomTexts.length ? textWidth(bottomTexts[bottomTexts.length - 1], room) : 0;
    return {
      left: Math.ceil(Math.min(widestOf(leftTexts, room) * 1.08, room.width * 0.36)) + 12,
      right: Math.ceil(between(12, last / 2 + 4, 60)),
      top: 30,
      bottom: 52,
      outerBoundsMode: 'none',
    };
  }

  function tooltipOf(room, trigger, formatter, pointer = {}) {
    const { theme } = room;
    return {
      trigger,
      confine: true,
      formatter,
      backgroundColor: theme.surface,
      borderColor: theme.line,
      padding: [6, 10],
      transitionDuration: 0,
      textStyle: { color: theme.ink, fontFamily: theme.font, fontSize: 14 },
      axisPointer: {
        label: { show: false },
        lineStyle: { color: theme.muted },
        shadowStyle: { color: theme.band, opacity: 0.15 },
        ...pointer,
      },
    };
  }

  function tipRow(color, name, value) {
    const mark = element('i');
    if (color) mark.style.background = color;
    return element('div', { class: 'tip-row' }, mark, element('span', {}, name), element('span', {}, value));
  }

  function tipOf(heading, rows) {
    return element('div', { class: 'tip' }, element('b', {}, heading), ...rows);
  }

  function baseOption(room) {
    return {
      animation: false,
      backgroundColor: 'transparent',
      textStyle: { fontFamily: room.theme.font, fontSize: room.fontSize, color: room.theme.ink },
      aria: { enabled: false },
    };
  }

  const seriesKey = (index) => 's' + index;
  const bandKey = (index) => 'b' + index;
  const indexOfKey = (key) => Number(key.slice(1));

  /// The series that the reader has not switched off, each with its place, which decides its colour.
  function shownSeries(spec, room) {
    const placed = spec.series.map((series, index) => ({ series, index }));
    return placed.filter(({ index }) => !room.hidden.has(seriesKey(index)));
  }

  function legendOf(spec, room, shape) {
    return spec.series.map((series, index) => ({
      key: seriesKey(index),
      name: series.name,
      color: seriesColor(room.theme, index),
      shape: shape(series, index),
    }));
  }

  // ---------------------------------------------------------------------------------------------------------------
  // Lines

  function allOf(lists, coordinate) {
    return lists.flatMap((points) => points.map((point) => point[coordinate]));
  }

  function linesScales(spec, shown, bands, room) {
    const lists = shown.map(({ series }) => series.points).concat(bands.flatMap(({ band }) => [band.low, band.high]));
    const xs = allOf(lists, 0);
    const ys = allOf(lists, 1).concat((spec.rules || []).map((rule) => rule.y));
    return {
      x: scaleOf(forValues(spec.x, xs), domainOf(xs, spec.x.log), horizontalCount(room), true),
      y: scaleOf(spec.y, withZeroIfNear(domainOf(ys, spec.y.log), spec.y), verticalCount(room)),
    };
  }

  /// [plotted x, plotted y, x, y]: the tooltip shows the numbers themselves.
  function plottedPoints(points, scales) {
    return points.map(([x, y]) => [scales.x.toPlot(x), scales.y.toPlot(y), x, y]);
  }

  /// A point between two gaps has no line to show it.
  function isLonely(data, index) {
    const missing = (point) => !point || point[0] === null || point[1] === null;
    return missing(data[index - 1]) && missing(data[index + 1]);
  }

  function lineSeries({ series, index }, scales, room) {
    const color = seriesColor(room.theme, index);
    const data = plottedPoints(series.points, scales);
    const hasLonely = data.some((_, i) => isLonely(data, i));
    const size = (_, point) => (isLonely(data, point.dataIndex) ? 7 : 0);
    return {
      id: seriesKey(index),
      type: 'line',
      data,
      encode: { x: 0, y: 1 },
      connectNulls: false,
      showSymbol: Boolean(series.marks) || hasLonely,
      showAllSymbol: true,
      symbol: seriesSymbol(index),
      symbolSize: hasLonely && !series.marks ? size : 7,
      sampling: data.length > 4 * room.width ? 'minmax' : undefined,
      // The later on top, in whatever order they were switched on.
      z: 2 + index / 100,
      itemStyle: { color },
      lineStyle: { color, width: 2, type: seriesDash(index) },
      emphasis: { disabled: true },
    };
  }

  /// Corners of the areas between both bounds; a gap in a bound ends an area.
  function bandAreas(band, scales) {
    const areas = [];
    let [lows, highs] = [[], []];
    const close = () => {
      if (lows.length > 1) areas.push(lows.concat(highs.reverse()));
      [lows, highs] = [[], []];
    };
    band.low.forEach(([x, low], i) => {
      const high = band.high[i] ? band.high[i][1] : null;
      if (!isNumber(low) || scales.y.toPlot(high) === null || scales.x.toPlot(x) === null) return close();
      const plottedLow = scales.y.toPlot(low);
      lows.push([scales.x.toPlot(x), plottedLow === null ? scales.y.min : plottedLow]);
      highs.push([scales.x.toPlot(x), scales.y.toPlot(high)]);
      return undefined;
    });
    close();
    return areas;
  }

  function bandSeries({ band, index }, scales, room) {
    const areas = bandAreas(band, scales);
    const polygon = (area, api) => ({
      type: 'polygon',
      shape: { points: area.map((corner) => api.coord(corner)) },
      style: { fill: room.theme.band, opacity: 0.28 },
    });
    return {
      id: bandKey(index),
      type: 'custom',
      data: areas.map((area) => area[0]),
      renderItem: (params, api) => polygon(areas[params.dataIndex], api),
      silent: true,
      clip: true,
      z: 1,
    };
  }

  function ruleLines(spec, scales, room) {
    const { theme } = room;
    const rules = (spec.rules || []).filter((rule) => scales.y.toPlot(rule.y) !== null);
    const text = (rule) => `${rule.name}: ${numberWithUnit(rule.y, spec.y.unit)}`;
    return {
      id: 'rules',
      type: 'line',
      data: [],
      markLine: {
        silent: true,
        symbol: 'none',
        lineStyle: { color: theme.rule, width: 1.5, type: [5, 4] },
        data: rules.map((rule, i) => ({
          yAxis: scales.y.toPlot(rule.y),
          label: {
            formatter: () => text(rule),
            // Neighbours stand at different ends, or they would cover one another.
            position: i % 2 ? 'insideEndTop' : 'insideStartTop',
            color: theme.rule, fontSize: room.fontSize, fontFamily: theme.font,
            textBorderColor: theme.surface, textBorderWidth: 3,
            width: room.width * 0.6, overflow: 'truncate',
          },
        })),
      },
    };
  }

  function bandTipRow({ band }, x, spec, room) {
    const at = band.low.findIndex((point) => point[0] === x);
    if (at < 0 || !band.high[at]) return [];
    const bounds = [band.low[at][1], band.high[at][1]].map((value) => numberWithUnit(value, spec.y.unit));
    return [tipRow(room.theme.band, band.name, bounds.join(' – '))];
  }

  function linesTip(spec, bands, room) {
    return (items) => {
      const own = items.filter((item) => item.seriesId.startsWith('s'));
      if (!own.length) return '';
      const x = own[0].value[2];
      const rows = own.map((item) => {
        const index = indexOfKey(item.seriesId);
        const value = numberWithUnit(item.value[3], spec.y.unit);
        return tipRow(seriesColor(room.theme, index), spec.series[index].name, value);
      });
      const heading = `${spec.x.title || ''} ${numberWithUnit(x, spec.x.unit)}`;
      return tipOf(heading, rows.concat(bands.flatMap((band) => bandTipRow(band, x, spec, room))));
    };
  }

  function linesPicture(spec, room) {
    const allBands = (spec.bands || []).map((band, index) => ({ band, index }));
    const bands = allBands.filter(({ index }) => !room.hidden.has(bandKey(index)));
    const shown = shownSeries(spec, room);
    const scales = linesScales(spec, shown, bands, room);
    const bandEntries = allBands.map(({ band, index }) => (
      { key: bandKey(index), name: band.name, color: room.theme.band, shape: { kind: 'area' } }));
    const lineEntries = legendOf(spec, room, (series, index) => (
      { kind: 'line', dash: seriesDash(index), symbol: series.marks ? seriesSymbol(index) : null }));
    return {
      legend: lineEntries.concat(bandEntries),
      option: {
        ...baseOption(room),
        title: uprightName(axisName(spec.y, scales.y), room),
        grid: gridAround(tickTexts(scales.y), tickTexts(scales.x), room),
        xAxis: { ...below(valueAxis(scales.x, room), axisName(spec.x, scales.x)), splitLine: { show: false } },
        yAxis: valueAxis(scales.y, room),
        tooltip: tooltipOf(room, 'axis', linesTip(spec, bands, room)),
        series: [
          ...bands.map((band) => bandSeries(band, scales, room)),
          ...shown.map((entry) => lineSeries(entry, scales, room)),
          ruleLines(spec, scales, room),
        ],
      },
    };
  }

  // ---------------------------------------------------------------------------------------------------------------
  // Bars

  /// Names side by side do not fit on a phone; below one another they do.
  function barsLieDown(spec, width) {
    return Boolean(spec.horizontal) || (width < 520 && spec.categories.length > 4);
  }

  const isStressed = (spec, category) => (spec.highlight || []).includes(category);
  const categoryText = (spec, category) => (isStressed(spec, category) ? '▶ ' : '') + spec.categories[category];

  function stackedTotals(spec, shown, sign) {
    return spec.categories.map((_, category) => shown.reduce((sum, { series }) => {
      const value = series.values[category];
      return isNumber(value) && value * sign > 0 ? sum + value : sum;
    }, 0));
  }

  function barsScale(spec, shown, value, count) {
    const values = spec.stacked
      ? [...stackedTotals(spec, shown, 1), ...stackedTotals(spec, shown, -1)]
      : shown.flatMap(({ series }) => series.values);
    const [low, high] = domainOf(values, value.log);
    // On a logarithmic axis the shortest bar would have no length.
    return scaleOf(forValues(value, values), value.log ? [low / 2, high] : withZero([low, high]), count);
  }

  function barSeries({ series, index }, spec, scale, room) {
    const color = seriesColor(room.theme, index);
    const stress = { borderColor: room.theme.ink, borderWidth: 1.5 };
    return {
      id: seriesKey(index),
      type: 'bar',
      stack: spec.stacked ? 'all' : undefined,
      barMaxWidth: barsLieDown(spec, room.width) ? 26 : 44,
      barCategoryGap: '32%',
      barGap: '8%',
      itemStyle: { color },
      emphasis: { disabled: true },
      data: series.values.map((value, category) => (
        { value: scale.toPlot(value), itemStyle: isStressed(spec, category) ? stress : {} })),
    };
  }

  /// A lone series in few bars: its numbers stand at the bars.
  function barNumbers(spec, shown, value, lying, room) {
    if (shown.length !== 1 || spec.categories.length > 12 || !lying) return { label: {}, space: 0 };
    const text = (category) => numberWithUnit(shown[0].series.values[category], value.unit);
    const label = {
      show: true, position: 'right', formatter: (item) => text(item.dataIndex),
      color: room.theme.ink, fontSize: room.fontSize, fontFamily: room.theme.font,
    };
    return { label, space: widestOf(spec.categories.map((_, category) => text(category)), room) + 8 };
  }

  function barsTip(spec, shown, value, room) {
    return (items) => {
      if (!items.length) return '';
      const category = items[0].dataIndex;
      const text = (number) => numberWithUnit(number, value.unit);
      const rows = shown.map(({ series, index }) => (
        tipRow(seriesColor(room.theme, index), series.name, text(series.values[category]))));
      if (spec.stacked && shown.length > 1) {
        const total = stackedTotals(spec, shown, 1)[category] + stackedTotals(spec, shown, -1)[category];
        rows.push(tipRow('', 'total', text(total)));
      }
      return tipOf(spec.categories[category], rows);
    };
  }

  function barCategories(spec, lying, room) {
    const entries = spec.categories.map((_, category) => ({
      value: categoryText(spec, category),
      textStyle: isStressed(spec, category) ? { fontWeight: 'bold', color: room.theme.ink } : {},
    }));
    const perBar = (room.width - 60) / Math.max(1, entries.length);
    const width = lying ? room.width * 0.36 : Math.max(40, perBar - 6);
    return categoryAxis(entries, room, {
      inverse: lying,
      axisLabel: { width, overflow: 'truncate', hideOverlap: true, ...(perBar >= 40 || lying ? { interval: 0 } : {}) },
    });
  }

  function barsPicture(spec, room) {
    const lying = barsLieDown(spec, room.width);
    const shown = shownSeries(spec, room);
    // A sum of logarithms is not the logarithm of a sum.
    const value = { ...spec.value, log: spec.value.log && !spec.stacked };
    const scale = barsScale(spec, shown, value, lying ? horizontalCount(room) : verticalCount(room));
    const categories = barCategories(spec, lying, room);
    const numbers = barNumbers(spec, shown, value, lying, room);
    const names = spec.categories.map((_, category) => categoryText(spec, category));
    const grid = lying ? gridAround(names, tickTexts(scale), room) : gridAround(tickTexts(scale), [], room);
    const values = valueAxis(scale, room);
    const valueName = axisName(value, scale);
    return {
      legend: legendOf(spec, room, () => ({ kind: 'bar' })),
      option: {
        ...baseOption(room),
        ...(lying ? {} : { title: uprightName(valueName, room) }),
        grid: { ...grid, ...(lying ? { top: 6, right: Math.max(grid.right, numbers.space) } : { bottom: 30 }) },
        xAxis: lying ? below(values, valueName) : categories,
        yAxis: lying ? categories : values,
        tooltip: tooltipOf(room, 'axis', barsTip(spec, shown, value, room), { type: 'shadow' }),
        series: shown.map((entry) => ({ ...barSeries(entry, spec, scale, room), label: numbers.label })),
      },
    };
  }

  // ---------------------------------------------------------------------------------------------------------------
  // Histograms: steps over equal bins, translucent so that none hides another.

  const binWidth = (spec) => (spec.last - spec.first) / Math.max(1, ...spec.series.map(({ values }) => values.length));

  function outline(values, spec, scales) {
    const width = binWidth(spec);
    const ground = scales.y.min;
    const height = (value) => { const plotted = scales.y.toPlot(value); return plotted === null ? ground : plotted; };
    const corners = [[spec.first, ground]];
    values.forEach((value, i) => {
      corners.push([spec.first + i * width, height(value)], [spec.first + (i + 1) * width, height(value)]);
    });
    corners.push([spec.first + values.length * width, ground]);
    return corners;
  }

  function histogramSeries({ series, index }, spec, scales, room) {
    const color = seriesColor(room.theme, index);
    return {
      id: seriesKey(index),
      type: 'line',
      data: outline(series.values, spec, scales),
      showSymbol: false,
      symbol: 'none',
      itemStyle: { color },
      lineStyle: { color, width: 1.75, type: seriesDash(index), join: 'miter' },
      areaStyle: { color, opacity: 0.22, origin: 'start' },
      emphasis: { disabled: true },
    };
  }

  function histogramTip(spec, shown, room) {
    const width = binWidth(spec);
    const bins = Math.round((spec.last - spec.first) / width);
    return (items) => {
      if (!items.length) return '';
      const bin = between(0, Math.floor((items[0].axisValue - spec.first) / width), bins - 1);
      const edges = [bin, bin + 1].map((i) => numberWithUnit(spec.first + i * width, spec.x.unit));
      const rows = shown.map(({ series, index }) => (
        tipRow(seriesColor(room.theme, index), series.name, numberWithUnit(series.values[bin], spec.y.unit))));
      return tipOf(`${spec.x.title || ''} ${edges.join(' to ')}`, rows);
    };
  }

  /// An empty bin has no place on a logarithmic axis: one half of the smallest count is its ground.
  function histogramDomain(spec, counts) {
    const [low, high] = domainOf(counts, spec.y.log);
    return spec.y.log ? [low / 2, high] : [0, high];
  }

  function histogramPicture(spec, room) {
    const shown = shownSeries(spec, room);
    const counts = shown.flatMap(({ series }) => series.values);
    const scales = {
      x: scaleOf({ ...spec.x, log: false }, [spec.first, spec.last], horizontalCount(room), true),
      y: scaleOf(forValues(spec.y, counts), histogramDomain(spec, counts), verticalCount(room)),
    };
    return {
      legend: legendOf(spec, room, () => ({ kind: 'area' })),
      option: {
        ...baseOption(room),
        title: uprightName(axisName(spec.y, scales.y), room),
        grid: gridAround(tickTexts(scales.y), tickTexts(scales.x), room),
        xAxis: { ...below(valueAxis(scales.x, room), axisName(spec.x, scales.x)), splitLine: { show: false } },
        yAxis: valueAxis(scales.y, room),
        tooltip: tooltipOf(room, 'axis', histogramTip(spec, shown, room), { snap: false }),
        series: shown.map((entry) => histogramSeries(entry, spec, scales, room)),
      },
    };
  }

  // ---------------------------------------------------------------------------------------------------------------
  // Heat maps

  /// Which cells carry a label, and what it says: round numbers of the rows or columns themselves.
  function cellLabels(cells, step, count) {
    const every = Math.max(1, niceStep((cells * step) / count));
    const labels = new Map();
    for (let place = 0; place < cells * step; place += every) {
      const cell = Math.floor(place / step + 1e-9);
      if (!labels.has(cell)) labels.set(cell, plainNumber(place));
    }
    return labels;
  }

  function cellAxis(cells, step, count, room, extra) {
    const labels = cellLabels(cells, step, count);
    const names = Array.from({ length: cells }, (_, cell) => labels.get(cell) || '');
    const axisLabel = { interval: (cell) => labels.has(cell) };
    return categoryAxis(names, room, { ...extra, axisLine: { show: false }, axisLabel });
  }

  /// "rows 12 to 15"
  function cellName(title, cell, step) {
    const [first, last] = [cell * step, (cell + 1) * step - 1];
    return last > first ? `${title} ${plainNumber(first)} to ${plainNumber(last)}` : `${title} ${plainNumber(first)}`;
  }

  function heatmapTip(spec) {
    const heading = ([column, row]) => [
      cellName(spec.y.title || 'row', row, spec.row_step || 1),
      cellName(spec.x.title || 'column', column, spec.column_step || 1),
    ].join(', ');
    return (item) => {
      const value = spec.values[item.value[1] * spec.columns + item.value[0]];
      const row = tipRow(item.color, spec.value.title || '', numberWithUnit(value, spec.value.unit));
      return tipOf(heading(item.value), [row]);
    };
  }

  function heatmapRange(spec) {
    const [low, high] = domainOf(spec.values, spec.log);
    const start = spec.log || low < 0 ? low : 0;
    return high > start ? [start, high] : [start, start + 1];
  }

  function heatmapCells(spec, toShade) {
    const cells = [];
    spec.values.forEach((value, i) => {
      if (!isNumber(value) || (spec.log && value <= 0)) return;
      cells.push([i % spec.columns, Math.floor(i / spec.columns), toShade(value)]);
    });
    return cells;
  }

  /// Cells reach a little into those to the right and below: otherwise the background shines through between them, on
  /// paper above all.
  function cellSeries(cells, spec, room) {
    const overlap = (index, count) => (index + 1 < count ? 0.6 : 0);
    const renderItem = (params, api) => {
      const [column, row] = [api.value(0), api.value(1)];
      const [x, y] = api.coord([column, row]);
      const [width, height] = api.size([1, 1]);
      return {
        type: 'rect',
        shape: {
          x: x - width / 2,
          y: y - height / 2,
          width: width + overlap(column, spec.columns),
          height: height + overlap(row, spec.rows),
        },
        style: { fill: api.visual('color') },
        emphasis: { style: { stroke: room.theme.ink, lineWidth: 1.5 } },
      };
    };
    return { type: 'custom', data: cells, renderItem, encode: { x: 0, y: 1 }, progressive: 0 };
  }

  function heatmapScale(spec, range) {
    const middle = spec.log ? Math.sqrt(range[0] * range[1]) : (range[0] + range[1]) / 2;
    return {
      name: spec.value.title || '',
      stops: [range[0], middle, range[1]].map((value) => numberWithUnit(value, spec.value.unit, 3)),
    };
  }

  function heatmapPicture(spec, room) {
    const range = heatmapRange(spec);
    const toShade = spec.log ? Math.log10 : (value) => value;
    const rows = cellAxis(spec.rows, spec.row_step || 1, verticalCount(room), room, { inverse: true });
    const columns = cellAxis(spec.columns, spec.column_step || 1, horizontalCount(room), room);
    const rowNames = rows.data.filter((name) => name);
    return {
      legend: [],
      scale: heatmapScale(spec, range),
      option: {
        ...baseOption(room),
        title: uprightName(axisName(spec.y, { unitName: spec.y.unit || '' }), room),
        grid: {
          ...gridAround(rowNames, ['00'], room), show: true, backgroundColor: room.theme.gap, borderWidth: 0,
        },
        xAxis: below(columns, axisName(spec.x, { unitName: spec.x.unit || '' })),
        yAxis: rows,
        tooltip: tooltipOf(room, 'item', heatmapTip(spec)),
        visualMap: { show: false, type: 'continuous', min: toShade(range[0]), max: toShade(range[1]), dimension: 2,
          inRange: { color: room.theme.heat } },
        series: [cellSeries(heatmapCells(spec, toShade), spec, room)],
      },
    };
  }

  // ---------------------------------------------------------------------------------------------------------------
  // Points

  function pointsScales(spec, shown, room) {
    const lists = shown.map(({ series }) => series.points);
    const domain = (coordinate, axis) => domainOf(allOf(lists, coordinate), axis.log);
    let [x, y] = [domain(0, spec.x), domain(1, spec.y)];
    // The line y = x means something to the eye if both axes are alike.
    if (spec.diagonal) x = y = [Math.min(x[0], y[0]), Math.max(x[1], y[1])];
    return {
      x: scaleOf(spec.x, withZeroIfNear(x, spec.x), horizontalCount(room)),
      y: scaleOf(spec.y, withZeroIfNear(y, spec.y), spec.diagonal ? horizontalCount(room) : verticalCount(room)),
    };
  }

  function scatterSeries({ series, index }, scales, room) {
    const color = seriesColor(room.theme, index);
    return {
      id: seriesKey(index),
      type: 'scatter',
      data: plottedPoints(series.points, scales).filter(([x, y]) => x !== null && y !== null),
      encode: { x: 0, y: 1 },
      symbol: seriesSymbol(index),
      symbolSize: series.points.length > 400 ? 5 : 9,
      itemStyle: { color, opacity: 0.8, borderColor: room.theme.surface, borderWidth: 0.75 },
      emphasis: { scale: 1.4 },
    };
  }

  function diagonalSeries(scales, room) {
    const ends = [Math.max(scales.x.fromPlot(scales.x.min), scales.y.fromPlot(scales.y.min)),
      Math.min(scales.x.fromPlot(scales.x.max), scales.y.fromPlot(scales.y.max))];
    return {
      id: 'diagonal', type: 'line', symbol: 'none', silent: true, z: 1,
      data: ends.map((end) => [scales.x.toPlot(end), scales.y.toPlot(end)]),
      lineStyle: { color: room.theme.muted, width: 1.5, type: [5, 4] },
      endLabel: {
        show: true, formatter: () => 'y = x', offset: [-58, 8], color: room.theme.muted,
        fontSize: room.fontSize, fontFamily: room.theme.font,
      },
    };
  }

  function pointsTip(spec, room) {
    return (item) => {
      if (!item.seriesId.startsWith('s')) return '';
      const index = indexOfKey(item.seriesId);
      const row = (axis, value) => tipRow('', axis.title || '', numberWithUnit(value, axis.unit));
      const rows = [row(spec.x, item.value[2]), row(spec.y, item.value[3])];
      rows[0].firstChild.style.background = seriesColor(room.theme, index);
      return tipOf(spec.series[index].name, rows);
    };
  }

  function pointsPicture(spec, room) {
    const shown = shownSeries(spec, room);
    const scales = pointsScales(spec, shown, room);
    return {
      legend: legendOf(spec, room, (_, index) => ({ kind: 'point', symbol: seriesSymbol(index) })),
      option: {
        ...baseOption(room),
        title: uprightName(axisName(spec.y, scales.y), room),
        grid: gridAround(tickTexts(scales.y), tickTexts(scales.x), room),
        xAxis: below(valueAxis(scales.x, room), axisName(spec.x, scales.x)),
        yAxis: valueAxis(scales.y, room),
        tooltip: tooltipOf(room, 'item', pointsTip(spec, room)),
        series: [
          ...(spec.diagonal ? [diagonalSeries(scales, room)] : []),
          ...shown.map((entry) => scatterSeries(entry, scales, room)),
        ],
      },
    };
  }

  // ---------------------------------------------------------------------------------------------------------------
  // Flow: points on their way, in an SVG of our own. All dots of one colour are one path (a line of no length with
  // round ends is a dot), so that a frame changes a handful of attributes, not thousands of elements.

  const FLOW_MARGIN = { left: 48, right: 12, top: 10, bottom: 30 };
  const PLAY_MS = 2600;
  const STEP_MS = 700;

  const wantsLessMotion = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

  function flowDomain(spec) {
    const points = [...spec.source, ...spec.moved, ...spec.target];
    return [0, 1].map((coordinate) => {
      const [low, high] = domainOf(points.map((point) => point[coordinate]), false);
      const space = (high - low || 1) * 0.04;
      return [low - space, high + space];
    });
  }

  /// One length for both directions: a circle stays a circle.
  function flowMap(spec, width, height) {
    const [xs, ys] = flowDomain(spec);
    const innerWidth = width - FLOW_MARGIN.left - FLOW_MARGIN.right;
    const innerHeight = height - FLOW_MARGIN.top - FLOW_MARGIN.bottom;
    const unit = Math.min(innerWidth / (xs[1] - xs[0]), innerHeight / (ys[1] - ys[0]));
    const { left } = FLOW_MARGIN;
    const bottom = height - FLOW_MARGIN.bottom - (innerHeight - unit * (ys[1] - ys[0])) / 2;
    return {
      xs, ys, width, height, unit,
      x: (value) => left + (value - xs[0]) * unit,
      y: (value) => bottom - (value - ys[0]) * unit,
    };
  }

  function flowTickGroup(map, room) {
    const group = svgElement('g', { fill: room.theme.muted, 'font-size': room.fontSize, stroke: 'none' });
    const step = niceStep(Math.max(70 / map.unit, 1e-300));
    const text = linearTickText(step, Math.max(...map.xs.concat(map.ys).map(Math.abs)), 1);
    const line = (attributes) => group.append(svgElement('line', { stroke: room.theme.grid, ...attributes }));
    for (const tick of linearTicks(map.xs[0], map.xs[1], step)) {
      const x = map.x(tick);
      line({ x1: x, x2: x, y1: map.y(map.ys[1]), y2: map.y(map.ys[0]) });
      group.append(svgElement('text', { x, y: map.y(map.ys[0]) + 18, 'text-anchor': 'middle' }, text(tick)));
    }
    for (const tick of linearTicks(map.ys[0], map.ys[1], step)) {
      const y = map.y(tick);
      line({ x1: map.x(map.xs[0]), x2: map.x(map.xs[1]), y1: y, y2: y });
      group.append(svgElement('text', { x: map.x(map.xs[0]) - 8, y: y + 4, 'text-anchor': 'end' }, text(tick)));
    }
    return group;
  }

  const dotsPath = (points, map) => points.map(([x, y]) => `M${map.x(x).toFixed(1)} ${map.y(y).toFixed(1)}h0`).join('');

  function positionAt(spec, index, t) {
    const [from, to] = [spec.source[index], spec.moved[index]];
    return [(1 - t) * from[0] + t * to[0], (1 - t) * from[1] + t * to[1]];
  }

  /// Indices of the points for every colour: by the direction in which a point starts, seen from their middle.
  function groupsByDirection(spec, colors) {
    const mean = (coordinate) => spec.source.reduce((sum, point) => sum + point[coordinate], 0) / spec.source.length;
    const middle = [mean(0), mean(1)];
    const groups = Array.from({ length: colors }, () => []);
    const count = Math.min(spec.source.length, spec.moved.length);
    for (let i = 0; i < count; ++i) {
      const angle = Math.atan2(spec.source[i][1] - middle[1], spec.source[i][0] - middle[0]);
      groups[Math.floor((angle / (2 * Math.PI) + 1) * colors) % colors].push(i);
    }
    return groups;
  }

  function flowPicture(spec, map, room) {
    const { theme } = room;
    const area = map.unit ** 2 * (map.xs[1] - map.xs[0]) * (map.ys[1] - map.ys[0]);
    const diameter = between(2.5, 0.28 * Math.sqrt(area / (spec.source.length || 1)), 9);
    const dots = (color, size) => svgElement('path', { fill: 'none', stroke: color, 'stroke-width': size });
    const svg = svgElement('svg', {
      width: map.width, height: map.height, viewBox: `0 0 ${map.width} ${map.height}`,
      'aria-hidden': 'true', 'stroke-linecap': 'round', 'font-family': theme.font,
    }, flowTickGroup(map, room));
    if (!room.hidden.has('target')) {
      svg.append(setAttributes(dots(theme.faint, diameter), { d: dotsPath(spec.target, map) }));
    }
    const groups = room.hidden.has('moving') ? [] : groupsByDirection(spec, theme.circle.length);
    const moving = groups.map((indices, color) => ({ path: dots(theme.circle[color], diameter), indices }));
    svg.append(...moving.map(({ path }) => path));
    const show = (t) => {
      for (const { path, indices } of moving) {
        path.setAttribute('d', dotsPath(indices.map((i) => positionAt(spec, i, t)), map));
      }
    };
    return { svg, show };
  }

  function flowSize(spec, width) {
    const [xs, ys] = flowDomain(spec);
    const ratio = (ys[1] - ys[0]) / (xs[1] - xs[0]);
    const inner = width - FLOW_MARGIN.left - FLOW_MARGIN.right;
    return { width, height: Math.round(between(120, inner * ratio, 480) + FLOW_MARGIN.top + FLOW_MARGIN.bottom) };
  }

  function flowLegend(spec, room) {
    const { theme } = room;
    return [
      { key: 'moving', name: 'moving points', color: theme.circle[11 % theme.circle.length],
        shape: { kind: 'point', symbol: 'circle' } },
      { key: 'target', name: 'target points', color: theme.faint, shape: { kind: 'point', symbol: 'circle' } },
    ];
  }

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
    view.plot.after(element('div', { class: 'controls' }, view.playButton, label));
  }

  function nearestMovingPoint(view, map, x, y) {
    let [best, bestDistance] = [-1, 14 ** 2];
    const count = Math.min(view.spec.source.length, view.spec.moved.length);
    for (let i = 0; i < count; ++i) {
      const point = positionAt(view.spec, i, view.time);
      const distance = (map.x(point[0]) - x) ** 2 + (map.y(point[1]) - y) ** 2;
      if (distance < bestDistance) [best, bestDistance] = [i, distance];
    }
    return best;
  }

  function showFlowTip(view, map, event) {
    const frame = view.flow.svg.getBoundingClientRect();
    const [x, y] = [event.clientX - frame.left, event.clientY - frame.top];
    const index = view.hidden.has('moving') ? -1 : nearestMovingPoint(view, map, x, y);
    view.flowTip.hidden = index < 0;
    if (index < 0) return;
    const place = (point) => `(${plainNumber(point[0], 3)}, ${plainNumber(point[1], 3)})`;
    view.flowTip.replaceChildren(tipOf(`point ${plainNumber(index)}`, [
      tipRow('', 'from', place(view.spec.source[index])), tipRow('', 'to', place(view.spec.moved[index]))]));
    view.flowTip.style.left = between(0, x + 12, frame.width - view.flowTip.offsetWidth) + 'px';
    view.flowTip.style.top = between(0, y + 12, frame.height - view.flowTip.offsetHeight) + 'px';
  }

  function drawFlow(view, room) {
    if (!view.slider) makeFlowControls(view);
    const size = flowSize(view.spec, room.width);
    const map = flowMap(view.spec, size.width, size.height);
    view.flow = flowPicture(view.spec, map, room);
    view.flowTip = element('div', { class: 'flow-tip' });
    view.flowTip.hidden = true;
    view.flow.svg.addEventListener('pointermove', (event) => showFlowTip(view, map, event));
    view.flow.svg.addEventListener('pointerleave', () => { view.flowTip.hidden = true; });
    view.plot.replaceChildren(view.flow.svg, view.flowTip);
    showLegend(view, flowLegend(view.spec, room));
    setFlowTime(view, view.time);
  }

  /// Paper does not move: the beginning, the middle and the end.
  function drawFlowFrames(view, room) {
    const width = Math.floor((room.width - 24) / 3);
    const size = flowSize(view.spec, width);
    const frames = [[0, 'start'], [0.5, 'half of the way'], [1, 'end']].map(([t, name]) => {
      const picture = flowPicture(view.spec, flowMap(view.spec, width, size.height), room);
      picture.show(t);
      return element('div', {}, picture.svg, name);
    });
    view.plot.replaceChildren(element('div', { class: 'frames' }, ...frames));
    showLegend(view, flowLegend(view.spec, room));
  }

  // ---------------------------------------------------------------------------------------------------------------
  // Legends: buttons of the page, which wrap on phones and can be reached with the keyboard.

  const SYMBOL_SHAPES = {
    circle: () => svgElement('circle', { cx: 12, cy: 7, r: 4 }),
    rect: () => svgElement('rect', { x: 8, y: 3, width: 8, height: 8 }),
    triangle: () => svgElement('path', { d: 'M12 2l5 9h-10z' }),
    diamond: () => svgElement('path', { d: 'M12 2l5 5l-5 5l-5 -5z' }),
  };

  function swatchShapes({ kind, dash, symbol }, color) {
    const shapes = [];
    if (kind === 'line') {
      const pattern = Array.isArray(dash) ? dash.join(' ') : 'none';
      const stroke = { stroke: color, 'stroke-width': 2.5, 'stroke-dasharray': pattern };
      shapes.push(svgElement('path', { d: 'M0 7h24', ...stroke }));
    }
    if (kind === 'bar') shapes.push(svgElement('rect', { x: 6, y: 1, width: 12, height: 12, rx: 2 }));
    if (kind === 'area') {
      const box = { x: 1, y: 1, width: 22, height: 12, 'fill-opacity': 0.28, stroke: color, 'stroke-width': 1.5 };
      shapes.push(svgElement('rect', box));
    }
    if (symbol) shapes.push(SYMBOL_SHAPES[symbol]());
    return shapes;
  }

  function swatch(entry) {
    const attributes = { width: 24, height: 14, viewBox: '0 0 24 14', fill: entry.color, 'aria-hidden': 'true' };
    return svgElement('svg', attributes, ...swatchShapes(entry.shape, entry.color));
  }

  function toggleSeries(view, key) {
    if (!view.hidden.delete(key)) view.hidden.add(key);
    draw(view);
  }

  function legendButton(view, entry) {
    const button = element('button', { type: 'button' }, swatch(entry), element('span', {}, entry.name));
    button.dataset.key = entry.key;
    button.addEventListener('click', () => toggleSeries(view, entry.key));
    return button;
  }

  function boxAbovePlot(view, name, attributes) {
    if (!view[name]) {
      view[name] = element('div', attributes);
      view.plot.before(view[name]);
    }
    return view[name];
  }

  /// Its buttons are made again only if they change: one of them may have the focus.
  function showLegend(view, entries) {
    if (entries.length < 2) {
      if (view.legend) view.legend.remove();
      view.legend = view.legendText = null;
      return;
    }
    const legend = boxAbovePlot(view, 'legend', { class: 'legend', role: 'group', 'aria-label': 'Show or hide' });
    const text = JSON.stringify(entries);
    if (view.legendText !== text) legend.replaceChildren(...entries.map((entry) => legendButton(view, entry)));
    view.legendText = text;
    for (const button of legend.children) button.setAttribute('aria-pressed', !view.hidden.has(button.dataset.key));
  }

  function showColorScale(view, scale, room) {
    if (!scale) return;
    const box = boxAbovePlot(view, 'scaleBox', { class: 'scale' });
    const ramp = element('div', { class: 'ramp', 'aria-hidden': 'true' });
    ramp.style.background = `linear-gradient(to right, ${room.theme.heat.join(', ')})`;
    const stops = scale.stops.map((text) => element('span', {}, text));
    box.replaceChildren(element('span', {}, scale.name), ramp, element('div', { class: 'stops' }, ...stops));
  }

  // ---------------------------------------------------------------------------------------------------------------
  // Drawing

  const PICTURES = {
    lines: linesPicture,
    bars: barsPicture,
    histogram: histogramPicture,
    heatmap: heatmapPicture,
    points: pointsPicture,
  };

  const views = new Map();
  let printing = false;

  function barsHeight(spec, width) {
    if (!barsLieDown(spec, width)) return 320;
    const perCategory = between(18, 34 - spec.categories.length / 4, 34);
    const side = spec.stacked ? 1 : between(1, spec.series.length * 0.6, 3);
    return Math.round(64 + spec.categories.length * perCategory * side);
  }

  /// Height, and the largest useful width: some pictures are better square than wide.
  function sizeOf(spec, width) {
    if (spec.kind === 'bars') return { height: barsHeight(spec, width) };
    if (spec.kind === 'points' && spec.diagonal) {
      const side = Math.min(width, 520);
      return { height: side, maxWidth: side + 40 };
    }
    if (spec.kind === 'heatmap') {
      const square = (width - 60) * (spec.rows / spec.columns);
      const height = between(150, Math.min(square, 48 * spec.rows), 460) + 82;
      return { height: Math.round(height), maxWidth: Math.max(320, (height - 82) * (spec.columns / spec.rows) + 70) };
    }
    return { height: width < 520 ? 280 : 340 };
  }

  function roomOf(view) {
    const available = view.plot.parentElement.clientWidth - horizontalPadding(view.plot.parentElement);
    const size = sizeOf(view.spec, available);
    const width = Math.floor(Math.min(available, size.maxWidth || available));
    return {
      theme: readTheme(), hidden: view.hidden, width, height: size.height, fontSize: available < 520 ? 12 : 13,
    };
  }

  function horizontalPadding(node) {
    const style = getComputedStyle(node);
    return parseFloat(style.paddingLeft) + parseFloat(style.paddingRight);
  }

  function drawChart(view, room) {
    const picture = PICTURES[view.spec.kind](view.spec, room);
    showLegend(view, picture.legend);
    showColorScale(view, picture.scale, room);
    if (!view.chart) {
      view.chart = echarts.init(view.plot, null, { renderer: 'svg', width: room.width, height: room.height });
    }
    view.chart.resize({ width: room.width, height: room.height });
    view.chart.setOption(picture.option, { notMerge: true });
    // Now, not in the next frame: a printer does not wait for one.
    view.chart.getZr().flush();
    // The plot itself has the role img and a name; what is inside says nothing more to those who cannot see it.
    view.plot.querySelector('svg').setAttribute('aria-hidden', 'true');
  }

  /// A chart that cannot be drawn must not take the others with it; its table says the same.
  function fallBackToTable(view, error) {
    console.error(error);
    view.plot.classList.remove('drawn');
    const details = view.plot.parentElement.querySelector('details');
    if (details) details.open = true;
  }

  function draw(view) {
    try {
      view.plot.classList.add('drawn');
      view.plot.dataset.kind = view.spec.kind;
      const room = roomOf(view);
      view.width = view.plot.parentElement.clientWidth;
      if (view.spec.kind !== 'flow') drawChart(view, room);
      else if (printing) drawFlowFrames(view, room);
      else drawFlow(view, room);
    } catch (error) {
      fallBackToTable(view, error);
    }
  }

  function drawAll() {
    for (const view of views.values()) draw(view);
  }

  /// Charts of another kind share nothing with their predecessor.
  function forget(view) {
    if (view.chart) view.chart.dispose();
    for (const box of [view.legend, view.scaleBox, view.slider && view.slider.closest('.controls')]) {
      if (box) box.remove();
    }
    stopWatching(view);
    views.delete(view.plot);
  }

  const sizes = typeof ResizeObserver === 'function' ? new ResizeObserver(onResize) : null;

  function onResize() {
    requestAnimationFrame(() => {
      if (printing) return;
      for (const view of views.values()) {
        if (view.plot.parentElement && view.plot.parentElement.clientWidth !== view.width) draw(view);
      }
    });
  }

  function stopWatching(view) {
    if (sizes && view.figure) sizes.unobserve(view.figure);
  }

  function viewOf(plot, spec) {
    const known = views.get(plot);
    if (known && known.spec.kind === spec.kind) return known;
    if (known) forget(known);
    const view = { plot, spec, figure: plot.parentElement, hidden: new Set() };
    views.set(plot, view);
    if (sizes) sizes.observe(view.figure);
    return view;
  }

  function showCharts(specs) {
    for (const view of [...views.values()]) {
      if (!view.plot.isConnected) forget(view);
    }
    for (const plot of document.querySelectorAll('[data-chart]')) {
      const spec = Object.prototype.hasOwnProperty.call(specs, plot.dataset.chart) ? specs[plot.dataset.chart] : null;
      if (!spec || !(spec.kind in PICTURES || spec.kind === 'flow')) continue;
      const view = viewOf(plot, spec);
      view.spec = spec;
      draw(view);
    }
  }

  // ---------------------------------------------------------------------------------------------------------------
  // Paper

  function setPrinting(wanted) {
    if (printing === wanted) return;
    printing = wanted;
    document.documentElement.classList.toggle('for-print', wanted);
    drawAll();
  }

  function watchTheme() {
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
    addEventListener('beforeprint', () => setPrinting(true));
    addEventListener('afterprint', () => setPrinting(false));
    matchMedia('print').addEventListener('change', (event) => setPrinting(event.matches));
  }

  // ---------------------------------------------------------------------------------------------------------------
  // Live pages

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

  // ---------------------------------------------------------------------------------------------------------------

  const hasCharts = () => typeof window.echarts === 'object';

  function openTables() {
    for (const details of document.querySelectorAll('.chart details')) details.open = true;
  }

  function start() {
    const descriptions = document.getElementById('charts');
    if (hasCharts()) {
      document.documentElement.classList.add('has-charts');
      watchTheme();
      showCharts(descriptions ? JSON.parse(descriptions.textContent) : {});
    } else {
      openTables();
    }
    if (document.body.dataset.live) followRun(document.body.dataset.live);
  }

  start();
})();
