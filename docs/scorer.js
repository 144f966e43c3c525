// The order of what a search finds: of names that are alike, that of the subscription trie first; tables of benchmarks last.
var Scorer = {
  score: ([docname, , , , score]) => {
    if (docname === "reference/subtrie") return score + 3;
    if (docname.startsWith("benchmarks/")) return score - 20;
    return score;
  },

  // As Sphinx has them.
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
