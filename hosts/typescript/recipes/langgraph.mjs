// LangGraph: an interrupt of the graph is a question to the client. After a crash the graph runs
// again from the top, and each interrupt gets its recorded answer at once.
//   parley serve --lines -- node langgraph.mjs
import { Annotation, Command, END, interrupt, MemorySaver, START, StateGraph } from "@langchain/langgraph";
import { agent } from "parley";

const State = Annotation.Root({ topic: Annotation, draft: Annotation, verdict: Annotation });
const graph = new StateGraph(State)
  .addNode("write", ({ topic }) => ({ draft: `A poem about ${topic}` })) // your model's work
  .addNode("review", ({ draft }) => ({ verdict: interrupt(`Publish "${draft}"?`) }))
  .addEdge(START, "write")
  .addEdge("write", "review")
  .addEdge("review", END)
  .compile({ checkpointer: new MemorySaver() });

agent(async (turn) => {
  const config = { configurable: { thread_id: turn.task }, signal: turn.signal };
  let state = await graph.invoke({ topic: turn.text }, config);
  while (state.__interrupt__) {
    const answer = await turn.ask(state.__interrupt__[0].value);
    state = await graph.invoke(new Command({ resume: answer.text }), config);
  }
  turn.artifact("poem.txt").write(state.draft, { last: true });
  turn.complete(`The verdict was: ${state.verdict}`);
}).serve();
