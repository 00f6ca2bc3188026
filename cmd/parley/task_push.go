package main

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/output"
)

func newTaskPush(a *app) *cobra.Command {
	return group(&cobra.Command{Use: "push-config", Short: "Manage the webhooks of a task"},
		newPushCreate(a), newPushGet(a), newPushList(a), newPushDelete(a))
}

func newPushCreate(a *app) *cobra.Command {
	var f pushFlags
	cmd := a.client(&cobra.Command{
		Use:   "create <task-id> --url <url>",
		Short: "Have the agent post a task's updates to a URL",
		Long: `Have the agent post a task's updates to a URL from now on. A task may have several
webhooks. parley push listen receives them on this machine.`,
		Example: `  parley task push-config create -a localhost:7275 <task-id> --url http://127.0.0.1:8081/
  parley task push-config create <task-id> --url https://hooks.example.org/a2a --token "$TOKEN" --id mine`,
		Args: oneTask,
	}, func(ctx context.Context, args []string) error {
		conf, err := f.config(a.stdin)
		if err != nil {
			return err
		}
		if conf == nil {
			return failure.Usagef("where to? --url is missing")
		}
		a.hidePush(conf)
		return a.withTask(ctx, args[0], func(c *a2aclient.Client, id string) error {
			conf.TaskID = id
			made, err := c.CreateTaskPushNotificationConfig(ctx, conf)
			if err != nil {
				return err
			}
			return output.Push(a.print, made)
		})
	})
	f.register(cmd.Flags(), "")
	return cmd
}

// hidePush keeps the secrets of a configuration out of diagnostics.
func (a *app) hidePush(c *a2a.TaskPushNotificationConfig) {
	a.stderr.Hide(c.Token.Reveal())
	if c.Authentication != nil {
		a.stderr.Hide(c.Authentication.Credentials.Reveal())
	}
}

func newPushGet(a *app) *cobra.Command {
	return a.client(&cobra.Command{
		Use:   "get <task-id> [config-id]",
		Short: "Show a webhook of a task",
		Long: `Show a webhook of a task, as far as the agent tells: credentials are for the
receiver only. Agents of versions before 1.0 may have one without an id; leave it out.`,
		Example: `  parley task push-config get <task-id> <config-id>`,
		Args:    oneConfig,
	}, func(ctx context.Context, args []string) error {
		return a.onConfig(ctx, args, func(c *a2aclient.Client, task, id string) error {
			conf, err := c.GetTaskPushNotificationConfig(ctx, &a2a.GetTaskPushNotificationConfigRequest{TaskID: task, ID: id})
			if err != nil {
				return err
			}
			return output.Push(a.print, conf)
		})
	})
}

func newPushDelete(a *app) *cobra.Command {
	return a.client(&cobra.Command{
		Use:   "delete <task-id> [config-id]",
		Short: "Delete a webhook of a task",
		Long: `Have the agent post no more to a webhook. To delete one that is not there is no
failure. Agents of versions before 1.0 may have one without an id; leave it out.`,
		Example: `  parley task push-config delete <task-id> <config-id>`,
		Args:    oneConfig,
	}, func(ctx context.Context, args []string) error {
		return a.onConfig(ctx, args, func(c *a2aclient.Client, task, id string) error {
			if err := c.DeleteTaskPushNotificationConfig(ctx, &a2a.DeleteTaskPushNotificationConfigRequest{TaskID: task, ID: id}); err != nil {
				return err
			}
			return output.PushDeleted(a.print, task, id)
		})
	})
}

// oneConfig requires a task's id, and accepts that of a configuration.
func oneConfig(cmd *cobra.Command, args []string) error {
	if len(args) > 2 {
		return failure.Usagef("one configuration at a time: unexpected argument %q", args[2])
	}
	return oneTask(cmd, args[:min(len(args), 1)])
}

// onConfig runs do for a configuration of a task, both named on the command line. In old
// versions without configuration ids, it has the task's id.
func (a *app) onConfig(ctx context.Context, args []string, do func(c *a2aclient.Client, task, id string) error) error {
	if len(args) == 2 {
		a.webhook = args[1]
	}
	return a.withTask(ctx, args[0], func(c *a2aclient.Client, task string) error {
		if a.webhook == "" && !c.Outdated() {
			return failure.Usagef("which configuration? its id is missing").WithHint("the task's: %s", a.commands.Line("task push-config list", output.Argument(task)))
		}
		return do(c, task, cmp.Or(a.webhook, task))
	})
}

func newPushList(a *app) *cobra.Command {
	var (
		req a2a.ListTaskPushNotificationConfigsRequest
		all bool
	)
	cmd := a.client(&cobra.Command{
		Use:     "list <task-id>",
		Short:   "List the webhooks of a task",
		Example: `  parley task push-config list <task-id>`,
		Args:    oneTask,
	}, func(ctx context.Context, args []string) error {
		if req.PageSize < 0 {
			return failure.Usagef("--page-size cannot be negative")
		}
		return a.withTask(ctx, args[0], func(c *a2aclient.Client, id string) error {
			req.TaskID = id
			list := new(a2a.ListTaskPushNotificationConfigsResponse)
			if err := paged(&req.PageToken, all, func() (next string, err error) {
				page, err := c.ListTaskPushNotificationConfigs(ctx, &req)
				if err != nil {
					return "", err
				}
				page.Configs = append(list.Configs, page.Configs...)
				list = page
				return page.NextPageToken, nil
			}); err != nil {
				return err
			}
			return output.Pushes(a.print, list)
		})
	})
	fs := cmd.Flags()
	fs.Int32Var(&req.PageSize, "page-size", 0, "how many `configurations` to fetch at once (default: the agent's choice)")
	fs.StringVar(&req.PageToken, "page-token", "", "`token` of the page to fetch, from an earlier list")
	fs.BoolVar(&all, "all", false, "fetch all pages")
	return cmd
}
