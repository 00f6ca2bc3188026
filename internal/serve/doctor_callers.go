package serve

import (
	"context"
	"time"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/plain"
)

// callers reports who may call, and whether the files for that can be read.
func (d *doctor) callers(_ context.Context, r *report) {
	if err := d.admit(d.local, d.at); err != nil {
		r.fail(err, "")
		return
	}
	if _, err := d.auth.guard(nil, d.proxies, d.log); err != nil {
		r.fail(d.inFile(err), "docs/security.md says what these files have")
		return
	}
	if text := d.caution(d.at, d.local, d.publicURL); text != "" {
		r.warn("docs/operations.md explains it under Who may call", "%s", text)
		return
	}
	r.ok("%s", d.auth.who(d.local))
}

// kept is a read-only vault.
type kept func(ctx context.Context) (map[string][]byte, error)

func (k kept) Kept(ctx context.Context) (map[string][]byte, error) { return k(ctx) }

func (k kept) Keep(context.Context, string, []byte, []byte) ([]byte, error) { panic("unreachable") }

// keys reports API keys that exist while no keys are required, and required keys that
// do not exist.
func (d *doctor) keys(ctx context.Context, r *report) {
	usable, all := 0, []auth.APIKey(nil)
	switch {
	case d.db != nil && d.db.Kept != nil:
		var err error
		if all, err = auth.NewKeys(kept(d.db.Kept), nil).List(ctx, auth.KeyFilter{}); err != nil {
			r.fail(err, "parley key list shows them")
			return
		}
		now := time.Now()
		for i := range all {
			if all[i].State(now) == "active" {
				usable++
			}
		}
	case d.db != nil:
		r.ok("not looked at: this program cannot read the database as it is")
		return
	}
	switch {
	case d.auth.keys && usable == 0:
		r.warn(d.auth.first(d.env.Program, d.location), "--auth-keys asks for API keys, and %s", map[bool]string{true: "there are none", false: "none of " + plain.Count(len(all), "key") + " can be used"}[len(all) == 0])
	case !d.auth.keys && usable > 0:
		r.warn("serve with --auth-keys, or revoke them: parley key revoke", "%s can be used, and nothing asks for them: --auth-keys is not given", plain.Count(usable, "API key"))
	case d.auth.keys:
		r.ok("%s can be used", plain.Count(usable, "API key"))
	default:
		r.ok("no API keys, and none are required")
	}
}
