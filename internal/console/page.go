package console

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/admin"
)

//go:embed templates
var sources embed.FS

// pages are the templates, by page name.
var pages = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"word": admin.StateWord, "label": label, "age": age, "short": short, "when": when, "file": fileName, "tree": tree, "rich": rich, "bytes": size, "kind": kindOf, "bytes64": func(n int64) string { return size(int(n)) }, "deliveryClass": deliveryClass, "span": span, "fieldIn": fieldIn, "plain": func(v json.RawMessage) string { return calm(textOf(v)) }, "bar": bar, "ago": ago, "barWidth": barWidth, "shows": shows,
		"at": func(k admin.TaskKey) string { return taskPath(keyOf(k.Agent), k.ID) },
	}).ParseFS(sources, "templates/*.html"))
})

// mark changes with the static files, and is part of their addresses.
var mark = sync.OnceValue(func() string {
	h := sha256.New()
	_ = fs.WalkDir(static, ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			b, _ := static.ReadFile(path)
			h.Write(b)
		}
		return err
	})
	return hex.EncodeToString(h.Sum(nil)[:6])
})

// page is the data of every template.
type page struct {
	Status int // of the answer; 0 is 200
	Title  string
	Place  string // the entry of the menu that it belongs to
	Data   any

	Base, Mark, Name, Version, CSRF string
	Viewer                          string
	Inbox                           bool // the viewer may see waiting tasks
	Operator                        bool // the viewer may see all callers' data
	Admin                           bool // the viewer may change all callers' data
	Elsewhere                       bool // agents of other servers may be called
	Waiting                         int
	Now                             time.Time
}

// request is a page handler's request.
type request struct {
	*http.Request
	ctx    context.Context // with the viewer as its caller
	viewer a2a.Caller
	csrf   string
}

// answers returns the token for forms that send a message or cancel; "" if the viewer may do
// neither, so that there are no such forms.
func (r *request) answers() string {
	if !r.viewer.May(a2a.ScopeTasksWrite) {
		return ""
	}
	return r.csrf
}

// page registers the handler of a page, for logged-in viewers.
func (c *Console) page(pattern string, f func(http.ResponseWriter, *request)) {
	c.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		s, viewer, err := c.session(r)
		switch {
		case errors.Is(err, context.Canceled):
			return // the browser has left before the viewer was identified
		case unchecked(err):
			c.fail(w, r, http.StatusServiceUnavailable, "Your session cannot be checked at the moment", "You stay logged in: try again shortly.")
			return
		case (s == nil || err != nil) && (isFragment(r) || strings.HasSuffix(pattern, "/live") || strings.HasSuffix(pattern, "/waiting")):
			http.Error(w, "Your session has ended. Copy what you have written, log in again and open the page anew.", http.StatusUnauthorized)
			return
		case err != nil:
			c.leave(w, r) // the key was revoked or has expired
			return
		case s == nil:
			toLogin(w, r)
			return
		}
		if r.Method == http.MethodPost {
			r.Body = http.MaxBytesReader(w, r.Body, c.opts.MaxUpload+64<<10)
			if most := new(http.MaxBytesError); errors.As(errors.Join(r.ParseForm(), r.ParseMultipartForm(32<<20)), &most) {
				c.fail(w, r, http.StatusRequestEntityTooLarge, "Nothing was sent", "It is too large: a message with its files may have "+size(int(c.opts.MaxUpload))+".")
				return
			}
			if r.MultipartForm != nil {
				defer r.MultipartForm.RemoveAll() // net/http has another copy of the request
			}
			if r.FormValue("csrf") != s.CSRF {
				c.fail(w, r, http.StatusForbidden, "This page has expired", "Copy what you have written, and open the page anew.")
				return
			}
		}
		f(w, &request{r, a2a.WithCaller(r.Context(), viewer), viewer, s.CSRF})
	})
}

// back returns the page of the console that sent a form, or else another one.
func back(r *request, otherwise string) string {
	from, err := url.Parse(r.Referer())
	at := asked(r.Request)
	if err != nil || !strings.EqualFold(from.Host, at.Host) && !strings.EqualFold(from.Host, r.Host) || !strings.HasPrefix(from.EscapedPath(), at.Path+"/") {
		return otherwise
	}
	return from.RequestURI()
}

// fragment reports whether a script sent the form, and so expects changes to its page instead
// of a page.
func (r *request) fragment() bool { return isFragment(r.Request) }

func isFragment(r *http.Request) bool { return r.URL.Query().Has("fragment") }

// sendFragments answers with changes to the page.
func sendFragments(w http.ResponseWriter, f *fragments) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = io.WriteString(w, f.take())
}

// base is the path that the console is mounted at, as seen by the browser.
func base(r *http.Request) string { return asked(r).Path }

// asked is the address of the console, as seen by the browser.
func asked(r *http.Request) *url.URL {
	if u, ok := r.Context().Value(askedKey{}).(*url.URL); ok {
		return u
	}
	return &url.URL{Scheme: "http", Host: r.Host}
}

type askedKey struct{}

// At returns a handler of the console below a prefix, such as /console. from, if not nil,
// returns the address of a request as seen by its browser, because a proxy may have removed
// part of the path, and changed scheme and host.
func (c *Console) At(prefix string, from func(*http.Request) *url.URL) http.Handler {
	c.prefix = prefix
	return http.StripPrefix(prefix, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at := &url.URL{Scheme: "http", Host: r.Host}
		if r.TLS != nil {
			at.Scheme = "https"
		}
		if from != nil {
			at = from(r)
		}
		at.Path += prefix
		if r.URL.Path == "" {
			http.Redirect(w, r, at.Path+"/", http.StatusPermanentRedirect)
			return
		}
		c.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), askedKey{}, at)))
	}))
}

func (c *Console) render(w http.ResponseWriter, r *http.Request, name string, p page) {
	p.Base, p.Mark, p.Name, p.Version, p.Now = base(r), mark(), c.opts.Name, c.opts.Version, c.now()
	var b bytes.Buffer
	if err := pages().ExecuteTemplate(&b, name, p); err != nil {
		c.log.Error("a page of the console failed", "page", name, "error", err)
		http.Error(w, "This page failed. The server's log says why.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(cmp.Or(p.Status, http.StatusOK))
	_, _ = w.Write(b.Bytes())
}

// show renders a page for a viewer.
func (c *Console) show(w http.ResponseWriter, r *request, name string, p page) {
	p.Elsewhere = c.reachesOut(r)
	p.CSRF, p.Viewer = r.csrf, r.viewer.Subject
	p.Waiting = c.waiting(r.ctx)
	p.Inbox = r.viewer.May(a2a.ScopeTasksRead, a2a.ScopeTasksReadTenant, a2a.ScopeTasksReadAll)
	p.Operator = c.seesAll(r)
	p.Admin = c.opts.Admin != nil && r.viewer.May(a2a.ScopeAdminWrite)
	c.render(w, r.Request, name, p)
}

// fail renders a page that says what went wrong and what to do. A script shows the text on its
// own page.
func (c *Console) fail(w http.ResponseWriter, r *http.Request, status int, what, do string) {
	do = sentence(do)
	if isFragment(r) {
		http.Error(w, what+". "+do, status)
		return
	}
	c.render(w, r, "failure", page{Status: status, Title: what, Data: do})
}

// failed renders the error of an operation.
func (c *Console) failed(w http.ResponseWriter, r *request, err error) {
	var e *a2a.Error
	var of *admin.Error
	switch {
	case r.ctx.Err() != nil:
		return // the viewer has left
	case errors.As(err, &of) && of.Status < http.StatusInternalServerError:
		c.fail(w, r.Request, of.Status, "That did not work", of.Error())
	case (!errors.As(err, &e) || e.Code == a2a.CodeInternal) && strings.HasPrefix(r.PathValue("agent"), foreignMark):
		c.fail(w, r.Request, http.StatusBadGateway, "Calling the agent failed", reason(err))
	case e == nil || e.Code == a2a.CodeInternal:
		c.log.ErrorContext(r.ctx, "a call of the console failed", "path", r.URL.Path, "error", err)
		c.fail(w, r.Request, http.StatusInternalServerError, "Something went wrong", "The server's log says what.")
	case e.Code == a2a.CodeTaskNotFound:
		c.fail(w, r.Request, http.StatusNotFound, "There is no such task", "It may have been deleted, or belong to somebody else.")
	case e.Code == a2a.CodePermissionDenied:
		c.fail(w, r.Request, http.StatusForbidden, "You may not do that", e.Message)
	default:
		c.fail(w, r.Request, http.StatusConflict, "That did not work", e.Message)
	}
}

// sentence turns a reason into a sentence. It keeps the name of a field or an address as it is.
func sentence(s string) string {
	if word, _, _ := strings.Cut(s, " "); !strings.Contains(word, ":") {
		_, n := utf8.DecodeRuneInString(s)
		s = strings.ToUpper(s[:n]) + s[n:]
	}
	if strings.HasSuffix(s, ".") || strings.HasSuffix(s, "?") {
		return s
	}
	return s + "."
}

// message returns the text of an error that a viewer may see.
func message(err error) string {
	var e *a2a.Error
	if errors.As(err, &e) && e.Code != a2a.CodeInternal {
		return e.Message
	}
	return "something went wrong; the server's log says what"
}

// label returns the state in words.
func label(s a2a.TaskState) string { return strings.ReplaceAll(admin.StateWord(s), "-", " ") }

// short returns a part of an id that distinguishes it on a page. Ids that Parley makes begin
// with their time, so it is their end.
func short(id string) string {
	if len(id) == 36 {
		return id[28:]
	}
	if len(id) > 12 {
		return id[:12] + "…"
	}
	return id
}

func when(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

// age says how long ago a time was. live.js continues to count on open pages.
func age(now, t time.Time) string {
	d := max(now.Sub(t), 0)
	switch {
	case t.IsZero():
		return ""
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d days", d/(24*time.Hour))
}

// ago formats the duration of a filter in words.
func ago(s string) string {
	d, err := time.ParseDuration(s)
	if err != nil {
		return s
	}
	return span(d)
}

func size(n int) string {
	switch {
	case n == 1:
		return "1 byte"
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}

// span formats a duration in at most two units. live.js uses the same words on pages that
// follow a task.
func span(d time.Duration) string {
	const day = 24 * time.Hour
	d = max(d, 0) // times may come from several servers, whose clocks differ
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", d.Seconds()), ".0") + " s"
	case d < time.Hour:
		return units(d, time.Minute, "min", time.Second, "s")
	case d < 2*day:
		return units(d, time.Hour, "h", time.Minute, "min")
	}
	return units(d, day, "days", time.Hour, "h")
}

// units formats a duration in a large unit, with the rest in a small one.
func units(d, large time.Duration, its string, small time.Duration, of string) string {
	n, left := d/large, d%large/small
	if left == 0 {
		return fmt.Sprintf("%d %s", n, its)
	}
	return fmt.Sprintf("%d %s %d %s", n, its, left, of)
}

// barWidth returns the width of a bar, of 1000: short ones stay visible.
func barWidth(share float64) string { return strconv.Itoa(int(max(share*10, minMark))) }

// bar returns the start of a bar.
func bar(start, width float64) string {
	return strconv.Itoa(int(min(start*10, 1000-max(width*10, minMark))))
}

const minMark = 8
