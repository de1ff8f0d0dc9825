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
