// What the theme and Sphinx do by a script in an attribute or a link, which each page's security policy forbids.
document.addEventListener("click", (event) => {
  if (event.target.closest("[data-does=print]")) window.print();
  if (event.target.closest(".highlight-link a")) {
    event.preventDefault();
    SphinxHighlight.hideSearchWords();
  }
});
