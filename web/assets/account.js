"use strict";

// The token of a link stands behind #, which no server and no log is told. It leaves the address bar, and so the
// browser's history, before anything else is done.
const link = location.hash.slice(1);
if (link !== "") history.replaceState(null, "", location.pathname);
// A second link that is opened in this tab loads nothing by itself.
addEventListener("hashchange", () => location.reload());

const find = (id) => document.getElementById(id);

function tell(text, failed) {
  const told = find("told");
  told.textContent = text;
  told.classList.toggle("failed", failed);
  told.hidden = false;
}

// ask sends a request to the API and returns its status and answer; a failure of the network has the status 0.
async function ask(method, path, body) {
  try {
    const answer = await fetch(path, {
      method,
      headers: body ? { "Content-Type": "application/json" } : {},
      body: body && JSON.stringify(body),
      cache: "no-store",
      redirect: "error",
    });
    return { status: answer.status, said: await answer.json() };
  } catch {
    return { status: 0, said: { error: "The server did not answer. Try again." } };
  }
}

// serve shows a form and posts what is typed into it, with what the page knows besides.
function serve(id, path, known, then) {
  const form = find(id);
  if (!form) return;
  form.hidden = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = form.querySelector("button");
    button.disabled = true;
    const { status, said } = await ask("POST", path, { ...Object.fromEntries(new FormData(form)), ...known });
    button.disabled = false;
    if (status >= 200 && status < 300) then(said);
    else tell(said.error, true);
  });
}

function lacking() {
  const sentence = find("no-link");
  if (sentence) sentence.hidden = false;
}

async function showAccount() {
  const { status, said } = await ask("GET", "api/v1/users/me");
  if (status === 401) return location.replace("sign-in");
  if (status !== 200) return tell(said.error, true);
  find("who").textContent = `${said.username} (${said.email})`;
  find("organization").textContent = said.group_memberships.map((member) => member.group_name).join(", ");
  find("role").textContent = said.role;
  find("account").hidden = false;
  find("leave").addEventListener("click", async () => {
    const left = await ask("POST", "api/auth/logout");
    if (left.status === 200 || left.status === 401) location.replace("sign-in");
    else tell(left.said.error, true);
  });
}

serve("sign-in", "api/auth/login", {}, () => location.replace("."));
if (link !== "") {
  serve("reset", "api/auth/password/reset", { token: link }, () => location.replace("sign-in?notice=password_set"));
  serve("invite", "api/auth/invites/accept", { token: link }, () => location.replace("."));
} else {
  serve("forgot", "api/auth/password/forgot", {}, (said) => tell(said.message, false));
  lacking();
}
if (find("account")) showAccount();
