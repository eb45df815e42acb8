// Definitions that open where a formula applies them, and the keys of the book.
(function () {
  "use strict";

  function blockOf(element) {
    return element.closest(".line") || element.closest("p, td, div");
  }

  function toggle(sign) {
    var name = sign.getAttribute("data-opens");
    var source = document.getElementById(name);
    var block = blockOf(sign);
    if (!source || !block) { return; }
    var next = block.nextElementSibling;
    while (next && next.classList.contains("opened")) {
      if (next.getAttribute("data-of") === name) {
        next.remove();
        sign.setAttribute("aria-expanded", "false");
        return;
      }
      next = next.nextElementSibling;
    }
    var opened = document.createElement("div");
    opened.className = "opened";
    opened.setAttribute("data-of", name);
    var title = source.querySelector("summary").cloneNode(true);
    var head = document.createElement("p");
    while (title.firstChild) { head.appendChild(title.firstChild); }
    opened.appendChild(head);
    opened.appendChild(source.querySelector(".body").cloneNode(true));
    block.after(opened);
    sign.setAttribute("aria-expanded", "true");
    reach();
  }

  // what is wider than the screen can be reached, and then scrolled, with the keyboard; what is not is passed over
  function reach() {
    document.querySelectorAll(".wide, .line, pre").forEach(function (element) {
      if (element.scrollWidth > element.clientWidth + 1) {
        element.setAttribute("tabindex", "0");
      } else {
        element.removeAttribute("tabindex");
      }
    });
  }

  window.addEventListener("resize", reach);
  reach();

  document.addEventListener("click", function (event) {
    var sign = event.target.closest && event.target.closest("[data-opens]");
    if (sign) { toggle(sign); }
  });

  document.addEventListener("keydown", function (event) {
    var target = event.target;
    var sign = target.closest && target.closest("[data-opens]");
    if (sign && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      toggle(sign);
      return;
    }
    var typing = target.closest && target.closest("input, textarea, select");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      document.getElementById("search").focus();
    }
  });
})();
