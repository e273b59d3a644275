// A movie loads when it is asked for: the link is exchanged for the page that it leads to.
document.addEventListener("DOMContentLoaded", () => {
  for (const link of document.querySelectorAll(".movies a")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const frame = document.createElement("iframe");
      frame.src = link.href;
      frame.title = link.getAttribute("aria-label");
      frame.setAttribute("sandbox", "allow-scripts");
      link.closest("figure").classList.add("plays");
      link.replaceWith(frame);
      frame.focus();
    });
  }
});

// Long formulas scroll: by the keyboard too.
window.addEventListener("load", () => {
  window.MathJax?.startup?.promise?.then(() => {
    for (const box of document.querySelectorAll('mjx-container[display="true"]')) box.tabIndex = 0;
  });
});
