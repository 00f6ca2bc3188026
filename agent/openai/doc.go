// Package openai turns a model into an agent. The model's endpoint must speak OpenAI's
// protocol of chat completions (POST /v1/chat/completions), as many model servers do.
//
//	ag, err := openai.New("http://localhost:11434/v1", "qwen3:8b", &openai.Options{
//		System: "You are the help desk of a bicycle shop.",
//	})
//	srv, err := parley.New(openai.Card("qwen3:8b", nil), ag, nil)
//
// Each message is one request, with the earlier messages of the same context. The
// answer is an artifact; each of its chunks holds the tokens of one
// [Options.FlushEvery]. If the client lists JSON first among the types it accepts, the
// answer is one data part. Tools are called through a [Toolbox]. The metadata of the
// status message that ends the task has the tokens used (usage), the model and why it
// stopped (finish_reason).
//
// # How a task ends
//
// A task is completed if the model finished its answer, rejected if the model refused,
// and failed if the answer is incomplete: cut off by its length, stopped by a filter,
// broken off, or not JSON although JSON was asked for.
//
// # After a crash
//
// The model is asked again, and the new answer replaces the incomplete one. Answers
// that call tools, and the results of the calls, are recorded (agent.Step), so neither
// is repeated. A call that was under way is made again, unless the tool forbids it
// ([agent.Tool].Once); then the model is told that the call's outcome is unknown.
//
// An [Agent] is safe for any number of turns at once. Options.Concurrency limits the
// turns at the endpoint; others wait in their order. An error of Run is the cause of its
// context, or has a public reason; the endpoint's words are logged, without the agent's
// secrets.
//
// Differences between OpenAI and the endpoints of several vendors are handled, and
// tested with streams in the vendors' forms: see package openaitest.
package openai
