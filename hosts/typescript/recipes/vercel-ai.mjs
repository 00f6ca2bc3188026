// Vercel AI SDK: the model's answer streams into an artifact, and a cancel stops the model.
//   export MODEL_URL=http://127.0.0.1:11434/v1 MODEL=llama3.2
//   parley serve --lines -- node vercel-ai.mjs
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { streamText } from "ai";
import { agent } from "parley";

const { MODEL_URL: baseURL, MODEL_KEY: apiKey, MODEL } = process.env;
const models = createOpenAICompatible({ name: "model", baseURL, apiKey });

agent(async (turn) => {
  const out = turn.artifact("answer");
  const answer = streamText({ model: models(MODEL), prompt: turn.text, abortSignal: turn.signal, onError: () => {} });
  for await (const event of answer.fullStream) {
    if (event.type === "error") throw event.error; // textStream would end as if all were well
    if (event.type === "text-delta") out.write(event.text);
  }
  out.close();
}).serve();
