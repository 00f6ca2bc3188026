package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/flagvalue"
	"github.com/parley-a2a/parley/internal/plain"
)

func newCardKeygen(a *app) *cobra.Command {
	var alg, out string
	var end keyEnd
	cmd := a.configured(&cobra.Command{
		Use:   "keygen",
		Short: "Make a key for signing cards",
		Long: `Make a key for signing cards, in a new file that only you can read: a JSON Web Key, or
PEM if its name ends in .pem. The public key is printed as a JSON Web Key Set, for
parley card verify --jwks and for others to fetch. Once a key has expired, parley no
longer signs with it, and verifiers that honor the exp of its JSON Web Key reject its
signatures. PEM cannot hold an expiry.`,
		Example: `  parley card keygen --out card-key.json > jwks.json
  parley card keygen --out card-key.json --expires 2027-12-31`,
		Args: cobra.NoArgs,
	}, func(*cobra.Command, []string) error {
		return a.makeCardKey(alg, out, &end)
	})
	cmd.Flags().StringVar(&alg, "alg", auth.Algorithms[0], "`algorithm`: "+strings.Join(auth.Algorithms, ", "))
	cmd.Flags().StringVar(&out, "out", "", "`file` to write, which must not exist")
	cmd.Flags().StringVar(&end.expires, "expires", "", "`time` at which the key expires, such as 2027-12-31 (its first moment, in UTC) or 2027-12-31T18:00:00Z (default: never)")
	cmd.Flags().Var(flagvalue.Span(&end.validFor), "valid-for", "`duration` for which the key is valid, such as 8760h for a year (default: for ever)")
	cmd.Flags().Lookup("valid-for").DefValue = "" // its 0s means no end
	return cmd
}

// keyEnd says when a key expires.
type keyEnd struct {
	expires  string
	validFor time.Duration
}

// at returns the time; zero means never.
func (e *keyEnd) at(now time.Time) (time.Time, error) {
	end := now.Add(e.validFor)
	switch {
	case e.expires != "" && e.validFor != 0:
		return end, failure.Usagef("--expires and --valid-for exclude each other")
	case e.expires != "":
		var err error
		if end, err = time.Parse(time.DateOnly, e.expires); err != nil {
			if end, err = time.Parse(time.RFC3339, e.expires); err != nil {
				return end, failure.Usagef("--expires must be a date such as 2027-12-31, or a time such as 2027-12-31T18:00:00Z")
			}
		}
	case e.validFor == 0:
		return time.Time{}, nil
	}
	if end.Before(now.Add(time.Second)) { // times are kept in whole seconds
		return end, failure.Usagef("the key would expire before it is made")
	}
	return end, nil
}

func (a *app) makeCardKey(alg, out string, end *keyEnd) error {
	if out == "" {
		return failure.Usagef("where to? --out is not set")
	}
	isPEM := strings.HasSuffix(strings.ToLower(out), ".pem")
	until, err := end.at(time.Now())
	switch {
	case err != nil:
		return err
	case isPEM && !until.IsZero():
		return failure.Usagef("a PEM file cannot hold when the key expires").WithHint("give --out a name that does not end in .pem: a JSON Web Key can hold it")
	}
	key, err := auth.GenerateKey(alg)
	if err != nil {
		return failure.Usagef("--alg: %v", err)
	}
	if !until.IsZero() {
		key = key.Until(until)
	}
	doc, err := json.MarshalIndent(key, "", "  ")
	if isPEM {
		doc, err = key.PEM()
	}
	if err != nil {
		return failure.New(failure.CodeInternal, err.Error(), err)
	}
	if err := create(out, 0o600, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s\n", bytes.TrimSuffix(doc, []byte("\n")))
		return err
	}); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return failure.Usagef("%s exists, and is not overwritten", plain.Quote(out)).WithHint("choose another name, or move the file away first")
		}
		return failure.New(failure.CodeInternal, "write the key: "+err.Error(), err)
	}
	set, err := auth.KeySet{key}.JWKS()
	if err != nil {
		return failure.New(failure.CodeInternal, err.Error(), err)
	}
	return a.say("%s", set)
}

// create makes a new file, durably: with everything that write writes, or not at all.
func create(name string, mode fs.FileMode, write func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	if err = write(f); err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		_ = os.Remove(name)
	}
	return err
}
