// Package openai makes an agent of a model behind an endpoint that speaks OpenAI's
// protocol of chat completions, as many servers of models do.
package openai
