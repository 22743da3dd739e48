// Verifies what was delivered to a webhook by the packages for Node. Reads a JSON array of {secret, headers, body} and
// prints for each whether each package takes it.
import fs from "node:fs";
import { Webhook } from "standardwebhooks";
import { Webhook as Svix } from "svix";

function takes(Verifier, { secret, headers, body }) {
  try {
    new Verifier(secret).verify(body, headers);
    return true;
  } catch {
    return false;
  }
}

const given = JSON.parse(fs.readFileSync(0, "utf8"));
console.log(JSON.stringify(given.map((one) => ({ standardwebhooks: takes(Webhook, one), svix: takes(Svix, one) }))));
