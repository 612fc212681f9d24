// Tooltips.

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
