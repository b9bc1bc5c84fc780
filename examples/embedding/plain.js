// Open as plain.html#link=LINK&invitation=INVITATION&language=de.

const given = new URLSearchParams(location.hash.slice(1));
const element = document.createElement("jrr-survey");
for (const name of ["link", "invitation", "language", "limit"]) {
  if (given.has(name)) element.setAttribute(name, given.get(name));
}
for (const outcome of ["answered", "declined", "failed"]) {
  element.addEventListener(`jrr-${outcome}`, ({ detail }) => {
    document.getElementById("told").textContent = JSON.stringify({ outcome, ...detail });
  });
}
document.getElementById("place").append(element);
