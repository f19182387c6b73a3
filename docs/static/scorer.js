/* How the search ranks what it finds: a page whose title has every word, then names of functions, then pages that teach
   or explain; the notebooks of the papers, which mention everything, last. */
const asked = () => (new URLSearchParams(window.location.search).get("q") || "").toLowerCase().match(/\w+/g) || [];
var Scorer = {
  score: ([page, title, anchor, , score]) => {
    const words = asked();
    const titled = words.length > 0 && words.every(word => title.toLowerCase().includes(word.slice(0, 5)));
    const exact = title.toLowerCase() === `phistar.${words.join("_")}`;
    const late = page.startsWith("papers/") || ["benchmarks", "layout", "newcomer"].includes(page);
    return score + (titled ? 40 : 0) + (titled && !anchor ? 10 : 0) + (exact ? 60 : 0) - (late ? 30 : 0);
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: {0: 15, 1: 5, 2: -5},
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
