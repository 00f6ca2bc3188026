package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/auth"
)

// Bounds of files that are read, in bytes.
const (
	maxCardFile = 1 << 20
	maxKeyFile  = 256 << 10
)

func newCardSign(a *app) *cobra.Command {
	var key, jku string
	cmd := a.configured(&cobra.Command{
		Use:   "sign [card.json | -]",
		Short: "Sign an agent's card",
		Long: `Sign an agent's card (A2A §8.4): it is read from a file or from standard input,
and printed with a signature more. Those that are there stay, so that one can
sign with several keys, one after the other.`,
		Example: `  parley card sign --key card-key.json card.json > signed.json`,
		Args:    cobra.MaximumNArgs(1),
	}, func(_ *cobra.Command, args []string) error {
		return a.signCard(key, jku, args)
	})
	cmd.Flags().StringVar(&key, "key", "", "`file` with the private key, as parley card keygen or openssl makes it")
	cmd.Flags().StringVar(&jku, "jku", "", "`URL` of the JSON Web Key Set with the public key, for the signature to name")
	return cmd
}

func (a *app) signCard(keyFile, jku string, args []string) error {
	if keyFile == "" {
		return usagef("with which key? --key is not set").withHint("parley card keygen --out card-key.json makes one")
	}
	if jku != "" {
		if u, err := url.Parse(jku); err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
			return usagef("--jku must be an https URL without credentials")
		}
	}
	key, err := readCardKey("--key", keyFile)
	if err != nil {
		return err
	}
	card, err := a.readCardArg(args)
	if err != nil {
		return err
	}
	signed, covered, err := auth.SignJSON(card, key, &auth.SignOptions{JKU: jku})
	if err != nil {
		return newFailure(codeCardInvalid, "the card cannot be signed: "+err.Error(), err)
	}
	if len(covered.Uncovered) > 0 {
		a.note("Note", "not signed, as version 1.0 does not know it: %s", strings.Join(covered.Uncovered, ", "))
	}
	if bare, err := auth.Reduce(card, auth.FormStripped); err == nil && covered.Form == auth.FormProtocol && !bytes.Equal(bare.JSON, covered.JSON) {
		a.note("Note", "the card has empty members: the SDKs for JavaScript and Python leave them out, against A2A §8.4.1, and will not verify it")
	}
	var out bytes.Buffer
	if err := json.Indent(&out, signed, "", "  "); err != nil {
		return newFailure(codeInternal, err.Error(), err)
	}
	return a.say("%s", &out)
}

// readCardArg reads the card that the command line names: a file, or standard
// input for - or nothing.
func (a *app) readCardArg(args []string) ([]byte, error) {
	if len(args) == 0 || args[0] == "-" {
		doc, err := io.ReadAll(io.LimitReader(a.stdin, maxCardFile+1))
		if err == nil && len(doc) > maxCardFile {
			err = fmt.Errorf("it is larger than %d bytes", maxCardFile)
		}
		if err != nil {
			return nil, newFailure(codeCardNotFound, "read the card from standard input: "+err.Error(), err)
		}
		return doc, nil
	}
	doc, err := readBounded(args[0], maxCardFile)
	if err != nil {
		return nil, newFailure(codeCardNotFound, "read the card: "+err.Error(), err)
	}
	return doc, nil
}

func readBounded(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	doc, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(doc)) > limit {
		err = fmt.Errorf("%s is larger than %d bytes", quote(name), limit)
	}
	return doc, err
}
