// What somebody's answers can tell about them: one answer, one wave, the whole study; by the
// collector alone, and by dealers and collector together. The same table as Python's
// jrr.reporting.cost_table, from losses that were computed here.

import { cost } from "./campaign.js";
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

function ofCampaign(campaign) {
  const { epsilon, view } = cost(campaign);
  const dealer = campaign.dealers.length ? campaign.losses.dealer : null;
  const answer = row(epsilon, 0, view, dealer);
  return { answer, wave: answer, study: answer, questions: 1, waves: 1 };
}

/** What all waves lose: as promised, and never less than the waves so far by what was computed. */
function ofStudy({ study, parts }, view) {
  const before = study.earlier.reduce((sum, { loss }) => sum + loss[view], 0);
  const sure = before + lossOf(parts, view);
  return Math.max(study.promised[view], study.earlier.length ? sure * UP : sure);
}

function ofSurvey(survey) {
  const { parts, dealers, study, questionnaire } = survey;
  const names = [...new Set(parts.map(({ item }) => item.name))];
  const items = names.map((name) => parts.filter(({ item }) => item.name === name));
  const view = costView(parts);
  const most = (seen) => Math.max(...items.map((own) => lossOf(own, seen)));
  const deals = dealers.length > 0;
  const dealtBefore = study.earlier.some(({ loss }) => loss.dealer !== loss.everything || loss.dealer === Infinity);
  const studyView = view === "report" && dealtBefore ? "everything" : view;
  const delta = studyView === "everything" ? study.promised.delta : 0;
  return {
    answer: row(most(view), 0, view, deals ? most("dealer") : null),
    wave: row(lossOf(parts, view), 0, view, deals ? lossOf(parts, "dealer") : null),
    study: row(ofStudy(survey, studyView === "report" ? "everything" : studyView), delta, studyView, deals || dealtBefore ? ofStudy(survey, "dealer") : null),
    questions: items.length,
    waves: questionnaire.waves,
  };
}

/** The table of a survey or a campaign: what this returns is in index.d.ts. */
export function costTable(document) {
  const table = document.questionnaire ? ofSurvey(document) : ofCampaign(document);
  return { ...table, rows: shownRows(table), deals: table.study.together.view === "dealer" };
}
