'use strict';
// The slider over the grids: the left and right arrow keys move it unless another element has the focus.
(function () {
  var slider = document.getElementById('slider');
  if (!slider) return;
  var grids = JSON.parse(document.getElementById('grids').textContent);
  var image = document.getElementById('grid'), epoch = document.getElementById('epoch');
  var play = document.getElementById('play'), timer = 0, words = image.alt.split(epoch.textContent);
  function show(i) {
    i = Math.min(Math.max(i, 0), grids.length - 1);
    slider.value = i;
    image.src = grids[i][1];
    epoch.textContent = grids[i][0];
    image.alt = words[0] + grids[i][0] + words.slice(1).join(epoch.textContent);
    slider.setAttribute('aria-valuetext', 'epoch ' + grids[i][0] + ' of ' + grids[grids.length - 1][0]);
  }
  function stop() {
    clearInterval(timer);
    timer = 0;
    play.textContent = 'Play';
  }
  slider.addEventListener('input', function () { stop(); show(+slider.value); });
  play.addEventListener('click', function () {
    if (timer) return stop();
    play.textContent = 'Stop';
    if (+slider.value === grids.length - 1) show(0);
    timer = setInterval(function () {
      if (+slider.value >= grids.length - 1) stop();
      else show(+slider.value + 1);
    }, Math.max(60, Math.min(400, 12000 / grids.length)));
  });
  document.addEventListener('keydown', function (e) {
    if (e.target !== document.body || e.altKey || e.ctrlKey || e.metaKey) return;
    var to = { ArrowLeft: +slider.value - 1, ArrowRight: +slider.value + 1 }[e.key];
    if (to === undefined) return;
    stop();
    show(to);
    e.preventDefault();
  });
  slider.epochs = grids.map(function (g) { return g[0]; });
  show(+slider.value);
})();
// The values of a plot where the mouse or a finger is; arrow keys go from point to point.
document.querySelectorAll('.plot').forEach(function (plot) {
  var data = JSON.parse(plot.querySelector('script').textContent), svg = plot.querySelector('.frame > svg');
  var cursor = plot.querySelector('.cursor'), out = plot.querySelector('.value');
  var boxes = plot.querySelectorAll('.legend b'), labels = plot.querySelectorAll('.legend span');
  var at = document.createElement('span'), place = -1;
  var longest = data.curves.reduce(function (a, b) { return b.x.length > a.x.length ? b : a; });
  at.className = 'at';
  plot.querySelector('h3').appendChild(at);
  function nearest(x, xs) {
    var best = 0;
    for (var i = 1; i < xs.length; i++) if (Math.abs(xs[i] - x) <= Math.abs(xs[best] - x)) best = i;
    return best;
  }
  function show(i, say) {
    if (!longest.x.length) return;
    place = Math.min(Math.max(i, 0), longest.x.length - 1);
    var x = longest.x[place], text = plot.dataset.unit + ' ' + +(x + data.shift).toFixed(2);
    at.textContent = text;
    cursor.setAttribute('d', 'M' + 1000 * (x - data.left) / (data.right - data.left) + ' 0V400');
    data.curves.forEach(function (c, k) {
      var inside = c.x.length && x <= c.x[c.x.length - 1] + 1e-9, y = inside ? c.y[nearest(x, c.x)] : null;
      boxes[k].textContent = y === null ? '\u2013' : String(y);
      text += ', ' + labels[k].textContent + ' ' + boxes[k].textContent;
    });
    if (say) out.textContent = text;
  }
  svg.addEventListener('pointermove', function (e) {
    var box = svg.getBoundingClientRect();
    show(nearest(data.left + (e.clientX - box.left) / box.width * (data.right - data.left), longest.x), false);
  });
  svg.addEventListener('keydown', function (e) {
    var last = longest.x.length - 1;
    var to = { ArrowLeft: place - 1, ArrowRight: place + 1, Home: 0, End: last }[e.key];
    if (to === undefined) return;
    show(to, true);
    e.preventDefault();
  });
  show(longest.x.length - 1, false);
});
// The page of a run that is training reloads itself. The history entry keeps what the reader sees: it works from
// file:// and in a sandbox, where other storage may be forbidden.
(function () {
  var live = document.getElementById('live'), slider = document.getElementById('slider');
  var play = document.getElementById('play'), kept = history.state && history.state.report, held = false;
  var least = Math.max(5e3, 10 * performance.now()), most = 3e5, day = 864e5, now = Date.now();
  var since = live && kept && kept.step === live.dataset.step ? kept.since : now; // time of the newest change
  function all(of, selector) { return Array.prototype.slice.call(of.querySelectorAll(selector)); }
  function controls(section) { return all(section, 'button, input, summary, [tabindex]'); }
  function top(element) { return element.getBoundingClientRect().top; }
  function keep() {
    var above = all(document, 'section').filter(function (s) { return top(s) <= 0; }).pop();
    var focus = document.activeElement, of = focus && focus.closest('section');
    history.replaceState({ report: {
      step: live.dataset.step, since: since,
      epoch: slider && +slider.value < +slider.max ? slider.epochs[+slider.value] : null, // null: the newest
      section: above && above.id, y: above ? -top(above) : scrollY, x: scrollX,
      open: all(document, 'details').map(function (d) { return d.open; }),
      focus: of ? [of.id, controls(of).indexOf(focus)] : null
    } }, '');
  }
  function scroll() {
    var section = kept.section && document.getElementById(kept.section);
    scrollTo(kept.x, Math.round(section ? scrollY + top(section) + kept.y : kept.y));
  }
  function restore() {
    var of = kept.focus && document.getElementById(kept.focus[0]), control = of && controls(of)[kept.focus[1]];
    if (slider && kept.epoch !== null) {
      slider.value = slider.epochs.filter(function (e) { return e <= kept.epoch; }).length - 1;
      slider.dispatchEvent(new Event('input'));
    }
    all(document, 'details').forEach(function (d, i) { d.open = !!kept.open[i]; });
    if (control) control.focus({ preventScroll: true });
    scroll();
    addEventListener('load', scroll);
  }
  // A reload would interrupt a film, a drag or a selection. A hidden page waits until somebody looks at it.
  function busy() {
    return document.hidden || held || (play && play.textContent === 'Stop') || !getSelection().isCollapsed;
  }
  function reload() {
    if (busy()) return setTimeout(reload, 500);
    keep();
    location.reload();
  }
  if (kept) restore();
  history.scrollRestoration = live ? 'manual' : 'auto';
  if (!live) {
    if (kept) history.replaceState(null, '');
    return;
  }
  addEventListener('pointerdown', function () { held = true; });
  ['pointerup', 'pointercancel', 'blur'].forEach(function (e) { addEventListener(e, function () { held = false; }); });
  addEventListener('beforeunload', keep);
  // Slow runs reload less often. A run that was killed leaves a page that never changes.
  if (now - since < day) setTimeout(reload, Math.min(Math.max((now - since) / 10, least), most));
  else live.textContent = 'This page has not changed for a day and no longer reloads itself. Has the run been killed?';
})();
