// What somebody's answers can tell about them: one answer, one wave, the whole study; by the
// collector alone, and by dealers and collector together. The same table as Python's
// jrr.privacy.cost_table, from losses that were computed here.

import { costView, lossOf } from "./survey.js";

export const PRIOR = 0.1; // the guess whose change illustrates an ε
const UP = 1 + 2 ** -40; // more than the rounding of sums

/** What a guess of PRIOR can become at most: rounded up, and 1 only where it is all but certain. */
export function belief(epsilon) {
  const odds = (PRIOR / (1 - PRIOR)) * Math.exp(epsilon);
  const share = odds < Infinity ? odds / (1 + odds) : 1;
  for (let decimals = 3; decimals <= 6; decimals++) {
    const shown = Math.ceil(share * 10 ** decimals) / 10 ** decimals;
    if (shown < 1) return shown;
  }
  return 1;
}

/** Of 100 people who sent the same, how many may have what 10 of 100 have; rounded up. */
export function peopleOf100(epsilon) {
  const odds = (PRIOR / (1 - PRIOR)) * Math.exp(epsilon);
  const share = odds < Infinity ? odds / (1 + odds) : 1;
  return Math.min(100, Math.ceil(100 * share - 1e-6)); // but for what adding floats put on top
}

/** In a row the stronger adversary never has the smaller figure. */
function row(epsilon, delta, view, dealer) {
  const cell = (loss, at, seen, certain) => ({
    epsilon: loss, delta: at, view: seen, belief: belief(certain), people: peopleOf100(certain),
  });
  if (dealer === null) {
    const alone = cell(epsilon, delta, view, epsilon);
    return { collector: alone, together: alone };
  }
  const most = Math.max(epsilon, dealer);
  // A loss that holds at a δ bounds no belief; what is learnt with the card known does.
  return { collector: cell(epsilon, delta, view, delta ? most : epsilon), together: cell(most, 0, "dealer", most) };
}

/** Rows that say different things: `answer`, `wave`, `study` or, of one wave, `all`. */
function shownRows({ answer, wave, study, questions, waves }) {
  if (waves > 1) return questions > 1 ? { answer, wave, study } : { answer, study };
  return questions > 1 ? { answer, all: study } : { answer };
}

/** What all waves lose: as promised, and never less than the waves so far by what was computed. */
function ofStudy({ study, sensitive }, view) {
  const before = study.earlier.reduce((sum, { loss }) => sum + loss[view], 0);
  const sure = before + lossOf(sensitive, view);
  return Math.max(study.promised[view], study.earlier.length ? sure * UP : sure);
}

function tableOf(survey) {
  const { sensitive, dealing, study } = survey;
  const names = [...new Set(sensitive.map(({ question }) => question.name))];
  const groups = names.map((name) => sensitive.filter(({ question }) => question.name === name));
  const view = costView(sensitive);
  const most = (seen) => Math.max(...groups.map((own) => lossOf(own, seen)));
  const deals = dealing.dealers.length > 0;
  const dealtBefore = study.earlier.some(({ loss }) => loss.dealer !== loss.everything || loss.dealer === Infinity);
  const studyView = view === "report" && dealtBefore ? "everything" : view;
  const delta = studyView === "everything" ? study.promised.delta : 0;
  return {
    answer: row(most(view), 0, view, deals ? most("dealer") : null),
    wave: row(lossOf(sensitive, view), 0, view, deals ? lossOf(sensitive, "dealer") : null),
    study: row(ofStudy(survey, studyView === "report" ? "everything" : studyView), delta, studyView, deals || dealtBefore ? ofStudy(survey, "dealer") : null),
    questions: groups.length,
    waves: survey.waves,
  };
}

/** The table of a survey: what this returns is in index.d.ts. */
export function costTable(survey) {
  const table = tableOf(survey);
  return { ...table, rows: shownRows(table), deals: table.study.together.view === "dealer" };
}
