package parley

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/parley-a2a/parley/internal/webhook"
	"github.com/parley-a2a/parley/store"
)

// keysOf returns the keys of a store, parsed and as stored. It makes them if the store
// has none.
func keysOf(ctx context.Context, st store.Vault, now time.Time) (k *webhook.Keys, kept []byte, err error) {
	kept, err = st.Keep(ctx, store.WebhookKeys, nil, nil) // only reads
	if err == nil && kept == nil {
		var fresh *webhook.Keys
		if fresh, err = webhook.GenerateKeys(now); err == nil {
			kept, err = st.Keep(ctx, store.WebhookKeys, nil, fresh.Marshal())
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("keys of webhooks: %w", err)
	}
	k, err = webhook.ParseKeys(kept)
	return k, kept, err
}

// RotateWebhookKeys makes new keys to sign webhooks with, and returns the new Ed25519
// key for receivers that configure it (a2aclient.WebhookOptions.PublicKeys). Running
// servers keep their keys until they are restarted. For a week deliveries are signed
// with the previous keys as well; older ones are deleted.
func RotateWebhookKeys(ctx context.Context, st store.Vault, now time.Time) (public string, err error) {
	k, kept, err := keysOf(ctx, st, now)
	if err != nil {
		return "", err
	}
	next, err := k.Rotate(now)
	if err != nil {
		return "", err
	}
	doc := next.Marshal()
	is, err := st.Keep(ctx, store.WebhookKeys, kept, doc)
	if err != nil {
		return "", fmt.Errorf("keys of webhooks: %w", err)
	}
	if string(is) != string(doc) {
		return "", errors.New("keys of webhooks: somebody else rotated them at the same time")
	}
	return next.PublicKey(), nil
}
