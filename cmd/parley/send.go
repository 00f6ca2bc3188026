package main

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/parts"
	"github.com/parley-a2a/parley/internal/plain"
)

func newSend(a *app) *cobra.Command {
	var (
		said  parts.List
		push  pushFlags
		save  saveFlags
		skill skillFlags
	)
	cmd := a.client(&cobra.Command{
		Use:   "send [message]",
		Short: "Send a message and wait for the answer",
		Long: `Send a message, and wait until its task has finished or needs you. The message is
the argument; without one, or with -, it is read from standard input. --text, --file
and --data add parts in the order given.`,
		Example: `  parley send "echo hello"
  git diff | parley send
  parley send -a agents.example.org --stream "stream 20 200"
  parley send "summarize" --file report.pdf --data options.json
  parley send --task-id <id> "Berlin"
  parley send --skill forecast --arg city=Paris --arg days=3
  parley send --async --push-url http://127.0.0.1:8081/ "stream 20 200"`,
		Args: oneMessage,
	}, func(ctx context.Context, args []string) error {
		if err := skill.check(); err != nil {
			return err
		}
		if skill.id != "" && !slices.Contains(a.flags.extensions, a2a.SkillsURI) {
			a.flags.extensions = append(a.flags.extensions, a2a.SkillsURI)
		}
		var list []*a2a.Part
		var err error
		if skill.id == "" || len(args)+len(said) > 0 { // a skill call needs no other content
			if list, err = parts.Of(ctx, args, said, a.stdin); err != nil {
				return err
			}
		}
		conf, err := push.config(a.stdin)
		if err != nil {
			return err
		}
		if err := save.check(); err != nil {
			return err
		}
		if save.dir != "" && a.flags.async {
			return failure.Usagef("--save wants the artifacts, and --async does not wait for them").WithHint("when the task has ended: parley task download <task-id> --save %s", plain.Quote(save.dir))
		}
		return a.send(ctx, list, &skill, conf, &save)
	})
	said.Register(cmd.Flags())
	push.register(cmd.Flags(), "push-")
	skill.register(cmd.Flags())
	save.register(cmd.Flags(), "")
	return cmd
}

func (a *app) send(ctx context.Context, parts []*a2a.Part, skill *skillFlags, push *a2a.TaskPushNotificationConfig, save *saveFlags) error {
	c, err := a.dial(ctx)
	if err != nil {
		return err
	}
	req := &a2a.SendMessageRequest{
		Message: &a2a.Message{
			MessageID: uuid.Must(uuid.NewV7()).String(),
			Role:      a2a.RoleUser,
			ContextID: a.flags.contextID,
			Parts:     parts,
		},
		Metadata: a.flags.metadata,
	}
	if err := skill.call(req.Message, a.card); err != nil {
		return err
	}
	if push != nil {
		a.hidePush(push)
		req.Configuration = &a2a.SendMessageConfiguration{TaskPushNotificationConfig: push}
	}
	if err := a.print.Sending(req.Message); err != nil {
		return err
	}
	a.sending = true
	return a.onTask(ctx, c, a.flags.taskID, func(id string) error {
		req.Message.TaskID = id
		return a.deliver(ctx, c, req, save)
	})
}

// deliver sends a message, and shows the result.
func (a *app) deliver(ctx context.Context, c *a2aclient.Client, req *a2a.SendMessageRequest, save *saveFlags) error {
	if a.flags.async {
		if req.Configuration == nil {
			req.Configuration = new(a2a.SendMessageConfiguration)
		}
		req.Configuration.ReturnImmediately = true
		resp, err := c.SendMessage(ctx, req)
		if err != nil {
			return err
		}
		return a.sent(resp)
	}
	f := a.follower(c)
	if a.flags.stream {
		if !f.Streams {
			a.stderr.Note("Note", "the agent's card offers no streams: polling instead")
		}
		return a.stream(ctx, c, f.Send(ctx, req), save)
	}
	resp, err := a.await(ctx, c, f.Send(ctx, req))
	if err != nil {
		return err
	}
	artifacts := ofMessage(resp.Message)
	if resp.Task != nil {
		artifacts = resp.Task.Artifacts
	}
	return a.showAndKeep(func() error { return a.sent(resp) }, save, artifacts)
}

func (a *app) sent(r *a2a.SendMessageResponse) error {
	if err := a.print.Sent(r); err != nil {
		return err
	}
	if r.Task != nil {
		a.outcome(r.Task)
	}
	return nil
}

func (a *app) follower(c *a2aclient.Client) *a2aclient.Follower {
	f := c.Follower()
	f.Poll, f.Logger = a.flags.pollInterval, a.log
	return f
}
