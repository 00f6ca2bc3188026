package auth

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

func mustCreate(t testing.TB, k *Keys, spec KeySpec) (string, *APIKey) {
	t.Helper()
	token, key, err := k.Create(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return token.Reveal(), key
}

// letIn returns the subject of a key, "" if it is refused as wrong.
func letIn(t testing.TB, k *Keys, token string) string {
	t.Helper()
	c, err := k.Authenticate(request(KeyHeader, token))
	if err != nil {
		if !errors.Is(err, ErrCredentials) {
			t.Errorf("a key: %v", err)
		}
		return ""
	}
	return c.Subject
}

func TestKeysOfAllKinds(t *testing.T) {
	v := &vault{}
	k := NewKeys(v, nil)
	own := slices.Sorted(slices.Values(a2a.OwnScopes))
	for _, c := range []struct {
		name string
		spec KeySpec
		want a2a.Caller
	}{
		{"a plain one", KeySpec{}, a2a.Caller{Scopes: own}},
		{"a subject's", KeySpec{Name: "of the night", Subject: "build", Tenant: "t"}, a2a.Caller{Subject: "key:build", Tenant: "t", Scopes: own}},
		{"for reading", KeySpec{Scopes: []string{"tasks:read", "x.y/z", "tasks:read"}}, a2a.Caller{Scopes: []string{"tasks:read", "x.y/z"}}},
		{"an auditor's", KeySpec{Roles: []string{"auditor"}}, a2a.Caller{Scopes: []string{"tasks:read:all"}}},
		{"an operator's and more", KeySpec{Roles: []string{"operator"}, Scopes: []string{"card:read"}},
			a2a.Caller{Scopes: []string{"card:read", "tasks:cancel:all", "tasks:read:all"}}},
	} {
		token, key := mustCreate(t, k, c.spec)
		if c.want.Subject == "" {
			c.want.Subject = "key:" + key.ID
		}
		for _, r := range []*http.Request{
			request(KeyHeader, token), request("x-api-key", token), request("Authorization", "Bearer "+token),
			request("Authorization", "bearer  "+token), request("Authorization", "Bearer "+token, KeyHeader, token),
		} {
			got, err := k.Authenticate(r)
			if err != nil || got == nil || got.Subject != c.want.Subject || got.Tenant != c.want.Tenant ||
				!slices.Equal(got.Scopes, c.want.Scopes) || got.Via != "key "+key.ID {
				t.Errorf("%s: %+v, %v", c.name, got, err)
			}
		}
		for name, doc := range v.kept {
			if strings.Contains(string(doc), token[len(token)-secretSize:]) || strings.Contains(string(doc), token) {
				t.Errorf("%s: %s has the secret: %s", c.name, name, doc)
			}
		}
	}
}

func TestKeysThatCannotBeMade(t *testing.T) {
	k := NewKeys(&vault{}, nil)
	for _, c := range []struct {
		spec KeySpec
		want string
	}{
		{KeySpec{Scopes: []string{"tasks:raed"}}, "tasks:read:tenant"},
		{KeySpec{Scopes: []string{"Tasks:read"}}, "tasks:read,"},
		{KeySpec{Scopes: []string{"push:all"}}, "push:write"},
		{KeySpec{Scopes: []string{"card:"}}, "card:read"},
		{KeySpec{Scopes: []string{""}}, "between 1"},
		{KeySpec{Scopes: []string{"two words"}}, "cannot be a scope"},
		{KeySpec{Scopes: []string{"ü"}}, "cannot be a scope"},
		{KeySpec{Scopes: []string{`"`}}, "cannot be a scope"},
		{KeySpec{Roles: []string{"root"}}, "auditor, metrics, operator"},
		{KeySpec{Expires: time.Now().Add(-time.Second)}, "expired"},
		{KeySpec{Expires: time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -2*3600))}, "9999"}, // 10000 in UTC
		{KeySpec{Subject: "a\nb"}, "subject"},
		{KeySpec{Tenant: " a"}, "tenant"},
		{KeySpec{Name: strings.Repeat("a", 257)}, "name"},
		{KeySpec{Name: "\xff"}, "name"},
	} {
		if token, _, err := k.Create(t.Context(), c.spec); err == nil || token != "" || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.spec, err)
		}
	}
	if list, err := k.List(t.Context(), KeyFilter{}); len(list) > 0 || err != nil {
		t.Errorf("there are %v, %v", list, err)
	}
}

func TestKeysAreRefusedAsTheyShould(t *testing.T) {
	k := NewKeys(&vault{}, nil)
	good, _ := mustCreate(t, k, KeySpec{})
	other, _ := mustCreate(t, k, KeySpec{})
	wrongSecret := good[:18] + newToken("aaaaaaaaaa")[18:]
	sum := checksum(wrongSecret[:tokenSize-checksumSize])
	wrongSecret = wrongSecret[:tokenSize-checksumSize] + string(sum[:])
	if _, ok := tokenID(wrongSecret); !ok {
		t.Fatal("the wrong secret has no checksum")
	}
	for name, r := range map[string]*http.Request{
		"another secret":       request(KeyHeader, wrongSecret),
		"an unknown key":       request(KeyHeader, newToken("abcdefghij")),
		"a typing error":       request(KeyHeader, good[:30]+"!"+good[31:]),
		"a wrong checksum":     request(KeyHeader, good[:tokenSize-1]+"~"),
		"cut off":              request(KeyHeader, good[:tokenSize-1]),
		"too long":             request(KeyHeader, good+"x"),
		"much too long":        request(KeyHeader, strings.Repeat("x", 1<<16)),
		"blanks around":        request(KeyHeader, " "+good),
		"not ASCII":            request(KeyHeader, strings.Repeat("é", tokenSize/2)+"x"),
		"NUL":                  request(KeyHeader, "\x00"),
		"empty":                request(KeyHeader, ""),
		"twice":                request(KeyHeader, good, KeyHeader, good),
		"two different":        request(KeyHeader, good, "Authorization", "Bearer "+other),
		"a bearer token of it": request("Authorization", "Bearer "+good[:tokenSize-1]),
		"a JWT as a key":       request(KeyHeader, "a.b.c"),
	} {
		if c, err := k.Authenticate(r); c != nil || !errors.Is(err, ErrCredentials) {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
	for name, r := range map[string]*http.Request{
		"nothing":                request(),
		"a token of others":      request("Authorization", "Bearer a.b.c"),
		"basic":                  request("Authorization", "Basic YTpi"),
		"a broken header":        request("Authorization", "Bearer \xff"),
		"two of that header":     request("Authorization", "Bearer a", "Authorization", "Bearer b"),
		"a key of somebody else": request("Authorization", "Bearer other_"+good),
	} {
		if c, err := k.Authenticate(r); c != nil || err != nil {
			t.Errorf("%s is not for us: %v, %v", name, c, err)
		}
	}
}

// A key is refused by all servers within a second of its end, and a server asks the
// vault only once a second.
func TestRevokedKeyIsRefusedWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &vault{}
		admin, server := NewKeys(v, nil), NewKeys(v, nil)
		token, key := mustCreate(t, admin, KeySpec{})
		before, _ := v.count()
		for range 50 {
			if letIn(t, server, token) == "" {
				t.Fatal("refused")
			}
		}
		if after, _ := v.count(); after != before+1 {
			t.Errorf("50 requests asked %d times", after-before)
		}
		revoked, err := admin.Revoke(t.Context(), key.ID)
		if err != nil || revoked.State(time.Now()) != "revoked" {
			t.Fatal(revoked, err)
		}
		if letIn(t, admin, token) != "" {
			t.Error("the process that revoked it takes it")
		}
		time.Sleep(time.Second)
		if letIn(t, server, token) != "" {
			t.Error("after a second it is taken")
		}
		again, err := admin.Revoke(t.Context(), key.ID)
		if err != nil || !again.Revoked.Equal(revoked.Revoked) {
			t.Errorf("revoked again: %v, %v", again, err)
		}
		if _, err := admin.Revoke(t.Context(), "nosuchkey2"); !errors.Is(err, ErrNoKey) {
			t.Errorf("revoke nothing: %v", err)
		}
		_, err = server.Authenticate(request(KeyHeader, token))
		if err == nil || !strings.Contains(err.Error(), "revoked") {
			t.Errorf("whoever has the secret hears %v", err)
		}
	})
}

func TestKeyExpires(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	k := NewKeys(&vault{}, &KeysOptions{Now: func() time.Time { return now }})
	token, key := mustCreate(t, k, KeySpec{Expires: now.Add(time.Hour)})
	for _, c := range []struct {
		after time.Duration
		state string
	}{{time.Hour - 1, "active"}, {time.Nanosecond, "expired"}, {time.Hour, "expired"}} {
		now = now.Add(c.after)
		if in := letIn(t, k, token) != ""; in != (c.state == "active") || key.State(now) != c.state {
			t.Errorf("%v later it is %s, in: %v", c.after, key.State(now), in)
		}
	}
	if _, _, err := k.Rotate(t.Context(), key.ID, time.Hour); err == nil {
		t.Error("an expired key was rotated")
	}
}

func TestRotatedKeyHasAGrace(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	k := NewKeys(&vault{}, &KeysOptions{Now: func() time.Time { return now }})
	first, key := mustCreate(t, k, KeySpec{Subject: "s"})
	rotate := func(grace time.Duration) string {
		t.Helper()
		token, now, err := k.Rotate(t.Context(), key.ID, grace)
		if err != nil || now.ID != key.ID || now.Subject != "s" || now.Rotated.IsZero() {
			t.Fatal(now, err)
		}
		return token.Reveal()
	}
	good := func(want ...string) {
		t.Helper()
		for i, token := range want {
			if in := letIn(t, k, token); in != "key:s" {
				t.Errorf("token %d is refused", i)
			}
		}
	}
	bad := func(tokens ...string) {
		t.Helper()
		for i, token := range tokens {
			if in := letIn(t, k, token); in != "" {
				t.Errorf("token %d is taken", i)
			}
		}
	}
	second := rotate(time.Hour)
	good(first, second)
	now = now.Add(time.Hour - 1)
	good(first, second)
	now = now.Add(1)
	good(second)
	bad(first)
	third := rotate(time.Hour)
	fourth := rotate(time.Hour)
	good(third, fourth)
	bad(first, second)
	fifth := rotate(0)
	good(fifth)
	bad(first, second, third, fourth)
	if _, err := k.Revoke(t.Context(), key.ID); err != nil {
		t.Fatal(err)
	}
	bad(fourth, fifth)
	if _, _, err := k.Rotate(t.Context(), key.ID, 0); err == nil {
		t.Error("a revoked key was rotated")
	}
	if _, _, err := k.Rotate(t.Context(), "nosuchkey2", 0); !errors.Is(err, ErrNoKey) {
		t.Errorf("rotate nothing: %v", err)
	}
}

// The new token of a key is accepted everywhere at once, although the old one was
// cached; guesses at one key do not load the vault.
func TestRotatedKeyIsTakenAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &vault{}
		admin, server := NewKeys(v, nil), NewKeys(v, nil)
		old, key := mustCreate(t, admin, KeySpec{})
		letIn(t, server, old)
		time.Sleep(recheck)
		fresh, _, err := admin.Rotate(t.Context(), key.ID, 0)
		if err != nil {
			t.Fatal(err)
		}
		if letIn(t, server, fresh.Reveal()) == "" {
			t.Error("the new one is refused")
		}
		if letIn(t, server, old) != "" {
			t.Error("the old one is taken where the new one was seen")
		}
		before, _ := v.count()
		for range 2000 {
			if letIn(t, server, old) != "" {
				t.Error("a wrong one is taken")
			}
			time.Sleep(time.Millisecond)
		}
		if after, _ := v.count(); after-before > 41 {
			t.Errorf("the vault was asked %d times in two seconds", after-before)
		}
	})
}

// A key that is revoked while it is rotated stays revoked, and the rotation fails.
func TestRevokeWinsOverRotate(t *testing.T) {
	v := &vault{}
	k := NewKeys(v, nil)
	token, key := mustCreate(t, k, KeySpec{})
	v.meet = func() {
		if _, err := NewKeys(v, nil).Revoke(t.Context(), key.ID); err != nil {
			t.Error(err)
		}
	}
	if fresh, _, err := k.Rotate(t.Context(), key.ID, time.Hour); err == nil || fresh != "" {
		t.Errorf("rotated what was revoked meanwhile: %v", err)
	}
	if letIn(t, NewKeys(v, nil), token) != "" {
		t.Error("it is taken")
	}
}

func TestListAndFind(t *testing.T) {
	now := time.Now()
	v := &vault{kept: map[string][]byte{"webhook-keys": []byte("not ours"), "apikeys": nil}}
	k := NewKeys(v, &KeysOptions{Now: func() time.Time { return now }})
	var tokens, ids []string
	for i, spec := range []KeySpec{{Subject: "a"}, {Subject: "b", Tenant: "t"}, {Subject: "a", Tenant: "t"}} {
		now = now.Add(time.Duration(i) * time.Minute)
		token, key := mustCreate(t, k, spec)
		tokens, ids = append(tokens, token), append(ids, key.ID)
	}
	for _, c := range []struct {
		f    KeyFilter
		want []string
	}{
		{KeyFilter{}, ids},
		{KeyFilter{Prefix: "parley_"}, ids},
		{KeyFilter{Prefix: ids[1]}, ids[1:2]},
		{KeyFilter{Prefix: ids[1][:6]}, ids[1:2]},
		{KeyFilter{Prefix: tokens[1]}, ids[1:2]},
		{KeyFilter{Prefix: tokens[1][:20]}, ids[1:2]},
		{KeyFilter{Prefix: "parley_" + ids[1] + "_"}, ids[1:2]},
		{KeyFilter{Prefix: "parley_" + ids[1][:9] + "_"}, nil},
		{KeyFilter{Subject: "a"}, []string{ids[0], ids[2]}},
		{KeyFilter{Subject: "a", Tenant: "t"}, ids[2:]},
		{KeyFilter{Prefix: "0"}, nil},
	} {
		list, err := k.List(t.Context(), c.f)
		var got []string
		for _, key := range list {
			got = append(got, key.ID)
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, %v", c.f, got, err)
		}
	}
	if key, err := k.Find(t.Context(), tokens[2][:17]); err != nil || key.ID != ids[2] {
		t.Errorf("found %v, %v", key, err)
	}
	for _, prefix := range []string{"", "parley_", "0"} {
		if key, err := k.Find(t.Context(), prefix); !errors.Is(err, ErrNoKey) {
			t.Errorf("%q: %v, %v", prefix, key, err)
		}
	}
	v.kept[keyName+"broken"] = []byte("{}")
	if _, err := k.List(t.Context(), KeyFilter{}); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("with a broken record: %v", err)
	}
	if _, err := k.Authenticate(request(KeyHeader, newToken("broken2222"))); !errors.Is(err, ErrCredentials) {
		t.Errorf("%v", err)
	}
}

func BenchmarkGuardAPIKey(b *testing.B) {
	keys := NewKeys(&vault{}, nil)
	g := mustGuard(b, nil, keys, &Basic{name: "basic"})
	token, _ := mustCreate(b, keys, KeySpec{})
	r := request(KeyHeader, token)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := g.Authenticate(r); err != nil {
			b.Fatal(err)
		}
	}
}
