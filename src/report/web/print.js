// Paper, and the dark theme: everything is drawn again in other colours.

let printing = false;

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
