// Axes and their names.

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
