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
