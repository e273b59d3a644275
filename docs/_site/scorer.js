// What helps to do a thing comes before what explains it, and that before what records why.
var Scorer = {
  score: (result) => {
    const [page, , , , score] = result;
    if (page.startsWith("decisions/")) return score - 40;
    if (page.startsWith("theory/")) return score - 5;
    if (/^(start|choose|limits|howto\/|learn\/|auto_examples\/)/.test(page)) return score + 10;
    return score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
