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
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// sessionTime is how long a session lasts.
const sessionTime = 12 * time.Hour

// cookieName names the session's cookie. A prefix like __Host- would need https, also
// on loopback.
const cookieName = "parley-console"

// Credentials are what a viewer logged in with. They are checked again with each
// request, so a key that is revoked ends its sessions.
type Credentials struct {
	Bearer string `json:"bearer,omitempty"` // an API key or a token
}

// session is what a cookie holds, sealed.
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

func (j *jar) seal(s *session) string {
	plain, err := json.Marshal(s)
	if err != nil {
		panic(err) // a struct of texts
	}
	return base64.RawURLEncoding.EncodeToString(j.aead.Seal(nil, nil, plain, nil))
}

func (j *jar) unseal(text string, now time.Time) *session {
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(sealed) > 8<<10 {
		return nil
	}
	plain, err := j.aead.Open(nil, nil, sealed, nil)
	if err != nil {
		return nil
	}
	s := new(session)
	if json.Unmarshal(plain, s) != nil || !now.Before(s.Until) {
		return nil
	}
	return s
}

func (c *Console) begin(w http.ResponseWriter, r *http.Request, s *session) {
	s.CSRF, s.Until = rand.Text(), c.now().Add(sessionTime)
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: c.jar.seal(s), Path: base(r) + "/", MaxAge: int(sessionTime / time.Second),
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: asked(r).Scheme == "https",
	})
}

// session returns the request's session and its viewer; nil if there is none.
func (c *Console) session(r *http.Request) (*session, a2a.Caller, error) {
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return nil, a2a.Caller{}, nil
	}
	s := c.jar.unseal(cookie.Value, c.now())
	switch {
	case s == nil:
		return nil, a2a.Caller{}, nil
	case s.Local:
		if c.opts.Token == "" {
			return nil, a2a.Caller{}, nil
		}
		return s, c.opts.Local, nil
	case c.opts.Viewer == nil:
		return nil, a2a.Caller{}, nil
	}
	caller, err := c.opts.Viewer(r, s.Credentials, true)
	return s, caller, err
}

// open begins a session by the link that is printed at the start.
func (c *Console) open(w http.ResponseWriter, r *http.Request) {
	token := r.URL.Query().Get("token")
	if c.opts.Token == "" || subtle.ConstantTimeCompare([]byte(token), []byte(c.opts.Token)) != 1 {
		c.fail(w, r, http.StatusForbidden, "This link is not good any more", "Each start of the server prints a link of its own: use the newest one.")
		return
	}
	c.begin(w, r, &session{Local: true})
	// The page is a navigation within the site from here on, which a Strict cookie
	// needs where the link was opened from elsewhere.
	w.Header().Set("Refresh", "0; url="+base(r)+"/")
	c.render(w, r, "opening", page{Title: "Opening"})
}

func (c *Console) login(w http.ResponseWriter, r *http.Request) {
	c.render(w, r, "login", page{Title: "Log in", Data: loginData{Keys: c.opts.Viewer != nil, Link: c.opts.Token != ""}})
}

type loginData struct {
	Keys, Link bool
	Wrong      string
}

// enter begins a session with an API key or a token.
func (c *Console) enter(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 16<<10)
	key := strings.TrimSpace(r.PostFormValue("key"))
	d := loginData{Keys: c.opts.Viewer != nil, Link: c.opts.Token != ""}
	if c.opts.Viewer == nil || key == "" {
		d.Wrong = "Enter an API key, such as parley key create prints."
		c.renderStatus(w, r, http.StatusBadRequest, "login", page{Title: "Log in", Data: d})
		return
	}
	s := &session{Credentials: Credentials{Bearer: key}}
	if _, err := c.opts.Viewer(r, s.Credentials, false); err != nil {
		d.Wrong = message(err)
		c.renderStatus(w, r, http.StatusForbidden, "login", page{Title: "Log in", Data: d})
		return
	}
	c.begin(w, r, s)
	http.Redirect(w, r, base(r)+"/", http.StatusSeeOther)
}

func (c *Console) leave(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, &http.Cookie{Name: cookieName, Path: base(r) + "/", MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: asked(r).Scheme == "https"})
	http.Redirect(w, r, base(r)+"/login", http.StatusSeeOther)
}
