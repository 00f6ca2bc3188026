package auth

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/parley-a2a/parley/a2a"
)

// line returns a line of a file of users, with a cheap hash.
func line(t testing.TB, name, password string) string {
	t.Helper()
	l, err := hashPassword(name, a2a.Secret(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func usersFile(t testing.TB, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "users")
	writeUsers(t, path, lines...)
	return path
}

func writeUsers(t testing.TB, path string, lines ...string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
}

func mustBasic(t testing.TB, lines ...string) *Basic {
	t.Helper()
	b, err := NewBasic(usersFile(t, lines...), nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func login(user, password string) *http.Request {
	r := request()
	r.SetBasicAuth(user, password)
	return r
}

func TestBasicUsers(t *testing.T) {
	longest := strings.Repeat("a", maxPassword)
	b := mustBasic(t,
		"# people", "",
		line(t, "ann", "right"), line(t, "jürgen", "pässwörd")+"\r",
		line(t, "blank", " : "), line(t, "tina", "x")+":tenant", line(t, "otto", "x")+"::operator  tasks:read ", line(t, "long", longest),
		// Made by htpasswd -B: the password is "secret".
		"htpasswd:"+strings.Replace(strings.TrimPrefix(line(t, "x", "secret"), "x:"), "$2a$", "$2y$", 1),
	)
	for _, c := range []struct {
		user, password string
		tenant         string
		scopes         []string // nil: not let in
	}{
		{"ann", "right", "", a2a.OwnScopes},
		{"jürgen", "pässwörd", "", a2a.OwnScopes},
		{"blank", " : ", "", a2a.OwnScopes},
		{"tina", "x", "tenant", a2a.OwnScopes},
		{"otto", "x", "", []string{"tasks:cancel:all", "tasks:read", "tasks:read:all"}},
		{"htpasswd", "secret", "", a2a.OwnScopes},
		{"long", longest, "", a2a.OwnScopes},
		{"long", longest + "b", "", nil}, // bcrypt would accept it
		{"long", longest[1:], "", nil},
		{"ann", "wrong", "", nil},
		{"ann", "", "", nil},
		{"Ann", "right", "", nil},
		{"bob", "right", "", nil},
		{"jürgen", "passwort", "", nil},
		{"", "right", "", nil},
		{"ann\x00", "right", "", nil},
		{"ann", "right\x00", "", nil},
		{"ann", "right\n", "", nil},
	} {
		for range 2 { // the second time from memory
			got, err := b.Authenticate(login(c.user, c.password))
			if c.scopes == nil {
				if got != nil || !errors.Is(err, ErrCredentials) {
					t.Errorf("%s with %s: %v, %v", c.user, c.password, got, err)
				}
				continue
			}
			if err != nil || got.Subject != "user:"+c.user || got.Tenant != c.tenant || !slices.Equal(got.Scopes, slices.Sorted(slices.Values(c.scopes))) {
				t.Errorf("%s with %s: %+v, %v", c.user, c.password, got, err)
			}
		}
	}
}

func TestBasicHeaders(t *testing.T) {
	b := mustBasic(t, line(t, "ann", "right!"))
	good := base64.StdEncoding.EncodeToString([]byte("ann:right!"))
	for name, h := range map[string]string{"any case": "bAsIc " + good, "more blanks": " Basic   " + good + "  "} {
		if c, err := b.Authenticate(request("Authorization", h)); err != nil || c == nil {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
	for name, h := range map[string]string{
		"nothing": "Basic", "no padding": "Basic " + strings.TrimRight(good, "="), "more behind": "Basic " + good + " x",
		"not base64": "Basic ann:right!", "no colon": "Basic YW5u", "not UTF-8": "Basic " + base64.StdEncoding.EncodeToString([]byte("\xff:right")),
		"URL's base64": "Basic -_-_", "a tab": "Basic\t" + good, "64 KiB": "Basic " + strings.Repeat("YTph", 1<<14),
	} {
		c, err := b.Authenticate(request("Authorization", h))
		if name == "a tab" && err == nil {
			continue // another scheme, which the guard refuses
		}
		if c != nil || !errors.Is(err, ErrCredentials) {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
	for name, h := range map[string]string{"bearer": "Bearer x", "basically": "Basically " + good} {
		if c, err := b.Authenticate(request("Authorization", h)); c != nil || err != nil {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
}

func TestBasicFileThatCannotBeUsed(t *testing.T) {
	good := line(t, "ann", "right")
	hash := strings.TrimPrefix(good, "ann:")
	for name, c := range map[string]struct{ text, want string }{
		"no hash":          {"# x\n\nann", "line 3"},
		"a plain password": {"ann:s3cret-of-ann", "line 1: its hash is not one of bcrypt"},
		"SHA-1":            {"ann:{SHA}s3cret-of-ann", "bcrypt"},
		"MD5":              {"ann:$apr1$s3cret-of-ann", "bcrypt"},
		"cut":              {good[:len(good)-1], "bcrypt"},
		"longer":           {good + "x", "bcrypt"},
		"another letter":   {good[:len(good)-1] + "!", "bcrypt"},
		"a high cost":      {"ann:" + strings.Replace(hash, "$04$", "$31$", 1), "cost"},
		"no name":          {":" + hash, "user name is missing"},
		"twice":            {good + "\n" + good, "line 2: this user"},
		"a scope":          {good + "::task:read tasks:reed", "line 1"},
		"a tenant":         {good + ": \x01", "tenant"},
		"a mark":           {"\ufeff" + good, "line 1"},
		"not UTF-8":        {"\xff:" + hash, "line 1"},
		"too long":         {strings.Repeat("#\n", maxBasicFile), "bytes"},
	} {
		path := usersFile(t, c.text)
		_, err := NewBasic(path, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		} else if strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), hash[7:]) {
			t.Errorf("%s: the error has a secret: %v", name, err)
		}
	}
	if _, err := NewBasic(filepath.Join(t.TempDir(), "none"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if _, err := NewBasic(t.TempDir(), nil); err == nil {
		t.Error("a directory")
	}
}

func TestBasicFileIsReadAgain(t *testing.T) {
	now := time.Now()
	var logged bytes.Buffer
	path := usersFile(t, line(t, "ann", "right"))
	b, err := NewBasic(path, &BasicOptions{Now: func() time.Time { return now }, Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	if err != nil {
		t.Fatal(err)
	}
	want := func(user, password string, in bool) {
		t.Helper()
		c, err := b.Authenticate(login(user, password))
		if (c != nil) != in || !in && !errors.Is(err, ErrCredentials) {
			t.Errorf("%s with %s: %v, %v", user, password, c, err)
		}
	}
	want("ann", "right", true)
	writeUsers(t, path, line(t, "ann", "other"), line(t, "bob", "right"))
	now = now.Add(999 * time.Millisecond)
	want("bob", "right", false) // not yet
	now = now.Add(time.Millisecond)
	want("bob", "right", true)
	want("ann", "other", true)
	want("ann", "right", false) // which was right a second ago
	if n := strings.Count(logged.String(), "read again"); n != 1 {
		t.Errorf("logged: %s", logged.String())
	}
	for what, change := range map[string]func(){
		"broken": func() { writeUsers(t, path, "ann:other", line(t, "eve", "x")) },
		"gone":   func() { os.Remove(path) },
	} {
		logged.Reset()
		change()
		for range 3 {
			now = now.Add(time.Second)
			want("bob", "right", true)
			want("eve", "x", false)
		}
		if n := strings.Count(logged.String(), "cannot be used"); n != 1 {
			t.Errorf("%s: logged: %s", what, logged.String())
		}
	}
	writeUsers(t, path, "# nobody")
	now = now.Add(time.Second)
	want("bob", "right", false)
}

// A change that neither length nor time shows is seen while the file is young.
func TestBasicFileChangesTwiceInATick(t *testing.T) {
	now := time.Now()
	path := usersFile(t, line(t, "ann", "right"))
	b, err := NewBasic(path, &BasicOptions{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	writeUsers(t, path, line(t, "bob", "right"))
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Second)
	if c, err := b.Authenticate(login("bob", "right")); c == nil {
		t.Error(err)
	}
}

// Many simultaneous logins with the same right password cost one comparison, and then
// none for a minute.
func TestRightPasswordIsComparedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustBasic(t, line(t, "ann", "right"))
		var asked atomic.Int64
		may := func(string) error { asked.Add(1); return nil }
		logins := func(n int) (compared int64) {
			asked.Store(0)
			var all sync.WaitGroup
			for range n {
				all.Go(func() {
					if c, err := b.login(login("ann", "right"), goodFor, may); c == nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			return asked.Load() - int64(n) // each login asks once, and once more before a comparison
		}
		if n := logins(30); n != 1 {
			t.Errorf("30 logins made %d comparisons", n)
		}
		time.Sleep(goodFor - 1)
		if n := logins(1); n != 0 {
			t.Errorf("a minute later: %d", n)
		}
		time.Sleep(time.Nanosecond)
		if n := logins(1); n != 1 {
			t.Errorf("after the minute: %d", n)
		}
	})
}

// A caller that waits for a comparison whose caller gave up makes its own.
func TestComparisonIsNotLostWithWhoMadeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustBasic(t, line(t, "ann", "right"))
		for range cap(b.verify.slots) {
			b.verify.slots <- struct{}{}
		}
		ctx, leave := context.WithCancel(t.Context())
		first := make(chan error)
		go func() {
			_, err := b.Authenticate(login("ann", "right").WithContext(ctx))
			first <- err
		}()
		synctest.Wait()
		second := make(chan error)
		go func() {
			c, err := b.Authenticate(login("ann", "right"))
			if c == nil && err == nil {
				err = errors.New("nobody")
			}
			second <- err
		}()
		synctest.Wait()
		leave()
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("the caller that left: %v", err)
		}
		<-b.verify.slots
		if err := <-second; err != nil {
			t.Errorf("the caller that waited: %v", err)
		}
	})
}

func TestPasswordsThatWaitAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustBasic(t, line(t, "ann", "right"))
		for range cap(b.verify.slots) {
			b.verify.slots <- struct{}{}
		}
		ctx, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range maxComparison {
			all.Go(func() { b.Authenticate(login("ann", fmt.Sprint("guess ", i)).WithContext(ctx)) })
		}
		synctest.Wait()
		if c, err := b.Authenticate(login("ann", "right")); c != nil || errors.Is(err, ErrCredentials) || err == nil {
			t.Errorf("one more: %v, %v", c, err)
		}
		leave()
		all.Wait()
		for range cap(b.verify.slots) {
			<-b.verify.slots
		}
		if c, err := b.Authenticate(login("ann", "right")); c == nil {
			t.Errorf("afterwards: %v", err)
		}
		if n := b.verify.waiting; n != 0 {
			t.Errorf("%d wait", n)
		}
	})
}

// Guesses that waited for their turn are not made if enough others failed meanwhile.
func TestGuessesAtOnceAreNotMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustBasic(t, line(t, "ann", "right"))
		g := mustGuard(t, &GuardOptions{Failures: 5}, b)
		for range cap(b.verify.slots) {
			b.verify.slots <- struct{}{}
		}
		var wrong, slowed atomic.Int64
		var all sync.WaitGroup
		const guesses = 50
		for i := range guesses {
			all.Go(func() {
				_, err := g.Authenticate(login("ann", fmt.Sprint("guess ", i)))
				switch codeOf(t, err).Code {
				case a2a.CodeUnauthenticated:
					wrong.Add(1)
				case a2a.CodeRateLimited:
					slowed.Add(1)
				}
			})
		}
		synctest.Wait()
		for range cap(b.verify.slots) {
			<-b.verify.slots
		}
		all.Wait()
		// A comparison that runs when the limit is reached is finished.
		if n := int(wrong.Load()); n < 5 || n > 5+cap(b.verify.slots) || n+int(slowed.Load()) != guesses {
			t.Errorf("%d guesses were made and %d were not", n, slowed.Load())
		}
	})
}

func TestUnknownUserCostsAsMuch(t *testing.T) {
	cheap, dear := line(t, "cheap", "x"), "dear:"+decoyHash
	set, err := parseUsers(cheap + "\n" + dear + "\n" + line(t, "cheap2", "x"))
	if err != nil {
		t.Fatal(err)
	}
	if cost, err := bcrypt.Cost(set.decoy); cost != hashCost || err != nil {
		t.Errorf("others cost %d, %v", cost, err)
	}
	set, err = parseUsers("")
	if err != nil {
		t.Fatal(err)
	}
	if cost, err := bcrypt.Cost(set.decoy); cost != hashCost || err != nil {
		t.Errorf("where there is nobody: %d, %v", cost, err)
	}
	if err := checkHash(decoyHash); err != nil {
		t.Error(err)
	}
	// A caller that knows the password of the decoy is not let in with it.
	b := mustBasic(t, line(t, "ann", "right"))
	for range 2 {
		if c, err := b.Authenticate(login("nobody", "right")); c != nil || !errors.Is(err, ErrCredentials) {
			t.Errorf("%v, %v", c, err)
		}
	}
}

func TestHashPassword(t *testing.T) {
	for _, c := range []struct{ name, password string }{
		{"", "x"}, {"a:b", "x"}, {"#a", "x"}, {" a", "x"}, {"a", ""}, {"a", strings.Repeat("x", 73)}, {"a", "x\n"}, {"a", "\xff"}, {strings.Repeat("a", 257), "x"},
	} {
		if l, err := HashPassword(c.name, a2a.Secret(c.password)); err == nil {
			t.Errorf("%q and %q: %s", c.name, c.password, l)
		}
	}
	l, err := HashPassword("ann", "right")
	if err != nil {
		t.Fatal(err)
	}
	if c, err := mustBasic(t, l).Authenticate(login("ann", "right")); c == nil {
		t.Error(err)
	}
}
