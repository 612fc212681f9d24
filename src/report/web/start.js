// What happens when the page is opened.

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
