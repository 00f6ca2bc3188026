// Package openai makes an agent of a model behind an endpoint that speaks OpenAI's
// protocol of chat completions (POST /v1/chat/completions), as many servers of
// models do.
//
//	ag, err := openai.New("http://localhost:11434/v1", "qwen3:8b", &openai.Options{
//		System: "You are the help desk of a bicycle shop.",
//	})
//	srv, err := parley.New(openai.Card("qwen3:8b", nil), ag, nil)
//
// Each message is a request, with what was said before in the same context. The
// answer is an artifact, whose chunks hold the tokens of [Options.FlushEvery]; if
// the client accepts JSON first it is one data part. Tools are called through a
// [Toolbox]. The status message with which the task ends has in its metadata what
// it took (usage), the model and why it stopped (finish_reason).
//
// # Ends
//
// A task is completed where the model came to its end, rejected where it refused,
// and failed where the answer is not all there: cut off by its length, stopped by
// a filter, broken off, or not JSON though that was asked for.
//
// # After a crash
//
// The model is asked again, and its answer takes the place of the half one. What
// it said before it called tools, and what came of the calls, is recorded
// (agent.Step): neither is done again. A call that was under way is made again,
// unless the tool says that it must not be ([agent.Tool].Once); then the model is
// told that nobody knows.
//
// An [Agent] is safe for any number of turns at once; Options.Concurrency of them
// are at the endpoint, the others wait in their order. It starts one goroutine for
// each answer that streams, which has ended when Run returns. Errors of Run are
// the end of its context, or have a public reason; what the endpoint said goes to
// the log, without the agent's secrets.
//
// Differences between OpenAI and the endpoints of several vendors are known,
// and tested with streams in their form: see package openaitest.
package openai
