// Runs calls by OpenAI's own library for Node, one after the other, and prints what came of each as one JSON array. The
// address and the token are its environment, the calls its argument: nothing else is set, as its users would not.
import fs from "node:fs";
import OpenAI from "openai";

const client = new OpenAI({ baseURL: process.env.STENOMETER_URL + "/v1", apiKey: process.env.STENOMETER_TOKEN });

const calls = {
  async models() {
    const names = [];
    for await (const model of client.models.list()) names.push(model.id);
    return { names, one: (await client.models.retrieve(names[0])).id };
  },

  async chat(body) {
    const answer = await client.chat.completions.create(body);
    return { ...answer.choices[0], usage: answer.usage, model: answer.model, id: answer.id };
  },

  // The library puts the chunks of a stream together by itself, and fails where they are not what it expects.
  async stream(body) {
    const runner = client.chat.completions.stream({ ...body, stream_options: { include_usage: true } });
    let text = "";
    for await (const chunk of runner) text += chunk.choices[0]?.delta?.content ?? "";
    const whole = await runner.finalChatCompletion();
    return { ...whole.choices[0], usage: whole.usage, text };
  },

  async transcribe({ path, ...fields }) {
    const heard = await client.audio.transcriptions.create({ file: fs.createReadStream(path), ...fields });
    return { heard };
  },
};

const results = [];
for (const [call, body] of JSON.parse(process.argv[2])) {
  const began = Date.now();
  try {
    results.push(await calls[call](body));
  } catch (error) {
    results.push({
      failed: error.constructor.name, status: error.status ?? 0, code: error.code ?? "", type: error.type ?? "",
      message: error.message, object: error.error ?? null,
    });
  }
  results[results.length - 1].took = Date.now() - began;
}
console.log(JSON.stringify(results));
