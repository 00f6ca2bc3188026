package agent_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine"
	"github.com/parley-a2a/parley/store"
)

// To test an agent, call an engine that runs it: no network is needed. The engine wants
// messages to have ids, which a2aclient would set.
func Example_testing() {
	booker := agent.Func(func(ctx context.Context, t *agent.Turn) error {
		city, err := t.Ask(ctx, "Which city?")
		if err != nil {
			return err
		}
		return t.Complete("booked in " + city.Text())
	})
	card := a2a.Card{Name: "booker"} // what it has is enforced: no streams here
	e := engine.New(store.NewMemory(), booker, &card, nil)
	ctx, stop := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- e.Run(ctx) }()

	message := a2a.UserText("a journey, please")
	message.MessageID = "1"
	res, err := e.SendMessage(ctx, &a2a.SendMessageRequest{Message: message})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Task.Status.State, res.Task.Status.Message.Text())

	answer := a2a.UserText("Paris")
	answer.MessageID, answer.TaskID = "2", res.Task.ID
	res, err = e.SendMessage(ctx, &a2a.SendMessageRequest{Message: answer})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Task.Status.State, res.Task.Status.Message.Text())

	stop()
	fmt.Println(<-ran)
	// Output:
	// TASK_STATE_INPUT_REQUIRED Which city?
	// TASK_STATE_COMPLETED booked in Paris
	// <nil>
}

// The smallest agent: a direct answer, no task.
func ExampleFunc() {
	greeter := agent.Func(func(ctx context.Context, t *agent.Turn) error {
		return t.Reply("hello " + t.Text())
	})
	serve(store.NewMemory(), greeter, func(s a2a.Service) {
		fmt.Println(say(s, "", "Ann").Message.Text())
	})
	// Output: hello Ann
}

// A report, written line by line; others see each line when it is on disk.
func ExampleTurn_Artifact() {
	reporter := agent.Func(func(ctx context.Context, t *agent.Turn) error {
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
	serve(store.NewMemory(), reporter, func(s a2a.Service) {
		report := say(s, "", "report").Task.Artifacts[0]
		fmt.Println(report.Name)
		for _, p := range report.Parts {
			fmt.Print(p.Text)
		}
	})
	// Output:
	// report.md
	// # Report
	// - item 1
	// - item 2
	// - item 3
}

// A question in the middle of the work. Waiting costs nothing and survives a
// restart.
func ExampleTurn_Ask() {
	booker := agent.Func(func(ctx context.Context, t *agent.Turn) error {
		city, err := t.Ask(ctx, "Which city?")
		if err != nil {
			return err // cancelled or draining
		}
		return t.Reply("booked in " + city.Text())
	})
	serve(store.NewMemory(), booker, func(s a2a.Service) {
		task := say(s, "", "a journey").Task
		fmt.Println(task.Status.State, task.Status.Message.Text())
		task = say(s, task.ID, "Paris").Task
		fmt.Println(task.Status.State, task.Status.Message.Text())
	})
	// Output:
	// TASK_STATE_INPUT_REQUIRED Which city?
	// TASK_STATE_COMPLETED booked in Paris
}

// An authorization in the middle of the work: by a login in a browser, or by a
// token in the client's next message, of which nothing is kept.
func ExampleTurn_AuthenticateBy() {
	// login returns when somebody has logged in; here nobody does.
	login := func(ctx context.Context) (token string, err error) {
		<-ctx.Done()
		return "", context.Cause(ctx)
	}
	caller := agent.Func(func(ctx context.Context, t *agent.Turn) error {
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
		return t.Reply(fmt.Sprintf("done with a token of %d bytes", len(token)))
	})
	serve(store.NewMemory(), caller, func(s a2a.Service) {
		task := say(s, "", "call it").Task
		fmt.Println(task.Status.State, task.Status.Message.Text())
		task = say(s, task.ID, "t0ken").Task
		fmt.Println(task.Status.State, task.Status.Message.Text())
	})
	// Output:
	// TASK_STATE_AUTH_REQUIRED Log in at https://login.example/device, or send a token.
	// TASK_STATE_COMPLETED done with a token of 5 bytes
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

// say sends a text and returns the answer. taskID is "" for a new task.
func say(s a2a.Service, taskID, text string) *a2a.SendMessageResponse {
	m := a2a.UserText(text)
	m.MessageID, m.TaskID = rand.Text(), taskID
	res, err := s.SendMessage(context.Background(), &a2a.SendMessageRequest{Message: m})
	if err != nil {
		log.Fatal(err)
	}
	return res
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
