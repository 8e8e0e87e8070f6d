// Shows the cards that have all of the words that are looked for.
"use strict";
(() => {
  const search = document.getElementById("search");
  const cards = [...document.querySelectorAll(".card")];
  const show = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const card of cards) {
      card.hidden = !words.every((word) => card.dataset.words.includes(word));
      count += !card.hidden;
    }
    for (const section of document.querySelectorAll("main section"))
      section.hidden = !section.querySelector(".card:not([hidden])");
    document.getElementById("count").textContent = `${count} page${count === 1 ? "" : "s"}`;
  };
  search.addEventListener("input", show);
  show();
})();
