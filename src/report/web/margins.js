// The space that texts need around a plot.

const measuring = document.createElement('canvas').getContext('2d');

function textWidth(text, room) {
  measuring.font = `${room.fontSize}px ${room.theme.font}`;
  return measuring.measureText(text).width;
}

const widestOf = (texts, room) => texts.reduce((widest, text) => Math.max(widest, textWidth(text, room)), 0);

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
