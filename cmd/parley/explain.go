package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/output"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/serve"
)

// explain turns the error that stopped a client command into a failure. Errors of the protocol
// keep their name; the others are the program's own conditions, by Appendix D of a2a-cli. ctx
// is the command's.
func (a *app) explain(ctx context.Context, err error) *failure.Error {
	if f, ok := errors.AsType[*failure.Error](unwritten(err)); ok {
		return f
	}
	switch cause := context.Cause(ctx); {
	case cause == nil:
	case errors.Is(cause, errTimeout):
		return a.timedOut(err)
	default:
		return a.interrupted(err)
	}
	if address, ok := errors.AsType[*a2aclient.AddressError](err); ok {
		f := failure.New(failure.CodeUnreachable, address.Reason, err)
		if a.from != nil {
			return f.WithHint("the catalog's word is not enough for that; if you trust it, name it yourself: -a %s", plain.Quote(plain.Line(a.flags.agentCard)))
		}
		return f.WithHint("if you trust it, say so yourself: with -a and that address, or with a copy of the card that you have read: %s > card.json, then -a ./card.json", a.commands.Line("card get -o json"))
	}
	if card, ok := errors.AsType[*a2aclient.CardError](err); ok {
		return a.explainCard(card)
	}
	if e, ok := errors.AsType[*a2a.Error](err); ok {
		return a.explainProtocol(e)
	}
	if lost, ok := errors.AsType[*a2aclient.TransportError](err); ok {
		f := failure.New(failure.CodeUnreachable, lost.Error(), err)
		if a.last != nil && !rests(a.last.Status.State) {
			f.Message = fmt.Sprintf("the connection was lost; %s, last seen as %s, may continue without it: %s", named(a.last), a.last.Status.State, f.Message)
			return f.WithHint("%s", a.again())
		}
		if !lost.Unreachable && a.last == nil && a.sending {
			return a.hintReceived(f)
		}
		if at := a.via; lost.Unreachable && at != nil && strings.Contains(at.URL, lost.Host) && !strings.Contains(a.flags.agentCard, lost.Host) {
			return f.WithHint("the agent's card says to call %s: if that is wrong, its operator must correct the card, or you a copy of it: %s > card.json, then -a ./card.json", plain.Quote(at.URL), a.commands.Line("card get -o json"))
		}
		return a.hintUnreachable(f)
	}
	return failure.New(failure.CodeInternal, err.Error(), err).WithHint("add --debug to see what was exchanged")
}

// hintReceived says what to do about a message without an answer.
func (a *app) hintReceived(f *failure.Error) *failure.Error {
	return f.WithHint("the agent may have received the message: look for its task before you send it again: %s", a.commands.Line("task list"))
}

func (a *app) timedOut(cause error) *failure.Error {
	limit := a.flags.timeout.String()
	if a.last == nil {
		f := failure.New(failure.CodeTimeout, fmt.Sprintf("no answer within --timeout %s", limit), cause)
		if a.sending {
			return a.hintReceived(f)
		}
		return f.WithHint("raise --timeout, or add --debug to see what happens")
	}
	return failure.New(failure.CodeTimeout, fmt.Sprintf("%s is still %s after --timeout %s; it continues", named(a.last), a.last.Status.State, limit), cause).WithHint("%s", a.commands.Follow(a.last.ID))
}

// named names a task, of which an agent need not tell the context.
func named(t *a2a.Task) string {
	if t.ContextID == "" {
		return "task " + t.ID
	}
	return fmt.Sprintf("task %s (context %s)", t.ID, t.ContextID)
}

func (a *app) interrupted(cause error) *failure.Error {
	switch {
	case a.last == nil && a.sending:
		return a.hintReceived(failure.New(failure.CodeInterrupted, "interrupted before the agent answered", cause))
	case a.last == nil, rests(a.last.Status.State): // such as at the prompt of a chat
		return failure.New(failure.CodeInterrupted, "interrupted", cause)
	}
	return failure.New(failure.CodeInterrupted, fmt.Sprintf("interrupted; %s continues, last seen as %s", named(a.last), a.last.Status.State), cause).WithHint("%s", a.commands.Follow(a.last.ID))
}

// again returns the command that continues with the task of this invocation.
func (a *app) again() string {
	if a.card == nil || a.card.Capabilities.Streaming == nil || !*a.card.Capabilities.Streaming {
		return a.commands.Follow(a.last.ID)
	}
	if a.flags.stream {
		return a.commands.Line("task subscribe", "--stream", output.Argument(a.last.ID))
	}
	return a.commands.Line("task subscribe", output.Argument(a.last.ID))
}

func (a *app) explainCard(e *a2aclient.CardError) *failure.Error {
	switch e.Kind {
	case a2aclient.CardInvalid:
		return failure.New(failure.CodeCardInvalid, e.Error(), e).WithHint("give the address of an A2A agent, or the full URL of its card")
	case a2aclient.CardUnreachable:
		text, _, _ := strings.Cut(e.Error(), " (possibly because of ") // x509's guess, in nested quotes; the hint explains it
		f := failure.New(failure.CodeUnreachable, text, e)
		if said, ok := errors.AsType[*a2a.Error](e.Err); ok { // a server is running there
			return f.WithHint("%s", a.protocolHint(said))
		}
		return a.hintUnreachable(f)
	case a2aclient.CardForbidden:
		return a.credentials(e.Error(), e)
	case a2aclient.CardRefused:
		f := failure.New(codeSignature, strings.ReplaceAll(e.Error(), "\n", "; "), e)
		return f.WithHint("--card-trust names the keys that cards must be signed with: ask whoever runs the agent whether it has new ones, and do not take them from where the card is")
	}
	return failure.New(failure.CodeCardNotFound, e.Error(), e).
		WithHint("give a host, the base URL of an agent, the full URL of its card, or a card's file as ./card.json")
}

func (a *app) hintUnreachable(f *failure.Error) *failure.Error {
	if hint := failure.NetworkHint(f.Cause); hint != "" {
		return f.WithHint("%s", hint)
	}
	if strings.Contains(f.Message, serve.DefaultListen) || strings.Contains(f.Message, "localhost:7275") {
		return f.WithHint("is it running? %s serve starts one there", a.around.itself)
	}
	if proxy := a.proxy.Load(); proxy != nil {
		return f.WithHint("calls to it go through the proxy %s, as HTTPS_PROXY, HTTP_PROXY and NO_PROXY say: is that right?", proxy.Host)
	}
	return f.WithHint("is it running, and is the address right? --debug shows what was tried")
}

// explainProtocol keeps the protocol's name for an error. It has none for missing or refused
// credentials, which get a name of this program.
func (a *app) explainProtocol(e *a2a.Error) *failure.Error {
	if e.Code == a2a.CodeUnauthenticated || e.Code == a2a.CodePermissionDenied {
		f := a.credentials(e.Message, e)
		if scope := e.Meta["scope"]; e.Code == a2a.CodePermissionDenied && scope != "" {
			f = failure.New(failure.CodeAuthFailed, "the agent does not let you do that: "+e.Message, e).
				WithHint("your credentials lack the scope %s: ask the operator of the agent for some that have it", plain.Quote(scope))
		}
		f.A2ACode = e.PeerCode
		return f
	}
	f := failure.New(codeOf(e), e.Message, e)
	if f.Message == "" {
		f.Message = dialect.ErrorRowOf(e.Code).Message
	}
	for _, v := range e.Fields {
		if e.Peer && !strings.Contains(f.Message, v.Description) {
			f.Message += "; " + v.Field + ": " + v.Description
		}
	}
	f.A2ACode = e.PeerCode
	f.Hint = a.protocolHint(e)
	if t := a.last; t != nil && !rests(t.Status.State) {
		f.Message = fmt.Sprintf("%s, last seen as %s: %s", named(t), t.Status.State, f.Message)
		f.Hint = "it may continue: " + a.again()
	}
	if a.flags.taskID != "" && e.Peer { // a2a-cli §8.1
		f.Hint = strings.TrimPrefix(f.Hint+"; --debug shows the underlying error", "; ")
	}
	return f
}

// beyond are the failures for codes of package a2a that have no name in the protocol.
var beyond = map[a2a.Code]string{
	a2a.CodeRateLimited:      failure.CodeRateLimited,
	a2a.CodeUnavailable:      failure.CodeUnavailable,
	a2a.CodeTooLarge:         failure.CodeRequestTooLarge,
	a2a.CodeUnsupportedMedia: failure.CodeMediaType,
	a2a.CodeMethodNotAllowed: failure.CodeMethodNotAllowed,
	a2a.CodeConflict:         failure.CodeConflict,
	a2a.CodeLoop:             failure.CodeLoop,
}

// codeOf returns the protocol's name of an error, or this program's if there is none (a2a-cli
// §11.4).
func codeOf(e *a2a.Error) string {
	if ours, ok := beyond[e.Code]; ok {
		return ours
	}
	return e.Code.String()
}

func (a *app) credentials(message string, cause error) *failure.Error {
	given := a.flags.credentials() || len(a.certificate) > 0 || a.signedIn != nil && a.signedIn.Used()
	for name := range a.flags.svcParams {
		given = given || slices.Contains([]string{"Authorization", "Cookie", "X-Api-Key"}, name)
	}
	if given {
		return failure.New(failure.CodeAuthFailed, "the agent refused the credentials: "+message, cause).
			WithHint("check that they are for this agent and have not expired; %s", a.wanted())
	}
	return failure.New(failure.CodeCredentialsMissing, "the agent requires credentials: "+message, cause).WithHint("%s", a.wanted())
}

// wanted says which credentials the card requires and how to give them.
func (a *app) wanted() string {
	var ways []string
	if a.card != nil {
		for _, s := range a.card.SecuritySchemes {
			switch {
			case s.APIKey != nil:
				ways = append(ways, "an API key: set A2ACLI_API_KEY, or --api-key")
			case s.MutualTLS != nil:
				ways = append(ways, "a client certificate: --client-cert and --client-key, or A2ACLI_CLIENT_CERT and A2ACLI_CLIENT_KEY")
			case s.HTTPAuth != nil && strings.EqualFold(s.HTTPAuth.Scheme, "Basic"):
				ways = append(ways, "a user and password: set A2ACLI_BASIC to user:password, or --basic")
			case s.OAuth2 != nil, s.OpenIDConnect != nil:
				ways = append(ways, "a token: sign in with "+a.commands.Line("auth login")+", or set A2ACLI_BEARER")
			case s.HTTPAuth != nil:
				ways = append(ways, "a bearer token: set A2ACLI_BEARER, or --bearer")
			}
		}
	}
	slices.Sort(ways)
	if ways = slices.Compact(ways); len(ways) == 0 {
		return "set A2ACLI_BEARER or A2ACLI_API_KEY, or give --bearer or --api-key"
	}
	return "it accepts " + strings.Join(ways, "; or ")
}

// protocolHint says what to do about an error of the protocol, or "".
func (a *app) protocolHint(e *a2a.Error) string {
	c := a.commands
	switch e.Code {
	case a2a.CodePushNotificationNotSupported:
		return "wait for the task instead: " + c.Line("task subscribe", "<task-id>")
	case a2a.CodeTaskNotFound:
		if a.webhook != "" {
			return "the task's webhooks: " + c.Line("task push-config list", output.Argument(a.subject))
		}
		return "the tasks you can see: " + c.Line("task list")
	case a2a.CodeTaskNotCancelable:
		if a.subject != "" {
			return "see how it ended: " + c.Get(a.subject)
		}
	case a2a.CodeUnsupportedOperation:
		if a.flags.taskID != "" && a.flags.contextID == "" && e.Peer {
			return "a finished task takes no more messages; see it with " + c.Get(a.flags.taskID) +
				" and go on in its context: " + c.Line("send", "--context-id <id>", `"<message>"`)
		}
		if a.subject != "" {
			return "see the task as it is: " + c.Get(a.subject)
		}
	case a2a.CodeVersionNotSupported:
		if a.flags.version != "" {
			return "leave --a2a-version out to use what both sides know"
		}
		return "see the versions it speaks: " + c.Line("card get")
	case a2a.CodeContentTypeNotSupported:
		if a.card != nil && len(a.card.DefaultInputModes) > 0 {
			return "it accepts " + strings.Join(a.card.DefaultInputModes, ", ") + "; say what a part is with --media-type"
		}
		return "see what it accepts: " + c.Line("card get")
	case a2a.CodeExtensionSupportRequired:
		if a.card != nil {
			for _, x := range a.card.Capabilities.Extensions {
				if x.Required {
					return "if you know the extension, declare it: --extension " + plain.Quote(x.URI)
				}
			}
		}
	case a2a.CodeExtendedAgentCardNotConfigured:
		return "the public card: " + c.Line("card get")
	case a2a.CodeUnavailable, a2a.CodeRateLimited:
		if e.RetryAfter > 0 {
			return "try again in " + (e.RetryAfter + time.Second - 1).Truncate(time.Second).String()
		}
		return "try again later"
	case a2a.CodeLoop:
		return "agents call each other in a circle: look at which agents this one calls"
	case a2a.CodeInternal, a2a.CodeInvalidAgentResponse, a2a.CodeParse, a2a.CodeMethodNotFound:
		return "--debug shows what was exchanged"
	}
	return ""
}
