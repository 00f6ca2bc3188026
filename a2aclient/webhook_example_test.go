package a2aclient_test

import (
	"context"
	"net/http"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
)

func ExampleWebhookVerifier() {
	v, err := a2aclient.NewWebhookVerifier(a2aclient.WebhookOptions{
		Keys:  "https://agent.example/.well-known/jwks.json",
		Token: "the token of the configuration",
	})
	if err != nil {
		panic(err)
	}
	http.Handle("/a2a-events", v.Handler(func(ctx context.Context, d *a2aclient.WebhookDelivery) error {
		switch {
		case d.Task != nil: // an agent of 0.x
			return keep(ctx, d.Task)
		case d.Event.StatusUpdate != nil:
			return update(ctx, d.Event.StatusUpdate)
		}
		return nil
	}))
}

func keep(context.Context, *a2a.Task) error                    { return nil }
func update(context.Context, *a2a.TaskStatusUpdateEvent) error { return nil }
