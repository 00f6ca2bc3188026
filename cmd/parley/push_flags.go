package main

import (
	"bufio"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/failure"
)

// pushFlags describe a push notification configuration, for task push-config create and, with a
// prefix, for send.
type pushFlags struct {
	prefix      string
	url         string
	id          string
	token       string
	scheme      string
	credentials string
}

func (f *pushFlags) register(fs *pflag.FlagSet, prefix string) {
	f.prefix = prefix
	fs.StringVar(&f.url, prefix+"url", "", "`URL` to which the agent posts the task's updates")
	fs.StringVar(&f.id, prefix+"id", "", "`id` of the webhook; replaces one with the same id (default: the agent's choice)")
	fs.StringVar(&f.token, prefix+"token", "", "`token` for the receiver to check; Parley signs with it; - reads a line of standard input")
	fs.StringVar(&f.scheme, prefix+"auth-scheme", "", "Authorization `scheme` that the receiver expects, such as Bearer")
	fs.StringVar(&f.credentials, prefix+"auth-credentials", "", "`credentials` for that scheme; other users can see options, - reads a line of standard input")
}

// config returns the configuration of the flags; nil if there is none.
func (f *pushFlags) config(in io.Reader) (*a2a.TaskPushNotificationConfig, error) {
	if f.url == "" {
		if f.id+f.token+f.scheme+f.credentials != "" {
			return nil, failure.Usagef("where to? --%surl is missing", f.prefix)
		}
		return nil, nil
	}
	if f.credentials != "" && f.scheme == "" {
		return nil, failure.Usagef("--%sauth-credentials needs an --%sauth-scheme, such as Bearer", f.prefix, f.prefix)
	}
	if f.token == "-" && f.credentials == "-" {
		return nil, failure.Usagef("there is one standard input: only one of --%stoken and --%sauth-credentials can be -", f.prefix, f.prefix)
	}
	for _, secret := range []*string{&f.token, &f.credentials} {
		if *secret != "-" {
			continue
		}
		line, _ := bufio.NewReader(in).ReadString('\n')
		if line = strings.TrimRight(line, "\r\n"); line == "" {
			return nil, failure.Usagef("standard input has no line to read a secret from")
		}
		*secret = line
	}
	c := &a2a.TaskPushNotificationConfig{ID: f.id, URL: f.url, Token: a2a.Secret(f.token)}
	if f.scheme != "" {
		c.Authentication = &a2a.AuthenticationInfo{Scheme: f.scheme, Credentials: a2a.Secret(f.credentials)}
	}
	return c, nil
}

// parseStatus parses an HTTP status to answer with.
func parseStatus(word string) (int, error) {
	n, err := strconv.Atoi(word)
	if err != nil || n < 200 || n > 599 || strconv.Itoa(n) != word {
		return 0, errors.New("must be an HTTP status from 200 to 599")
	}
	return n, nil
}
