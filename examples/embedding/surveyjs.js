// SurveyJS asks everything but the sensitive question. That one is a question of its type "html" with a
// <jrr-survey> in it: SurveyJS learns that it was answered, never what.
//
// Open as surveyjs.html#survey=LINK&invitation=INVITATION.

const given = new URLSearchParams(location.hash.slice(1));

const survey = new window.Survey.Model({
  title: "Working here",
  pages: [
    {
      elements: [
        { type: "radiogroup", name: "team", title: "Your team", choices: ["north", "south"], isRequired: true },
        // Shows that SurveyJS goes on only when jrr is done; hidden from people.
        { type: "text", name: "sensitive", visible: false, clearIfInvisible: "none" },
        { type: "html", name: "jrr", html: '<div class="jrr-place"></div>' },
      ],
    },
    { elements: [{ type: "comment", name: "remarks", title: "Anything else?" }] },
  ],
});

// The html question may be drawn again, and the element must not be: it is made once and put where
// it belongs each time.
const element = document.createElement("jrr-survey");
element.setAttribute("link", given.get("survey") ?? "");
if (given.has("invitation")) element.setAttribute("invitation", given.get("invitation"));
for (const outcome of ["answered", "declined"]) {
  element.addEventListener(`jrr-${outcome}`, () => survey.setValue("sensitive", outcome));
}
survey.onAfterRenderQuestion.add((_, { question, htmlElement }) => {
  if (question.name === "jrr") htmlElement.querySelector(".jrr-place").append(element);
});

survey.onCurrentPageChanging.add((_, options) => {
  if (options.isGoingForward && !survey.getValue("sensitive")) {
    options.allow = false;
    survey.notify("Please answer or decline the question in the frame first.", "error");
  }
});

// Their data goes wherever it went before; of the sensitive question it has "answered" or "declined".
survey.onComplete.add(() => {
  document.getElementById("theirs").textContent = JSON.stringify(survey.data);
});

survey.render(document.getElementById("survey"));
