package a2aclient

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/internal/webhook"
)

// Handler returns a receiver: it verifies each delivery, passes it to process once, and
// answers.
//
//	200  process returned nil, now or for an earlier attempt of this delivery
//	405  not a POST; 413 too large; 415 not JSON
//	500  process failed: the next attempt is passed to it again
//
// It also answers with the Status of a WebhookError, including one that process
// returns. After 410 Parley stops sending; after another 4xx except 408, 425 and 429 it
// gives this delivery up. If a delivery is still being processed when its next attempt
// arrives, that attempt is answered 503. Deliveries that are not signed have no id, so
// process sees each attempt.
//
// A GET with a validationToken is answered with that token, by which servers of 0.1
// check that a receiver exists.
func (v *WebhookVerifier) Handler(process func(context.Context, *WebhookDelivery) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case webhook.Challenge(w, r):
			return
		case r.Method != http.MethodPost:
			w.Header().Set("Allow", "POST")
			http.Error(w, "webhooks are posted", http.StatusMethodNotAllowed)
			return
		case !isJSON(r.Header):
			http.Error(w, "webhooks are JSON", http.StatusUnsupportedMediaType)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, v.opts.maxBody()))
		if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
			http.Error(w, "the delivery is larger than "+strconv.FormatInt(large.Limit, 10)+" bytes", http.StatusRequestEntityTooLarge)
			return
		} else if err != nil {
			http.Error(w, "the delivery did not arrive in full", http.StatusRequestTimeout)
			return
		}
		answer(w, v.take(r.Context(), r.Header, body, process))
	})
}

// take processes a delivery, once.
func (v *WebhookVerifier) take(ctx context.Context, h http.Header, body []byte, process func(context.Context, *WebhookDelivery) error) error {
	d, err := v.judge(ctx, h, body)
	if err != nil {
		return err
	}
	if d.ID == "" {
		return process(ctx, d)
	}
	known, err := v.seen.add(d.ID, d.Time, true)
	switch {
	case err != nil:
		return err
	case known != nil && known.busy:
		return &WebhookError{Status: http.StatusServiceUnavailable, Reason: "the delivery is being processed"}
	case known != nil:
		return nil
	}
	ok := false
	defer func() { v.seen.end(d.ID, ok) }() // even if process panics
	err = process(ctx, d)
	ok = err == nil
	return err
}

func answer(w http.ResponseWriter, err error) {
	var e *WebhookError
	switch {
	case err == nil:
		w.WriteHeader(http.StatusOK)
	case errors.As(err, &e) && e.Status >= 400 && e.Status < 600:
		if e.Status == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", "5")
		}
		http.Error(w, e.Reason, e.Status)
	default: // the receiver's own error, whose text is not for the agent
		http.Error(w, "the delivery could not be processed", http.StatusInternalServerError)
	}
}

func isJSON(h http.Header) bool {
	if h.Get("Content-Encoding") != "" {
		return false
	}
	media, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && (media == "application/json" || strings.HasSuffix(media, "+json"))
}
