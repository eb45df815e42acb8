// The search of the book: every word must occur; better places and whole words come first; a slip of the finger is forgiven.
(function () {
  "use strict";

  var data = window.BOOK_SEARCH || { documents: [], synonyms: {} };
  var root = document.body.getAttribute("data-root");
  var MOST = 12;
  var known = null;

  function isWhole(text, word) {
    var at = text.indexOf(word);
    while (at >= 0) {
      var before = at === 0 ? " " : text[at - 1];
      var after = at + word.length >= text.length ? " " : text[at + word.length];
      if (!/[\p{L}\p{N}_]/u.test(before) && !/[\p{L}\p{N}_]/u.test(after)) { return true; }
      at = text.indexOf(word, at + 1);
    }
    return false;
  }

  function place(document, word) {
    var fields = [[8, document.id], [5, (document.title + " " + document.kind).toLowerCase()], [3, document.names],
      [1, document.text]];
    var best = 0;
    fields.forEach(function (field) {
      if (field[1].indexOf(word) >= 0) { best = Math.max(best, field[0] * (isWhole(field[1], word) ? 1.5 : 1)); }
    });
    return best;
  }

  function score(document, word) {
    var best = place(document, word);
    (data.synonyms[word] || []).forEach(function (other) {
      // the text has every word once: a phrase is there if its words are
      var parts = other.split(" ").map(function (part) { return place(document, part); });
      best = Math.max(best, 0.5 * Math.min.apply(null, parts));
    });
    return best;
  }

  function termsOf(text) {
    var words = text.toLowerCase().split(/\s+/).filter(Boolean);
    var found = [];
    while (words.length) {
      var pair = words.slice(0, 2).join(" ");
      var taken = words.length > 1 && Object.prototype.hasOwnProperty.call(data.synonyms, pair) ? 2 : 1;
      found.push(words.splice(0, taken).join(" "));
    }
    return found;
  }

  function ranked(words) {
    var found = [];
    data.documents.forEach(function (document) {
      var scores = words.map(function (word) { return score(document, word); });
      if (Math.min.apply(null, scores) > 0) {
        found.push([scores.reduce(function (a, b) { return a + b; }, 0), document]);
      }
    });
    found.sort(function (a, b) { return b[0] - a[0] || (a[1].id < b[1].id ? -1 : 1); });
    return found.map(function (pair) { return pair[1]; });
  }

  // letters inserted, left out, changed or swapped between two words, at most two of them counted
  function distance(a, b) {
    if (Math.abs(a.length - b.length) > 2) { return 3; }
    var older = null, old = [];
    for (var j = 0; j <= b.length; j++) { old.push(j); }
    for (var i = 1; i <= a.length; i++) {
      var row = [i];
      for (j = 1; j <= b.length; j++) {
        var cost = a[i - 1] === b[j - 1] ? 0 : 1;
        row[j] = Math.min(row[j - 1] + 1, old[j] + 1, old[j - 1] + cost);
        if (older && i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
          row[j] = Math.min(row[j], older[j - 2] + 1);
        }
      }
      older = old;
      old = row;
    }
    return old[b.length];
  }

  function nearest(word) {
    if (word.length < 4) { return word; }
    if (!known) {
      known = {};
      data.documents.forEach(function (document) {
        (document.text + " " + document.title.toLowerCase()).split(/[^\p{L}\p{N}]+/u).forEach(function (w) {
          if (w.length > 2) { known[w] = true; }
        });
      });
    }
    var best = word, least = word.length > 6 ? 3 : 2;
    Object.keys(known).forEach(function (other) {
      var d = distance(word, other);
      if (d < least) { least = d; best = other; }
    });
    return best;
  }

  // documents for a text, and the text that was looked for if it is another one
  function search(text) {
    var words = termsOf(text);
    if (!words.length) { return { hits: [], instead: "" }; }
    var hits = ranked(words);
    if (hits.length) { return { hits: hits, instead: "" }; }
    var mended = words.map(function (word) {
      return data.documents.some(function (d) { return score(d, word) > 0; }) ? word : nearest(word);
    });
    var instead = mended.join(" ");
    return instead === words.join(" ") ? { hits: [], instead: "" } : { hits: ranked(mended), instead: instead };
  }

  function link(document_) {
    var a = document.createElement("a");
    a.href = root + document_.place;
    var title = document.createElement("span");
    title.textContent = document_.title;
    var about = document.createElement("small");
    about.textContent = document_.kind + " · " + document_.id;
    a.appendChild(title);
    a.appendChild(about);
    return a;
  }

  function show() {
    var input = document.getElementById("search");
    var box = document.getElementById("hits");
    var said = document.getElementById("hits-said");
    var found = search(input.value);
    box.textContent = "";
    var asked = input.value.trim() !== "";
    box.hidden = !asked;
    if (!asked) { said.textContent = ""; return; }
    var words = found.hits.length === 0 ? "Nothing has all these words."
      : found.hits.length + (found.hits.length === 1 ? " page" : " pages") + (found.instead ? " for " + found.instead : "");
    said.textContent = words;
    var head = document.createElement("p");
    head.textContent = words;
    box.appendChild(head);
    found.hits.slice(0, MOST).forEach(function (hit) { box.appendChild(link(hit)); });
  }

  var input = document.getElementById("search");
  var box = document.getElementById("hits");
  input.addEventListener("input", show);
  input.form.addEventListener("submit", function (event) {
    event.preventDefault();
    var first = box.querySelector("a");
    if (first) { first.click(); }
  });
  input.form.addEventListener("keydown", function (event) {
    var links = Array.prototype.slice.call(box.querySelectorAll("a"));
    var at = links.indexOf(document.activeElement);
    if (event.key === "ArrowDown" && links.length) {
      event.preventDefault();
      links[Math.min(at + 1, links.length - 1)].focus();
    } else if (event.key === "ArrowUp" && at >= 0) {
      event.preventDefault();
      (at === 0 ? input : links[at - 1]).focus();
    } else if (event.key === "Escape") {
      input.value = "";
      show();
      input.focus();
    }
  });
  document.addEventListener("click", function (event) {
    if (!input.form.contains(event.target)) { box.hidden = true; }
  });
  input.addEventListener("focus", function () { if (input.value.trim()) { box.hidden = false; } });
  window.searchBook = search;
})();
