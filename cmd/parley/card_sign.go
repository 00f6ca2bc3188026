package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/keyfile"
)

func newCardSign(a *app) *cobra.Command {
	var key, jku string
	cmd := a.configured(&cobra.Command{
		Use:   "sign [card.json | -]",
		Short: "Sign an agent card",
		Long: `Sign an agent card (A2A §8.4). It is read from a file or standard input and printed with
the signature added. Earlier signatures stay, so you can sign with several keys.`,
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
		return failure.Usagef("with which key? --key is not set").WithHint("parley card keygen --out card-key.json makes one")
	}
	if jku != "" {
		if u := a2a.WebURL(jku); u == nil || u.User != nil {
			return failure.Usagef("--jku must be an https URL without credentials")
		}
	}
	key, err := keyfile.Signing("--key", keyFile)
	if err != nil {
		return err
	}
	card, err := a.readCardArg(args)
	if err != nil {
		return err
	}
	signed, covered, err := auth.SignJSON(card, key, &auth.SignOptions{JKU: jku})
	if err != nil {
		return failure.New(failure.CodeCardInvalid, "the card cannot be signed: "+err.Error(), err)
	}
	if len(covered.Uncovered) > 0 {
		a.stderr.Note("Note", "not signed, as version 1.0 does not know it: %s", strings.Join(covered.Uncovered, ", "))
	}
	if bare, err := auth.Reduce(card, auth.FormStripped); err == nil && covered.Form == auth.FormProtocol && !bytes.Equal(bare.JSON, covered.JSON) {
		a.stderr.Note("Note", "the card has empty members: the SDKs for JavaScript and Python leave them out, against A2A §8.4.1, and will not verify it")
	}
	var out bytes.Buffer
	if err := json.Indent(&out, signed, "", "  "); err != nil {
		return failure.New(failure.CodeInternal, err.Error(), err)
	}
	return a.say("%s", &out)
}

// readCardArg reads the card on the command line: from a file, or from standard input for - or
// without an argument.
func (a *app) readCardArg(args []string) ([]byte, error) {
	if len(args) == 0 || args[0] == "-" {
		doc, err := io.ReadAll(io.LimitReader(a.stdin, keyfile.MaxCard+1))
		if err == nil && len(doc) > keyfile.MaxCard {
			err = fmt.Errorf("it is larger than %d bytes", keyfile.MaxCard)
		}
		if err != nil {
			return nil, failure.New(failure.CodeCardNotFound, "read the card from standard input: "+err.Error(), err)
		}
		return doc, nil
	}
	doc, err := keyfile.Read(args[0], keyfile.MaxCard)
	if err != nil {
		return nil, failure.New(failure.CodeCardNotFound, "read the card: "+err.Error(), err)
	}
	return doc, nil
}
