// OpenAI Agents SDK: a tool that needs approval asks the client, and is used once per task.
//   export OPENAI_BASE_URL=http://127.0.0.1:11434/v1 OPENAI_API_KEY=none MODEL=llama3.2
//   parley serve --lines -- node openai-agents.mjs
import { Agent, run, setOpenAIAPI, setTracingDisabled, tool } from "@openai/agents";
import { agent } from "parley";

setOpenAIAPI("chat_completions"); // which models elsewhere speak, too
setTracingDisabled(true);

agent(async (turn) => {
  const refund = tool({
    name: "refund",
    description: "Refunds an order.",
    parameters: { type: "object", properties: { order: { type: "string" } }, required: ["order"], additionalProperties: false },
    needsApproval: true,
    execute: ({ order }) => turn.step(`refund ${order}`, () => `order ${order} is refunded`),
  });
  const clerk = new Agent({ name: "Clerk", instructions: "You help with orders.", model: process.env.MODEL, tools: [refund] });
  let result = await run(clerk, turn.text, { signal: turn.signal });
  while (result.interruptions.length > 0) {
    for (const call of result.interruptions) {
      const { text } = await turn.ask(`May I ${call.name} ${call.arguments}? Say yes to allow it.`);
      if (text.trim() === "yes") result.state.approve(call);
      else result.state.reject(call);
    }
    result = await run(clerk, result.state, { signal: turn.signal });
  }
  return result.finalOutput;
}).serve();
