package agent_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/parley-a2a/parley/agent"
)

// The smallest agent: a direct answer, no task.
func ExampleFunc() {
	greeter := agent.Func(func(ctx context.Context, t *agent.Turn) error {
		return t.Reply("hello " + t.Text())
	})
	var _ agent.Agent = greeter
}

// A report, written line by line; others see each line when it is on disk.
func ExampleTurn_Artifact() {
	_ = agent.Func(func(ctx context.Context, t *agent.Turn) error {
		if err := t.Status("counting"); err != nil {
			return err
		}
		w := t.Artifact("report.md")
		defer w.Close()
		fmt.Fprintln(w, "# Report")
		for i := range 3 {
			fmt.Fprintf(w, "- item %d\n", i+1)
		}
		return nil
	})
}

// A question in the middle of the work. Waiting costs nothing and survives a
// restart.
func ExampleTurn_Ask() {
	_ = agent.Func(func(ctx context.Context, t *agent.Turn) error {
		city, err := t.Ask(ctx, "Which city?")
		if err != nil {
			return err // cancelled or draining
		}
		return t.Reply("booked in " + city.Text())
	})
}

// An authorization in the middle of the work: by a login in a browser, or by a
// token in the client's next message, of which nothing is kept.
func ExampleTurn_AuthenticateBy() {
	login := func(context.Context) (token string, err error) { return "t0ken", nil }

	_ = agent.Func(func(ctx context.Context, t *agent.Turn) error {
		var token string
		m, err := t.AuthenticateBy(ctx, "Log in at https://login.example/device, or send a token.", func(ctx context.Context) (err error) {
			token, err = login(ctx)
			return err
		})
		if err != nil {
			return agent.Public("there was no authorization", err)
		}
		if m != nil {
			token = m.Text()
		}
		_ = token // for the calls that need it
		return t.Reply("done")
	})
}

// What must not happen twice goes into a step: a run after a crash gets the
// recorded result.
func ExampleStep() {
	charge := func(context.Context) (string, error) { return "receipt-1", nil }

	_ = agent.Func(func(ctx context.Context, t *agent.Turn) error {
		receipt, err := agent.Step(ctx, t, "charge", charge)
		if err != nil {
			return agent.Public("the payment did not go through; try another card", err)
		}
		return t.Reply("paid: " + receipt)
	})
}

// A step that may fail for a moment is tried again; an error that is permanent is not.
func ExampleRetry() {
	tries := 0
	charge := agent.Retry(5, func(context.Context) (string, error) {
		if tries++; tries == 1 {
			return "", errors.New("the line is busy")
		}
		return "", agent.Permanent(errors.New("no such card"))
	})
	_, err := charge(context.Background()) // in a turn: agent.Step(ctx, t, "charge", charge)
	fmt.Println(tries, err)
	// Output: 2 no such card
}

// A program as an agent: the message on its standard input, its output
// streamed back.
func ExampleExec() {
	upper := agent.Exec([]string{"tr", "a-z", "A-Z"}, nil)
	card := agent.ExecCard([]string{"tr", "a-z", "A-Z"})
	fmt.Println(upper != nil, card.Name)
	// Output: true tr
}
