package torture

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/parley-a2a/parley/a2a"
)

// plan is what a client has in mind: a message for the demo agent, how it goes
// on, and what must come of it.
type plan struct {
	kind    string
	text    string  // the message that begins it
	earlier *record // what the message refers to
	answer  string  // to the agent's question; "" leaves it open
	twice   bool    // two answers at once
	cancel  bool    // on the way
	quick   bool    // it is over at once

	end   a2a.TaskState                  // how it ends, if nobody cancels it
	judge func(t *a2a.Task) (bad string) // what the finished task must look like
}

// kinds are weighted: what takes time is what gets killed.
var kinds = []struct {
	weight int
	make   func(rng *rand.Rand, c *client) *plan
}{
	{30, planStream}, {8, planEcho}, {5, planMessage}, {16, planAsk}, {8, planAuth}, {14, planSleep},
	{3, planFail}, {3, planReject}, {4, planFile}, {4, planData}, {5, planRefine}, {20, planSteps},
}

func (c *client) plan() *plan {
	total := 0
	for _, k := range kinds {
		total += k.weight
	}
	for {
		n := c.rng.IntN(total)
		for _, k := range kinds {
			if n -= k.weight; n < 0 {
				if p := k.make(c.rng, c); p != nil {
					return p
				}
				break
			}
		}
	}
}

// word is a text that no other plan has.
func word(rng *rand.Rand) string { return fmt.Sprintf("wörd-%08x", rng.Uint32()) }

func planEcho(rng *rand.Rand, _ *client) *plan {
	w := word(rng)
	return &plan{kind: "echo", text: "echo " + w, quick: true, end: a2a.TaskStateCompleted, judge: oneText("echo", w)}
}

func planMessage(rng *rand.Rand, _ *client) *plan {
	w := word(rng)
	return &plan{kind: "message", text: "message " + w, quick: true, end: a2a.TaskStateCompleted, judge: statusText(w)}
}

func planStream(rng *rand.Rand, _ *client) *plan {
	n, ms := 1+rng.IntN(25), rng.IntN(30)
	var want strings.Builder
	for i := range n {
		fmt.Fprintf(&want, "chunk %d\n", i+1)
	}
	return &plan{
		kind: "stream", text: fmt.Sprintf("stream %d %d", n, ms), cancel: rng.IntN(12) == 0, end: a2a.TaskStateCompleted,
		judge: func(t *a2a.Task) string {
			if len(t.Artifacts) == 1 && len(t.Artifacts[0].Parts) != n {
				return fmt.Sprintf("the artifact has %d chunks in place of %d", len(t.Artifacts[0].Parts), n)
			}
			return allText("stream", want.String())(t)
		},
	}
}

func planAsk(rng *rand.Rand, _ *client) *plan {
	w := word(rng)
	p := &plan{
		kind: "ask", text: "ask how about " + w, answer: "answer " + w, twice: rng.IntN(5) == 0,
		cancel: rng.IntN(12) == 0, end: a2a.TaskStateCompleted,
		judge: func(t *a2a.Task) string {
			// The answer is the client's second message, whichever came first.
			n := 0
			for _, m := range t.History {
				if m.Role == a2a.RoleUser {
					if n++; n == 2 {
						return oneText("answer", m.Text())(t)
					}
				}
			}
			return "it is answered and has no answer in its history"
		},
	}
	if rng.IntN(15) == 0 {
		p.answer, p.twice = "", false // this client never comes back
	}
	return p
}

func planAuth(rng *rand.Rand, _ *client) *plan {
	return &plan{kind: "auth", text: "auth", answer: "here it is: " + word(rng), end: a2a.TaskStateCompleted, judge: oneText("auth", "authorized")}
}

func planSleep(rng *rand.Rand, _ *client) *plan {
	s := fmt.Sprintf("%.2f", 0.02+rng.Float64()*0.5)
	return &plan{kind: "sleep", text: "sleep " + s, cancel: rng.IntN(2) == 0, end: a2a.TaskStateCompleted, judge: oneText("sleep", "slept "+s)}
}

func planFail(rng *rand.Rand, _ *client) *plan {
	w := word(rng)
	return &plan{kind: "fail", text: "fail " + w, quick: true, end: a2a.TaskStateFailed, judge: statusText(w)}
}

func planReject(rng *rand.Rand, _ *client) *plan {
	w := word(rng)
	return &plan{kind: "reject", text: "reject " + w, quick: true, end: a2a.TaskStateRejected, judge: statusText(w)}
}

func planFile(*rand.Rand, *client) *plan {
	return &plan{kind: "file", text: "file", quick: true, end: a2a.TaskStateCompleted, judge: func(t *a2a.Task) string {
		if len(t.Artifacts) != 1 || len(t.Artifacts[0].Parts) != 2 ||
			!strings.HasPrefix(string(t.Artifacts[0].Parts[0].Raw), "\x89PNG\r\n\x1a\n") || t.Artifacts[0].Parts[1].URL != "https://example.com/report.pdf" {
			return "its artifact is not the two files"
		}
		return ""
	}}
}

func planData(*rand.Rand, *client) *plan {
	want := canonical(a2a.JSON(`{"answer":42,"ok":true,"list":[1,"two",null],"nested":{"pi":3.5,"text":"héllo"}}`))
	return &plan{kind: "data", text: "data", quick: true, end: a2a.TaskStateCompleted, judge: func(t *a2a.Task) string {
		if len(t.Artifacts) != 1 || len(t.Artifacts[0].Parts) != 1 || canonical(t.Artifacts[0].Parts[0].Data) != want {
			return "its artifact is not the data"
		}
		return ""
	}}
}

func planRefine(rng *rand.Rand, c *client) *plan {
	if c.echoed == nil {
		return nil
	}
	w := word(rng)
	return &plan{kind: "refine", text: "refine " + w, earlier: c.echoed, quick: true, end: a2a.TaskStateCompleted, judge: oneText("echo", w)}
}

func planSteps(rng *rand.Rand, c *client) *plan {
	if c.w.o.Effects == "" {
		return nil
	}
	n := 1 + rng.IntN(6)
	return &plan{kind: "steps", text: fmt.Sprintf("steps %d", n), cancel: rng.IntN(15) == 0, end: a2a.TaskStateCompleted, judge: func(t *a2a.Task) string {
		if len(t.Artifacts) != 1 || len(t.Artifacts[0].Parts) != n {
			return fmt.Sprintf("its artifact does not have %d steps", n)
		}
		return ""
	}}
}

// oneText judges that the task has one artifact with one text.
func oneText(name, text string) func(*a2a.Task) string {
	return func(t *a2a.Task) string {
		if len(t.Artifacts) == 1 && len(t.Artifacts[0].Parts) != 1 {
			return fmt.Sprintf("its artifact has %d parts", len(t.Artifacts[0].Parts))
		}
		return allText(name, text)(t)
	}
}

func allText(name, text string) func(*a2a.Task) string {
	return func(t *a2a.Task) string {
		if len(t.Artifacts) != 1 {
			return fmt.Sprintf("it has %d artifacts", len(t.Artifacts))
		}
		a := t.Artifacts[0]
		var all strings.Builder
		for _, p := range a.Parts {
			all.WriteString(p.Text)
		}
		if a.Name != name || all.String() != text {
			return fmt.Sprintf("its artifact is %s with %q in place of %s with %q", a.Name, all.String(), name, text)
		}
		return ""
	}
}

func statusText(text string) func(*a2a.Task) string {
	return func(t *a2a.Task) string {
		if got := t.Status.Message.Text(); got != text || len(t.Artifacts) > 0 {
			return fmt.Sprintf("its status says %q in place of %q, and it has %d artifacts", got, text, len(t.Artifacts))
		}
		return ""
	}
}
