package config

import (
	"slices"

	"github.com/parley-a2a/parley/internal/dialect"
)

// kinds are the kinds of agents; each is the name of a field of Agent.
var kinds = []string{"exec", "http", "openai", "proxy", "mcp", "builtin"}

// agentFields are the fields of one entry of agents. The fields of its objects match those of
// the types in config.go, by their names without underscores.
var agentFields = []*field{
	row("default", boolean, "serve it at `/`, too").or("true if it is the only one"),
	group("exec", "a command", execFields...),
	group("http", "an HTTP service that messages are posted to", httpFields...),
	group("openai", "a model, at an endpoint compatible with OpenAI's chat completions", openaiFields...),
	group("proxy", "another A2A agent, of any version", proxyFields...),
	group("mcp", "a server of the Model Context Protocol, whose tools become skills", mcpFields...),
	row("builtin", word, "one of Parley's own agents").of("demo", "conformance"),
	group("card", "fields of its card that replace those of its kind", cardFields...),
	row("on_lost", word, "what happens to its tasks if the server dies").of("rerun", "fail").or("`on_lost` of the server"),
	row("max_runs", integer, "lost runs of one message after which a task fails").from(1).or("`max_runs` of the server"),
}

var execFields = []*field{
	listOf("command", text, "the program and its arguments: `[python3, agent.py]`").asWritten().required(),
	row("dir", path, "directory to run it in").or("the file's"),
	dictOf("env", text, "NAME", "variables in addition to the server's").asWritten(),
	row("clean_env", boolean, "pass on only PATH, HOME, LANG and TZ of the server's environment").or("false"),
	row("mode", word, "text in and out, or the protocol of JSON lines").of("plain", "lines").or("plain"),
	row("processes", integer, "with `lines`: processes to keep, each for one message after another; else one for each message").to(1024).or("0"),
	row("concurrency", integer, "runs at a time, more wait").or("processors times 4"),
	row("files", boolean, "pass files to and from the program in folders").or("false"),
	row("timeout", duration, "longest run; 0 is no limit").or("0s"),
	row("grace", duration, "time between TERM and KILL").or("5s"),
	row("memory", size, "address space of a process; 0 is no limit").or("0"),
	row("max_output", size, "output of a run").or("64MiB"),
}

var httpFields = []*field{
	row("url", link, "where messages are posted").required(),
	dictOf("headers", secret, "Name", "headers of each request, such as `Authorization: ${env:TOKEN}`"),
	row("body", text, "the request, for a service with its own format: `{\"prompt\": \"${text}\"}` or `prompt=${text}`").verbatim().checkedAs("body"),
	row("answer", text, "where such a service's answer is: `.reply`, or `text` for the whole response").verbatim().checkedAs("answer"),
	row("timeout", duration, "time until the answer is complete; not for streams and callbacks").or("5m"),
	row("retries", integer, "how often a failed request is repeated; 0 is never").to(100).or("5"),
	row("callbacks", boolean, "the service may answer 202 and call back").or("false"),
	row("callback_url", link, "where the service reaches this server").or("`public_url`"),
	row("concurrency", integer, "requests at a time, more wait").or("256"),
	egress,
}

var openaiFields = []*field{
	row("url", link, "the endpoint, without `/chat/completions`").required(),
	row("model", text, "the model's name").required(),
	row("api_key", secret, "the bearer token of each request"),
	dictOf("headers", secret, "Name", "more headers of each request"),
	row("system", text, "the system prompt"),
	row("system_file", file, "a file with the system prompt, read for each message"),
	row("temperature", number, "temperature, as the model defines it").to(10),
	row("max_tokens", integer, "tokens of an answer; 0 is the endpoint's own limit").or("0"),
	&field{name: "extra", kind: dict, elem: &field{kind: anything}, keys: "name", doc: "more members of the request"},
	row("history", integer, "earlier messages of the context to send; -1 sends none").from(-1).or("20"),
	row("images", boolean, "the model accepts images").or("false"),
	row("files", boolean, "the model accepts files").or("false"),
	row("flush_every", duration, "how long tokens are gathered into a chunk").or("100ms"),
	row("timeout", duration, "how long the model may be silent").or("2m"),
	row("retries", integer, "how often a request is repeated before the first token; 0 is never").to(100).or("5"),
	row("concurrency", integer, "requests at a time, more wait; 0 is any number").or("0"),
	&field{name: "tools", kind: list, elem: &field{kind: object, fields: toolFields}, doc: "MCP servers whose tools the model may call"},
	row("max_tool_calls", integer, "calls of tools in one turn").or("20"),
	egress,
}

var proxyFields = []*field{
	row("agent", text, "its host or a card's URL, as for `parley send -a`").required(),
	row("version", word, "speak this version, whatever the card says").of(slices.Sorted(slices.Values(dialect.Versions))...),
	&field{
		name: "bindings", kind: list, elem: &field{kind: word, words: []string{"jsonrpc", "rest", "grpc"}}, def: "the card's order",
		doc: "bindings to use, in order of preference",
	},
	row("bearer", secret, "bearer token of each request"),
	row("api_key", secret, "API key of each request"),
	row("basic", secret, "`user:password` of each request"),
	dictOf("headers", secret, "Name", "more headers of each request"),
	listOf("metadata", text, "members of the request's metadata that are passed on; headers of the caller never are").or("all"),
	listOf("verify", file, "files of keys, one of which must have signed its card"),
	row("push", boolean, "ask the agent to call back, for tasks that take long").or("false"),
	row("push_url", link, "where the agent reaches this server").or("`public_url`"),
	row("poll", duration, "how often to look at a task if the agent cannot stream").or("2s"),
	egress,
}

var mcpFields = []*field{
	listOf("command", text, "a server program, over standard input and output").asWritten(),
	dictOf("env", text, "NAME", "variables of the program").asWritten(),
	row("dir", path, "directory to run it in").or("the file's"),
	row("url", link, "or the server's URL, for streamable HTTP"),
	dictOf("headers", secret, "Name", "headers of each request"),
	listOf("tools", text, "offer only these of its tools").or("all"),
	row("timeout", duration, "longest call without progress").or("5m"),
	egress,
}

var toolFields = append([]*field{row("name", text, "name that the model sees").required()}, mcpFields...)

var egress = group("egress", "which addresses its requests may go to; without it any but link-local ones and cloud metadata",
	listOf("allow", text, "hosts, as in `push.allow`").checkedAs("egress-allow"),
	listOf("deny", text, "forbidden hosts").checkedAs("egress-deny"),
	row("proxy", address, "URL of an HTTP proxy").checkedAs("egress-proxy"),
)

var cardFields = []*field{
	row("name", text, "name shown to people").or("the agent's name"),
	row("description", text, "what it does"),
	row("version", text, "the agent's, such as `\"1.2\"`"),
	row("documentation_url", link, "where people read about it"),
	row("icon_url", link, "a picture"),
	row("organization", text, "who provides it"),
	row("organization_url", link, "its website"),
	listOf("input_modes", text, "media types it takes, such as `text/plain`"),
	listOf("output_modes", text, "media types it gives"),
	&field{name: "skills", kind: list, elem: &field{kind: object, fields: skillFields}, doc: "what it can do"},
	row("streaming", boolean, "offer streams").or("true"),
	row("push_notifications", boolean, "offer webhooks").or("`push.enabled`"),
	row("extended", file, "JSON file of the extended card, for callers with credentials"),
}

var skillFields = []*field{
	row("id", text, "unique in the card").required(),
	row("name", text, "name shown to people").required(),
	row("description", text, "what it does").required(),
	listOf("tags", text, "keywords"),
	listOf("examples", text, "things to say to it"),
	listOf("input_modes", text, "media types it takes").or("the card's"),
	listOf("output_modes", text, "media types it gives").or("the card's"),
	listOf("scopes", text, "scopes that a caller needs to see and use it"),
	row("input_schema", anything, "JSON Schema of its arguments: [skills-v1](extensions/skills-v1.md)"),
}

// root is the whole file.
var root = &field{kind: object, fields: append(append([]*field{
	row("version", integer, "the format's version: 1").from(1).to(1).required(),
}, serverFields...),
	&field{
		name: "agents", kind: dict, need: true, keys: "name", elem: &field{kind: object, fields: agentFields},
		doc: "the agents, by names of a-z, 0-9 and -, as in `/agents/{name}`",
	},
)}
