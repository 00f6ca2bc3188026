package telemetry

import "go.opentelemetry.io/otel/attribute"

// Scope is the name of the instrumentation: of every tracer and meter of Parley.
const Scope = "github.com/parley-a2a/parley"

// Names of spans. A call of an A2A operation has the operation's 1.0 name,
// whatever dialect and binding the call came in, as a client's and as a server's
// span.
const (
	SpanInvokeAgent = "invoke_agent" // + " " + the agent's name
	SpanStep        = "step"         // + " " + the step's name
	SpanChat        = "chat"         // + " " + the model
	SpanExecuteTool = "execute_tool" // + " " + the tool's name: of a model's call
	SpanCallTool    = "tools/call"   // + " " + the tool's name: of the request to an MCP server
	SpanHTTP        = "POST"         // of the request to an HTTP service
	SpanWebhook     = "webhook deliver"
)

// Names of the spans of calls that are refused before their operation is known, besides the
// known methods of HTTP. Those of RPC are also values of RPCSystem.
const (
	SpanJSONRPC = "jsonrpc"
	SpanGRPC    = "grpc"
	SpanOther   = "HTTP" // a method that is not known
)

// Other stands for a value that no convention names.
const Other = "_OTHER"

// Names of events of a run's span.
const (
	EventAsk          = "ask"
	EventAuthenticate = "authenticate"
	EventAnswered     = "answered" // with WaitedMS
)

// Names of events of a client's span.
const (
	EventResume = "resume" // a stream was cut and is requested again: with ResumedFrom, ErrorType
	EventRetry  = "retry"  // a message got no answer and is sent again: with ErrorType
)

// Attributes of the semantic conventions for generative AI
// (open-telemetry/semantic-conventions-genai, docs/gen-ai/a2a.md at 6718089 and
// gen-ai-agent-spans.md at e8fc575), and of the stable ones that those refer to.
const (
	A2AMethodName       = attribute.Key("a2a.method.name")
	A2AMessageID        = attribute.Key("a2a.message.id")
	A2AReferenceTaskIDs = attribute.Key("a2a.message.reference_task_ids")
	A2AProtocolVersion  = attribute.Key("a2a.protocol.version")
	A2ATaskID           = attribute.Key("a2a.task.id")
	A2ATaskState        = attribute.Key("a2a.task.state") // as TASK_STATE_WORKING
	A2ATenant           = attribute.Key("a2a.tenant")     // of the request

	GenAIAgentDescription = attribute.Key("gen_ai.agent.description")
	GenAIAgentName        = attribute.Key("gen_ai.agent.name")
	GenAIAgentVersion     = attribute.Key("gen_ai.agent.version")
	GenAIConversationID   = attribute.Key("gen_ai.conversation.id") // the contextId
	GenAIInputMessages    = attribute.Key("gen_ai.input.messages")  // only with Content
	GenAIFinishReasons    = attribute.Key("gen_ai.response.finish_reasons")
	GenAIFirstChunk       = attribute.Key("gen_ai.response.time_to_first_chunk") // seconds
	GenAIInputTokens      = attribute.Key("gen_ai.usage.input_tokens")
	GenAIMaxTokens        = attribute.Key("gen_ai.request.max_tokens")
	GenAIOperationName    = attribute.Key("gen_ai.operation.name")
	GenAIOutputMessages   = attribute.Key("gen_ai.output.messages") // only with Content
	GenAIOutputTokens     = attribute.Key("gen_ai.usage.output_tokens")
	GenAIOutputType       = attribute.Key("gen_ai.output.type")
	GenAIProviderName     = attribute.Key("gen_ai.provider.name")
	GenAIRequestModel     = attribute.Key("gen_ai.request.model")
	GenAIRequestStream    = attribute.Key("gen_ai.request.stream")
	GenAIResponseID       = attribute.Key("gen_ai.response.id")
	GenAIResponseModel    = attribute.Key("gen_ai.response.model")
	GenAITemperature      = attribute.Key("gen_ai.request.temperature")
	GenAIToolArguments    = attribute.Key("gen_ai.tool.call.arguments") // only with Content
	GenAIToolCallID       = attribute.Key("gen_ai.tool.call.id")
	GenAIToolName         = attribute.Key("gen_ai.tool.name")
	GenAIToolResult       = attribute.Key("gen_ai.tool.call.result") // only with Content
	GenAIToolType         = attribute.Key("gen_ai.tool.type")

	MCPMethodName      = attribute.Key("mcp.method.name")
	MCPProtocolVersion = attribute.Key("mcp.protocol.version")
	MCPSessionID       = attribute.Key("mcp.session.id")

	ClientAddress = attribute.Key("client.address")
	ClientPort    = attribute.Key("client.port")
	ErrorType     = attribute.Key("error.type")
	HTTPMethod    = attribute.Key("http.request.method")
	HTTPResend    = attribute.Key("http.request.resend_count") // from the second attempt on
	HTTPStatus    = attribute.Key("http.response.status_code")
	// HTTPMethodOriginal is the method of a request whose HTTPMethod is Other.
	HTTPMethodOriginal = attribute.Key("http.request.method_original")
	RPCMethod          = attribute.Key("rpc.method")      // only as Other
	RPCSystem          = attribute.Key("rpc.system.name") // of a call whose operation is not known
	RPCStatus          = attribute.Key("rpc.response.status_code")
	ServerAddress      = attribute.Key("server.address")
	ServerPort         = attribute.Key("server.port")
	Transport          = attribute.Key("network.transport") // tcp, pipe
	URLFull            = attribute.Key("url.full")          // without user, password and query
)

// Attributes of Parley's own, for which there is no convention.
const (
	Binding     = attribute.Key("parley.binding")             // as in a card: JSONRPC, HTTP+JSON, GRPC
	Dialect     = attribute.Key("parley.dialect")             // the version that the client speaks, such as 0.3
	Code        = attribute.Key("parley.error.code")          // a2a.Code by name, the same on each binding; with ErrorType
	Replayed    = attribute.Key("parley.replayed")            // the message had been sent before; this call changed nothing
	ResumedFrom = attribute.Key("parley.stream.resumed_from") // the event id after which a stream continues
	Events      = attribute.Key("parley.stream.events")       // how many a stream sent

	AgentKind = attribute.Key("parley.agent.kind") // func, exec, http, openai, proxy, mcp
	Attempt   = attribute.Key("parley.attempt")    // of the turn, from 1
	Turn      = attribute.Key("parley.turn")       // of the task, from 1
	Lost      = attribute.Key("parley.lost")       // the process was killed, and the next one wrote the span
	TakenOver = attribute.Key("parley.taken_over") // the run continues that of a lost process

	Generation     = attribute.Key("parley.generation")      // of the task, with the event
	WebhookAttempt = attribute.Key("parley.webhook.attempt") // to deliver the event, from 1
	WebhookConfig  = attribute.Key("parley.webhook.config")  // the push configuration's id
	WebhookEvent   = attribute.Key("parley.webhook.event")   // the event's id in the task's stream
	WebhookVerdict = attribute.Key("parley.webhook.verdict") // delivered, again, given up, disabled

	StepIndex    = attribute.Key("parley.step.index")    // of the steps of its name, from 1
	StepReplayed = attribute.Key("parley.step.replayed") // its recorded result was returned
	WaitedMS     = attribute.Key("parley.waited_ms")
)
