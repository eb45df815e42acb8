// The explorer on the page of an entry: letters that move, a curve that follows, points of one's own, a check that is watched.
(function () {
  "use strict";

  var head = document.getElementById("curve");
  var kind = document.querySelector(".kind code");
  if (!head || !kind) { return; }
  var id = kind.textContent;
  var COUNT = 41;
  var state = { point: {}, letter: "", output: "", values: null, own: [], kept: [], turn: 0 };
  var known = null;

  function make(tag, properties, children) {
    var element = document.createElement(tag);
    Object.keys(properties || {}).forEach(function (name) {
      if (name in element) { element[name] = properties[name]; } else { element.setAttribute(name, properties[name]); }
    });
    (children || []).forEach(function (child) {
      element.appendChild(typeof child === "string" ? document.createTextNode(child) : child);
    });
    return element;
  }

  function ask(question, body) {
    return window.fetch("/api/" + question, {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body)
    }).then(function (response) {
      return response.json().then(function (data) {
        if (!response.ok) { throw new Error(data.message); }
        return data;
      });
    });
  }

  var panel = make("section", { id: "explorer" });
  var form = make("div", { className: "letters" });
  var picture = make("div", { id: "explored" });
  var said = make("p", { id: "explorer-said", role: "status" });
  var verdict = make("pre", { id: "explorer-check", hidden: true });

  function range(letter) { return known.sliders.filter(function (s) { return s.name === letter; })[0]; }

  function places() {
    var slider = range(state.letter), found = [];
    for (var k = 0; k < COUNT; k++) {
      var part = k / (COUNT - 1);
      var x = slider.logarithmic ? slider.low * Math.pow(slider.high / slider.low, part)
        : slider.low + (slider.high - slider.low) * part;
      found.push(String(Number(x.toPrecision(5))));
    }
    return found;
  }

  function follow() {
    var turn = ++state.turn;
    var point = Object.assign({}, state.point);
    delete point[state.letter];
    ask("curve", { id: id, point: point, letter: state.letter, output: state.output, places: places() }).then(function (data) {
      // an answer that a later question has overtaken is dropped
      if (turn !== state.turn) { return; }
      state.values = data;
      said.textContent = data.refused ? data.refused + " places have no value: " + data.reason : "";
      draw();
    }).catch(function (error) {
      if (turn === state.turn) { said.textContent = error.message; }
    });
    return value(turn);
  }

  function value(turn) {
    var body = { id: id, point: state.point, certified: certified.checked };
    if (digits.value) { body.digits = Number(digits.value); }
    return ask("predict", body).then(function (data) {
      if (turn !== state.turn) { return; }
      number.textContent = data.text.split("\n").slice(1).join("\n");
    }).catch(function (error) { if (turn === state.turn) { number.textContent = error.message; } });
  }

  function draw() {
    var data = state.values;
    if (!data) { return; }
    var points = data.places.map(function (x, k) { return [Number(x), data.values[k]]; })
      .filter(function (p) { return typeof p[1] === "number" && isFinite(p[1]); });
    var all = points.concat(state.own);
    state.kept.forEach(function (curve) { all = all.concat(curve.points); });
    if (!all.length) { return; }
    var logarithmic = range(state.letter).logarithmic;
    var scale = function (x) { return logarithmic ? Math.log(Math.max(x, 1e-300)) : x; };
    var xs = all.map(function (p) { return scale(p[0]); }), ys = all.map(function (p) { return p[1]; });
    var x0 = Math.min.apply(null, xs), x1 = Math.max.apply(null, xs);
    var y0 = Math.min.apply(null, ys), y1 = Math.max.apply(null, ys);
    if (y1 - y0 < 1e-12) { y0 -= 0.5; y1 += 0.5; }
    if (x1 === x0) { x1 = x0 + 1; }
    var X = function (x) { return 70 + 554 * (scale(x) - x0) / (x1 - x0); };
    var Y = function (y) { return 280 - 262 * (y - y0) / (y1 - y0); };
    var svg = '<svg class="plot" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 320" role="img">' +
      '<rect class="frame" x="70" y="18" width="554" height="262"/>' +
      '<path class="curve" d="M' + points.map(function (p) { return X(p[0]).toFixed(1) + " " + Y(p[1]).toFixed(1); }).join("L") + '"/>';
    var path = function (line) {
      return "M" + line.map(function (p) { return X(p[0]).toFixed(1) + " " + Y(p[1]).toFixed(1); }).join("L");
    };
    state.kept.forEach(function (curve, k) {
      svg += '<path class="curve kept kept-' + (k % 4) + '" d="' + path(curve.points) + '"/>';
    });
    state.own.forEach(function (p) {
      svg += '<circle class="point own" cx="' + X(p[0]).toFixed(1) + '" cy="' + Y(p[1]).toFixed(1) + '" r="3.5"/>';
    });
    [[y0, 284], [y1, 22]].forEach(function (t) {
      svg += '<text class="tick y" x="64" y="' + t[1] + '">' + Number(t[0].toPrecision(4)) + "</text>";
    });
    [[x0, 70], [x1, 624]].forEach(function (t) {
      var x = logarithmic ? Math.exp(t[0]) : t[0];
      svg += '<text class="tick x" x="' + t[1] + '" y="298">' + Number(x.toPrecision(4)) + "</text>";
    });
    picture.innerHTML = svg + "</svg>";
    var label = document.createElementNS("http://www.w3.org/2000/svg", "text");
    label.setAttribute("class", "label");
    label.setAttribute("x", "347");
    label.setAttribute("y", "314");
    label.textContent = state.output + " over " + range(state.letter).sign;
    picture.firstChild.appendChild(label);
    state.kept.forEach(function (curve, k) {
      picture.appendChild(make("p", { className: "legend kept-" + (k % 4) }, [curve.label]));
    });
  }

  // the curve as it is stays while letters move on: other values, another activation over it
  function keep() {
    var data = state.values;
    if (!data) { return; }
    var point = Object.keys(state.point).filter(function (name) { return name !== state.letter; });
    state.kept.push({
      points: data.places.map(function (x, k) { return [Number(x), data.values[k]]; })
        .filter(function (p) { return typeof p[1] === "number" && isFinite(p[1]); }),
      label: point.map(function (name) { return name + " = " + state.point[name]; }).join(", ")
    });
    draw();
  }

  function asLink() {
    return location.origin + location.pathname + "#point=" + encodeURIComponent(JSON.stringify(state.point));
  }

  // letters that a link carries, of those that the entry has
  function linked() {
    var match = /#point=(.+)$/.exec(location.hash);
    if (!match) { return; }
    try {
      var given = JSON.parse(decodeURIComponent(match[1]));
      known.sliders.forEach(function (s) {
        if (typeof given[s.name] === "string") { state.point[s.name] = given[s.name]; }
      });
    } catch (error) {
      said.textContent = "The link has no letters that can be read.";
    }
  }

  function control(slider) {
    var field = make("input", { type: "text", value: state.point[slider.name], size: 10, "aria-label": slider.meaning });
    field.setAttribute("data-letter", slider.name);
    field.addEventListener("change", function () { state.point[slider.name] = field.value; follow(); });
    var parts = [make("span", { className: "sign", title: slider.meaning }, [slider.sign]), field];
    if (slider.names) {
      var list = make("select", { "aria-label": slider.meaning }, slider.names.map(function (name) {
        return make("option", { value: name, selected: name === state.point[slider.name] }, [name]);
      }));
      list.setAttribute("data-letter", slider.name);
      list.addEventListener("change", function () { state.point[slider.name] = list.value; follow(); });
      parts[1] = list;
    } else if (slider.low !== undefined) {
      var bar = make("input", { type: "range", min: 0, max: 1000, "aria-label": slider.meaning });
      bar.setAttribute("data-slider", slider.name);
      bar.addEventListener("input", function () {
        var part = bar.value / 1000;
        var x = slider.logarithmic ? slider.low * Math.pow(slider.high / slider.low, part)
          : slider.low + (slider.high - slider.low) * part;
        field.value = String(Number(x.toPrecision(4)));
        state.point[slider.name] = field.value;
        follow();
      });
      parts.push(bar);
    }
    return make("label", {}, parts);
  }

  function readOwn(text) {
    var lines = text.trim().split(/\r?\n/).map(function (line) { return line.split(",").map(function (c) { return c.trim(); }); });
    var names = lines[0];
    var x = names.indexOf(state.letter), y = names.indexOf(state.output);
    if (x < 0 || y < 0) {
      said.textContent = "The file needs columns " + state.letter + " and " + state.output + "; it has " + names.join(", ") + ".";
      return;
    }
    state.own = lines.slice(1).map(function (line) { return [Number(line[x]), Number(line[y])]; })
      .filter(function (p) { return isFinite(p[0]) && isFinite(p[1]); });
    said.textContent = state.own.length + " points of your own.";
    draw();
  }

  // the same check with ten times as many samples each time, until it is sure or has had its time
  function watch(samples) {
    verdict.hidden = false;
    ask("check", { id: id, point: state.point, samples: samples, seconds: 10, seed: 0 }).then(function (data) {
      var rows = data.rows.map(function (row) {
        return row.output + "  theorem " + Number(row.prediction).toPrecision(6) + "  simulation " + Number(row.estimate).toPrecision(6) +
          "  z " + (row.z === null ? "" : Number(row.z).toFixed(2));
      });
      verdict.textContent = samples + " samples: " + data.verdict + (data.reason ? " (" + data.reason + ")" : "") + "\n" + rows.join("\n");
      if (data.verdict === "cannot tell" && samples < 1e6 && data.seconds < 5) { watch(10 * samples); }
    }).catch(function (error) { verdict.textContent = error.message; });
  }

  function copied(text) {
    said.textContent = text;
    if (navigator.clipboard) { navigator.clipboard.writeText(text).catch(function () {}); }
  }

  function asPython() {
    return 'te.predict("' + id + '", ' + Object.keys(state.point).map(function (name) {
      return name + "=" + JSON.stringify(state.point[name]);
    }).join(", ") + ")";
  }

  function asCommand() {
    return "theorem-engine predict " + id + " " + Object.keys(state.point).map(function (name) {
      return "'" + name + "=" + state.point[name] + "'";
    }).join(" ");
  }

  var number = make("pre", { id: "explorer-value", role: "status" });
  var digits = make("input", { type: "number", min: 1, max: 200, id: "digits", "aria-label": "digits" });
  var certified = make("input", { type: "checkbox", id: "certified" });
  [digits, certified].forEach(function (field) { field.addEventListener("change", follow); });

  function button(name, text, action) {
    var found = make("button", { type: "button", id: name }, [text]);
    found.addEventListener("click", action);
    return found;
  }

  ask("show", { id: id }).then(function (data) {
    known = data;
    state.point = Object.assign({}, data.example);
    linked();
    var moving = data.sliders.filter(function (s) { return s.low !== undefined && s.name in state.point; });
    if (!moving.length) { return; }
    state.letter = moving[0].name;
    state.output = data.main_output;
    data.sliders.filter(function (s) { return s.name in state.point; }).forEach(function (s) { form.appendChild(control(s)); });
    var along = make("select", { "aria-label": "letter along the axis", id: "along" }, moving.map(function (s) {
      return make("option", { value: s.name }, [s.sign]);
    }));
    along.addEventListener("change", function () { state.letter = along.value; state.own = []; state.kept = []; follow(); });
    var of = make("select", { "aria-label": "output", id: "output" }, Object.keys(data.outputs).map(function (name) {
      return make("option", { value: name }, [name]);
    }));
    of.addEventListener("change", function () { state.output = of.value; state.own = []; state.kept = []; follow(); });
    var file = make("input", { type: "file", accept: ".csv,text/csv", id: "own", "aria-label": "CSV of your own points" });
    file.addEventListener("change", function () { if (file.files[0]) { file.files[0].text().then(readOwn); } });
    panel.appendChild(form);
    panel.appendChild(make("p", {}, ["along ", along, " of ", of, " · digits ", digits, " ",
      make("label", { className: "inline" }, [certified, " certified"])]));
    panel.appendChild(make("p", {}, ["own points ", file, " ",
      button("keep", "Keep this curve", keep), " ",
      button("watch", "Check here", function () { watch(1000); }), " ",
      button("python", "Copy as Python", function () { copied(asPython()); }), " ",
      button("command", "Copy as command", function () { copied(asCommand()); }), " ",
      button("link", "Copy link", function () { copied(asLink()); })]));
    [number, picture, said, verdict].forEach(function (part) { panel.appendChild(part); });
    head.parentNode.after(panel);
    follow();
  }).catch(function (error) { said.textContent = error.message; head.parentNode.after(said); });
})();
