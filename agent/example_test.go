package agent_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine"
	"github.com/parley-a2a/parley/store"
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

// Put an action that must not happen twice into a step: a run after a crash gets the
// recorded result. Here the server is stopped behind the step, and started again.
func ExampleStep() {
	charged, behind := 0, make(chan struct{})
	pay := agent.Func(func(ctx context.Context, t *agent.Turn) error {
		receipt, err := agent.Step(ctx, t, "charge", func(context.Context) (string, error) {
			charged++
			return fmt.Sprint("receipt-", charged), nil
		})
		if err != nil {
			return agent.Public("the payment did not go through; try another card", err)
		}
		if t.Attempt() == 1 {
			close(behind)
			<-ctx.Done() // the server stops
			return ctx.Err()
		}
		fmt.Println("attempt", t.Attempt(), "has", receipt)
		return t.Reply("paid: " + receipt)
	})

	tasks := store.NewMemory()
	defer tasks.Close()
	req := &a2a.SendMessageRequest{Message: a2a.UserText("pay"), Configuration: &a2a.SendMessageConfiguration{ReturnImmediately: true}}
	req.Message.MessageID = "1"
	var id string
	serve(tasks, pay, func(s a2a.Service) {
		res, err := s.SendMessage(context.Background(), req)
		if err != nil {
			fmt.Println(err)
			return
		}
		id = res.Task.ID
		<-behind
	})
	serve(tasks, pay, func(s a2a.Service) {
		for _, err := range s.SubscribeToTask(context.Background(), &a2a.SubscribeToTaskRequest{ID: id}) {
			if err != nil {
				break // it has ended
			}
		}
		task, err := s.GetTask(context.Background(), &a2a.GetTaskRequest{ID: id})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(task.Status.State, task.Status.Message.Text())
	})
	fmt.Println("charged", charged, "time")
	// Output:
	// attempt 2 has receipt-1
	// TASK_STATE_COMPLETED paid: receipt-1
	// charged 1 time
}

// serve runs an agent while use does.
func serve(tasks store.Store, ag agent.Agent, use func(a2a.Service)) {
	card := agent.DemoCard() // it streams
	s := engine.New(tasks, ag, &card, nil)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	use(s)
	stop()
	if err := <-ended; err != nil {
		fmt.Println(err)
	}
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
