package console

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// sessionTime is how long a session lasts.
const sessionTime = 12 * time.Hour

// cookieName names the session's cookie. A prefix like __Host- would require https, even on
// loopback.
const cookieName = "parley-console"

// Credentials are those with which a viewer logged in. They are checked again with each
// request, so revoking a key ends its sessions.
type Credentials struct {
	Bearer string `json:"bearer,omitempty"` // an API key or a token
}

// session is the sealed content of a cookie.
type session struct {
	Local       bool `json:"local,omitempty"` // opened by the link of this machine
	Credentials `json:"credentials,omitzero"`
	CSRF        string    `json:"csrf"`
	Until       time.Time `json:"until"`
}

// jar seals and opens cookies.
type jar struct{ aead cipher.AEAD }

func newJar(secret []byte) (*jar, error) {
	if len(secret) < 32 {
		return nil, errors.New("console: the secret needs 32 bytes or more")
	}
	key, err := hkdf.Key(sha256.New, secret, nil, "parley console cookie 1", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return &jar{aead}, err
}

// seal seals the content of a cookie with this name; a cookie of another name cannot hold it.
func (j *jar) seal(name string, v any) string {
	plain, err := json.Marshal(v)
	if err != nil {
		panic(err) // impossible for a struct of texts
	}
	return base64.RawURLEncoding.EncodeToString(j.aead.Seal(nil, nil, plain, []byte(name)))
}

func (j *jar) open(name, text string, v any) bool {
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(sealed) > 8<<10 {
		return false
	}
	plain, err := j.aead.Open(nil, nil, sealed, []byte(name))
	return err == nil && json.Unmarshal(plain, v) == nil
}

func (c *Console) begin(w http.ResponseWriter, r *http.Request, s *session) bool {
	s.CSRF, s.Until = rand.Text(), c.now().Add(sessionTime)
	sealed := c.jar.seal(cookieName, s)
	if len(sealed) > maxCookie {
		return false
	}
	setCookie(w, r, http.Cookie{Name: cookieName, Value: sealed, Path: "/", MaxAge: int(sessionTime / time.Second), SameSite: http.SameSiteStrictMode})
	return true
}

// setCookie sets a cookie, whose path is below the console's base.
func setCookie(w http.ResponseWriter, r *http.Request, c http.Cookie) {
	c.Path, c.HttpOnly, c.Secure = base(r)+c.Path, true, asked(r).Scheme == "https"
	http.SetCookie(w, &c)
}

// maxCookie is the maximum length of a cookie's value: browsers drop longer ones.
const maxCookie = 3800

// session returns the request's session and its viewer; nil if there is none.
func (c *Console) session(r *http.Request) (*session, a2a.Caller, error) {
	s := new(session)
	cookie, err := r.Cookie(cookieName)
	if err != nil || !c.jar.open(cookieName, cookie.Value, s) || !c.now().Before(s.Until) {
		return nil, a2a.Caller{}, nil
	}
	switch {
	case s.Local && c.opts.Token != "":
		return s, c.opts.Local, nil
	case s.Local || c.opts.Viewer == nil: // its way of login no longer exists
		return nil, a2a.Caller{}, nil
	}
	caller, err := c.opts.Viewer(r, s.Credentials, true)
	return s, caller, err
}

// unchecked reports whether an error of session says that credentials cannot be checked at the
// moment, such as during a failover of the store. It does not end the session.
func unchecked(err error) bool { return errors.Is(err, &a2a.Error{Code: a2a.CodeUnavailable}) }

// open begins a session with the link that is printed at the start.
func (c *Console) open(w http.ResponseWriter, r *http.Request) {
	token := r.URL.Query().Get("token")
	if c.opts.Token == "" || subtle.ConstantTimeCompare([]byte(token), []byte(c.opts.Token)) != 1 {
		c.fail(w, r, http.StatusForbidden, "This link is no longer valid", "Each start of the server prints a new link: use the newest one.")
		return
	}
	c.begin(w, r, &session{Local: true})
	c.opening(w, r, "/")
}

// opening leads to a page of the console through an intermediate page. This makes the
// navigation start within the site, as a Strict cookie requires if the browser comes from
// elsewhere.
func (c *Console) opening(w http.ResponseWriter, r *http.Request, to string) {
	w.Header().Set("Refresh", "0; url="+base(r)+to)
	c.render(w, r, "opening", page{Title: "Opening", Data: to})
}

func (c *Console) login(w http.ResponseWriter, r *http.Request) {
	c.askLogin(w, r, http.StatusOK, r.FormValue("to"), "")
}

// toLogin redirects to the login, which leads on to the requested page.
func toLogin(w http.ResponseWriter, r *http.Request) {
	at := base(r) + "/login"
	if to := wanted(r.URL.RequestURI()); r.Method == http.MethodGet && to != "/" {
		at += "?to=" + url.QueryEscape(to)
	}
	http.Redirect(w, r, at, http.StatusSeeOther)
}

// maxWanted is the maximum length of the address after a login: a cookie holds it.
const maxWanted = 1024

// wanted returns the page after a login, below the console's base. An address that cannot be
// there becomes "/", so that a link to the login cannot lead to another site.
func wanted(to string) string {
	u, err := url.Parse(to)
	if err != nil || len(u.RequestURI()) > maxWanted || u.Scheme != "" || u.Host != "" || u.User != nil || strings.Contains(to, `\`) || !strings.HasPrefix(u.Path, "/") || path.Clean(u.Path) != u.Path {
		return "/"
	}
	return u.RequestURI()
}

type loginData struct {
	Keys, Link bool
	Issuer     string
	Wrong      string
	To         string // the page after the login: see wanted
}

// askLogin renders the login, with the reason why the previous one failed.
func (c *Console) askLogin(w http.ResponseWriter, r *http.Request, status int, to, wrong string) {
	d := loginData{Keys: c.opts.Viewer != nil, Link: c.opts.Token != "", Issuer: c.issuer(), Wrong: wrong, To: wanted(to)}
	c.render(w, r, "login", page{Status: status, Title: "Log in", Data: d})
}

// issuer returns the name of the issuer for sign-ins; "" if there is none.
func (c *Console) issuer() string {
	if c.opts.Login == nil || c.opts.Viewer == nil {
		return ""
	}
	return c.opts.Login.Name()
}

// pendingCookie holds a sign-in while the browser is at the issuer. It is Lax, because it must
// be sent when the issuer sends the browser back.
const (
	pendingCookie = "parley-console-login"
	pendingTime   = 10 * time.Minute
)

type pending struct {
	Data  []byte    `json:"data"`
	Until time.Time `json:"until"`
	To    []byte    `json:"to"` // not a string, because JSON encodes each & as six bytes
}

// toIssuer sends the browser to the issuer.
func (c *Console) toIssuer(w http.ResponseWriter, r *http.Request) {
	to := wanted(r.FormValue("to"))
	if c.issuer() == "" {
		c.nowhere(w, r)
		return
	}
	at := asked(r)
	issuer, data, err := c.opts.Login.Begin(r.Context(), at.Scheme+"://"+at.Host+at.Path+"/login/back")
	if err != nil {
		c.refused(w, r, to, err)
		return
	}
	c.pend(w, r, c.jar.seal(pendingCookie, pending{data, c.now().Add(pendingTime), []byte(to)}), int(pendingTime/time.Second))
	http.Redirect(w, r, issuer, http.StatusSeeOther)
}

func (c *Console) pend(w http.ResponseWriter, r *http.Request, value string, age int) {
	setCookie(w, r, http.Cookie{Name: pendingCookie, Value: value, Path: "/login", MaxAge: age, SameSite: http.SameSiteLaxMode})
}

// fromIssuer begins a session when the browser comes back.
func (c *Console) fromIssuer(w http.ResponseWriter, r *http.Request) {
	var p pending
	cookie, err := r.Cookie(pendingCookie)
	if c.issuer() == "" || err != nil || !c.jar.open(pendingCookie, cookie.Value, &p) || !c.now().Before(p.Until) {
		c.fail(w, r, http.StatusBadRequest, "This sign-in has expired", "Start again at the login page.")
		return
	}
	c.pend(w, r, "", -1)
	tokens, err := c.opts.Login.Finish(r.Context(), p.Data, r.URL.RawQuery)
	if err != nil {
		c.refused(w, r, string(p.To), err)
		return
	}
	for _, token := range tokens {
		s := &session{Credentials: Credentials{Bearer: token}}
		if _, err = c.opts.Viewer(r, s.Credentials, false); err != nil {
			continue
		}
		if !c.begin(w, r, s) {
			err = errors.New("the token does not fit into a cookie")
			continue
		}
		c.opening(w, r, wanted(string(p.To)))
		return
	}
	c.refused(w, r, string(p.To), err)
}

// refused says that the sign-in failed. The issuer's answer is in the log.
func (c *Console) refused(w http.ResponseWriter, r *http.Request, to string, err error) {
	c.log.WarnContext(r.Context(), "a sign-in to the console failed", "error", err)
	c.askLogin(w, r, http.StatusForbidden, to, "You are not signed in: "+c.issuer()+" refused, or its answer was not accepted. The server's log says why.")
}

// enter begins a session with an API key or a token.
func (c *Console) enter(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 16<<10)
	key := strings.TrimSpace(r.PostFormValue("key"))
	to := r.PostFormValue("to")
	if c.opts.Viewer == nil || key == "" {
		c.askLogin(w, r, http.StatusBadRequest, to, "Enter an API key, such as parley key create prints.")
		return
	}
	s := &session{Credentials: Credentials{Bearer: key}}
	if _, err := c.opts.Viewer(r, s.Credentials, false); err != nil {
		c.askLogin(w, r, http.StatusForbidden, to, sentence(message(err)))
		return
	}
	if !c.begin(w, r, s) {
		c.askLogin(w, r, http.StatusForbidden, to, "This token is too long for a session: expected one of at most 2 KiB.")
		return
	}
	http.Redirect(w, r, base(r)+wanted(to), http.StatusSeeOther)
}

func (c *Console) leave(w http.ResponseWriter, r *http.Request) {
	setCookie(w, r, http.Cookie{Name: cookieName, Path: "/", MaxAge: -1, SameSite: http.SameSiteStrictMode})
	toLogin(w, r)
}
