package main

import (
	"net/url"

	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/auth"
)

// cardFlags are the options of serve about what signs its cards, and about the
// extended one.
type cardFlags struct {
	keys     []string // files
	keysURL  string
	strict   bool
	extended string // a file
}

func (f *cardFlags) register(fs *pflag.FlagSet) {
	fs.StringArrayVar(&f.keys, "card-key", nil, "sign cards with the private key in this `file`, as parley card keygen makes it; may be repeated, for a key that takes the place of another")
	fs.StringVar(&f.keysURL, "card-keys-url", "", "`URL` of the public keys, for the signatures to name (default: where the server has them, /.well-known/agent-card-keys.json)")
	fs.BoolVar(&f.strict, "card-strict", false, "sign only as A2A §8.4.1 has it: SDKs that leave out empty members, as those for JavaScript and Python do, will not verify cards that have some")
	fs.StringVar(&f.extended, "extended-card", "", "JSON `file` of the extended card; where callers need credentials it is for those who have them, and skills that require scopes for those who have these")
}

func (f *cardFlags) check(publicURL, profile string) error {
	switch {
	case len(f.keys) > 0 && publicURL == "":
		return usagef("--card-key needs --public-url").
			withHint("a signed card says where the agent is, and must not take that from a request: --public-url https://agents.example.org")
	case len(f.keys) == 0 && (f.keysURL != "" || f.strict):
		return usagef("--card-keys-url and --card-strict are about signed cards: give --card-key")
	case f.extended != "" && profile != profiles[0] && profile != "v1":
		return usagef("--extended-card and --card-profile %s exclude each other", profile)
	}
	if f.keysURL != "" {
		if u, err := url.Parse(f.keysURL); err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
			return usagef("--card-keys-url must be an https URL without credentials")
		}
	}
	return nil
}

// signing reads the keys.
func (f *cardFlags) signing() ([]*auth.Key, error) {
	var keys []*auth.Key
	for _, name := range f.keys {
		key, err := readCardKey("--card-key", name)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// readCardKey reads the key in the file that a flag names.
func readCardKey(flag, name string) (*auth.Key, error) {
	secret, err := readBounded(name, maxKeyFile)
	if err != nil {
		return nil, usagef("%s: %v", flag, err)
	}
	key, err := auth.ParseKey(secret)
	if err != nil {
		return nil, usagef("%s %s: %v", flag, quote(name), err)
	}
	return key, nil
}

// moreCard returns the extended card that is in a file, or else another one, and
// makes the public one say that there is one.
func moreCard(file string, card *a2a.AgentCard, other *a2a.AgentCard) (*a2a.AgentCard, error) {
	if file == "" {
		return other, nil
	}
	doc, err := readBounded(file, maxCardFile)
	if err != nil {
		return nil, usagef("--extended-card: %v", err)
	}
	extended := new(a2a.AgentCard)
	if err := extended.UnmarshalJSON(doc); err != nil {
		return nil, usagef("--extended-card %s: %v", quote(file), err)
	}
	// What nobody would read is a slip of the pen, perhaps of a requirement.
	known, err := auth.Reduce(doc, auth.FormProtocol)
	if err != nil {
		return nil, usagef("--extended-card %s: %v", quote(file), err)
	}
	if len(known.Uncovered) > 0 {
		return nil, usagef("--extended-card %s: version 1.0 of the protocol has no %s", quote(file), known.Uncovered[0])
	}
	card.Capabilities.ExtendedAgentCard = new(true)
	return extended, nil
}
