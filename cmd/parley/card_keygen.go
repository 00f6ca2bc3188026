package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/auth"
)

func newCardKeygen(a *app) *cobra.Command {
	var alg, out string
	cmd := a.configured(&cobra.Command{
		Use:   "keygen",
		Short: "Make a key that signs cards",
		Long: `Make a key that signs cards, in a new file that only you can read: a JSON Web
Key, or PEM if its name ends in .pem. Its public part is printed as a JSON Web
Key Set, for parley card verify --jwks and for others to fetch.`,
		Example: `  parley card keygen --out card-key.json > jwks.json`,
		Args:    cobra.NoArgs,
	}, func(*cobra.Command, []string) error {
		return a.makeCardKey(alg, out)
	})
	cmd.Flags().StringVar(&alg, "alg", auth.Algorithms[0], "`algorithm`: "+strings.Join(auth.Algorithms, ", "))
	cmd.Flags().StringVar(&out, "out", "", "`file` to write, which must not exist")
	return cmd
}

func (a *app) makeCardKey(alg, out string) error {
	if out == "" {
		return usagef("where to? --out is not set")
	}
	key, err := auth.GenerateKey(alg)
	if err != nil {
		return usagef("--alg: %v", err)
	}
	doc, err := json.MarshalIndent(key, "", "  ")
	if strings.HasSuffix(strings.ToLower(out), ".pem") {
		doc, err = key.PEM()
	}
	if err != nil {
		return newFailure(codeInternal, err.Error(), err)
	}
	if err := writeSecret(out, doc); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return usagef("%s exists", quote(out)).withHint("a key that is lost cannot be had again: move the file away first")
		}
		return newFailure(codeInternal, "write the key: "+err.Error(), err)
	}
	set, err := auth.KeySet{key}.JWKS()
	if err != nil {
		return newFailure(codeInternal, err.Error(), err)
	}
	return a.say("%s", set)
}

// writeSecret writes a file that did not exist and only its owner can read.
func writeSecret(name string, doc []byte) (err error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
		if err != nil {
			_ = os.Remove(name) // half a key is none
		}
	}()
	if doc[len(doc)-1] != '\n' {
		doc = append(doc, '\n')
	}
	if _, err = f.Write(doc); err != nil {
		return err
	}
	return f.Sync()
}
