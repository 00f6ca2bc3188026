package conformance

// The behaviour matrix: one suite, in the terms of the v1.0 model, over every
// dialect and binding there is, by our own client against our own server over
// a real socket. A dialect that is added to the tables is in the matrix; a
// behaviour is a row of matrixRows. make matrix prints it.

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/dialect"
)

var printMatrix = flag.Bool("matrix", false, "print the behaviour matrix")

// matrixVersions are the protocol versions in the order people know them.
var matrixVersions = []string{"0.1", "0.2", "0.3", "1.0", "1.1"}

// caller is a client that speaks one version over one binding.
type caller struct {
	*a2aclient.Client
	version string
	dialect dialect.Dialect
	url     string         // of the agent
	quiet   func() *caller // the same to an agent without push notifications
}

func (p *caller) old() bool { return p.dialect == dialect.V01 }

// protoForm reports whether the wire is proto-JSON of 0.3, or its gRPC.
func (p *caller) protoForm() bool {
	return p.dialect == dialect.V03 && p.Interface().ProtocolBinding != a2a.BindingJSONRPC
}

// state is what a dialect makes of a state it lacks.
func (p *caller) state(s a2a.TaskState) a2a.TaskState {
	switch {
	case p.old() && s == a2a.TaskStateRejected:
		return a2a.TaskStateFailed
	case p.old() && s == a2a.TaskStateAuthRequired:
		return a2a.TaskStateInputRequired
	}
	return s
}

var matrixRows = []struct {
	name string
	run  func(t *testing.T, p *caller)
}{
	{"send", matrixSend},
	{"stream", matrixStream},
	{"get", matrixGet},
	{"list", matrixList},
	{"cancel", matrixCancel},
	{"subscribe, running", matrixSubscribe},
	{"subscribe, finished", matrixSubscribeFinished},
	{"multi-turn", matrixMultiTurn},
	{"authorization", matrixAuth},
	{"direct message", matrixMessage},
	{"return immediately", matrixReturn},
	{"errors", matrixErrors},
	{"finished task", matrixFinished},
	{"part kinds out", matrixPartsOut},
	{"part kinds in", matrixPartsIn},
	{"unicode", matrixUnicode},
	{"1 MiB parts", matrixLarge},
	{"push", matrixPush},
	{"push with a message", matrixPushAlong},
	{"push, not offered", matrixNoPush},
	{"extended card", matrixExtendedCard},
	{"generations", matrixGenerations},
}

// TestMatrix runs all rows for all pairs.
func TestMatrix(t *testing.T) {
	card := agent.DemoCard()
	card.DefaultInputModes = []string{"*/*"}
	card.Capabilities.ExtendedAgentCard = new(bool)
	*card.Capabilities.ExtendedAgentCard = true
	extended := card
	extended.Description = "for those who are known"
	url := start(t, card, matrixAgent{agent.Demo()}, &parley.Options{
		ExtendedCard: &extended, Egress: &a2aserver.Egress{Loopback: true},
	})
	quiet := start(t, withoutPush(), agent.Demo(), nil)

	var mu sync.Mutex
	green := map[string]bool{}
	type pair struct{ version, binding string }
	var pairs []pair
	t.Run("pairs", func(t *testing.T) {
		for _, version := range matrixVersions {
			d, ok := dialect.ParseVersion(version)
			if !ok {
				t.Fatalf("version %s is not spoken", version)
			}
			for _, binding := range d.Bindings() {
				if version == "0.2" && binding != a2a.BindingJSONRPC {
					continue // its other bindings never worked: they are 0.3's
				}
				pairs = append(pairs, pair{version, binding})
				t.Run(version+" "+binding, func(t *testing.T) {
					t.Parallel()
					dial := func(url string) *caller {
						c, err := a2aclient.Dial(t.Context(), url, &a2aclient.Options{Version: version, Bindings: []string{binding}})
						if err != nil {
							t.Fatal(err)
						}
						if got := c.Interface().ProtocolBinding; got != binding {
							t.Fatalf("the client uses %s", got)
						}
						return &caller{Client: c, version: version, dialect: d, url: url}
					}
					c := dial(url)
					c.quiet = func() *caller { return dial(quiet) }
					for _, row := range matrixRows {
						ok := t.Run(row.name, func(t *testing.T) { row.run(t, c) })
						mu.Lock()
						green[row.name+version+binding] = ok
						mu.Unlock()
					}
				})
			}
		}
	})
	if !*printMatrix {
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%-22s", "")
	for _, p := range pairs {
		fmt.Fprintf(&b, " %-9s", p.version)
	}
	fmt.Fprintf(&b, "\n%-22s", "")
	for _, p := range pairs {
		fmt.Fprintf(&b, " %-9s", p.binding)
	}
	for _, row := range matrixRows {
		fmt.Fprintf(&b, "\n%-22s", row.name)
		for _, p := range pairs {
			mark := "FAIL"
			if green[row.name+p.version+p.binding] {
				mark = "ok"
			}
			fmt.Fprintf(&b, " %-9s", mark)
		}
	}
	fmt.Fprintf(&b, "\n%d behaviours over %d pairs of dialect and binding\n", len(matrixRows), len(pairs))
	_, _ = os.Stdout.WriteString(b.String())
}

// matrixAgent is the demo agent, which can also give back what it gets.
type matrixAgent struct{ agent.Agent }

func (a matrixAgent) Run(ctx context.Context, t *agent.Turn) error {
	if t.Text() != "parts" {
		return a.Agent.Run(ctx, t)
	}
	if err := t.Artifact("parts").Last(t.Message().Parts...); err != nil {
		return err
	}
	return t.Complete("")
}

// task sends a message that begins a task.
func (p *caller) task(t *testing.T, text string) *a2a.Task {
	t.Helper()
	return p.deliver(t, &a2a.Message{Parts: []*a2a.Part{a2a.TextPart(text)}})
}

// deliver sends a message to which a task is the answer.
func (p *caller) deliver(t *testing.T, m *a2a.Message) *a2a.Task {
	t.Helper()
	res, err := p.SendMessage(t.Context(), p.request(m))
	if err != nil {
		t.Fatal(err)
	}
	if res.Task == nil {
		t.Fatalf("the answer is no task but %v", res.Message)
	}
	return res.Task
}

func (p *caller) request(m *a2a.Message) *a2a.SendMessageRequest {
	m.Role = a2a.RoleUser
	if m.MessageID == "" {
		m.MessageID = newMessageID()
	}
	return &a2a.SendMessageRequest{Message: m}
}

// followUp is a message to a task.
func followUp(to *a2a.Task, text string) *a2a.Message {
	return &a2a.Message{TaskID: to.ID, ContextID: to.ContextID, Parts: []*a2a.Part{a2a.TextPart(text)}}
}

func wantState(t *testing.T, task *a2a.Task, want a2a.TaskState) {
	t.Helper()
	if task.Status.State != want {
		t.Fatalf("the task is %v, want %v: %s", task.Status.State, want, task.AppendJSON(nil))
	}
}

// artifactText joins the text of an artifact of that name.
func artifactText(task *a2a.Task, name string) (text string) {
	for _, a := range task.Artifacts {
		if a.Name == name {
			for _, part := range a.Parts {
				text += part.Text
			}
		}
	}
	return text
}

func wantCode(t *testing.T, err error, want a2a.Code) {
	t.Helper()
	var e *a2a.Error
	if !errors.As(err, &e) || e.Code != want {
		t.Errorf("the error is %v, want %v", err, want)
	}
}
