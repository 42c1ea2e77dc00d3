package readme_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"
	"time"
)

const paymentsFile = "../../sanflow/payments.csv"

// makePayments returns the table of the README: 3000 payments within a month. A few devices are stolen for a day or two, and nearly all of their
// payments are fraud. One payment in 15 is made by another device of an honest account.
func makePayments() []byte {
	rng := rand.New(rand.NewPCG(1, 0))
	type theft struct {
		device string
		until  time.Time
	}
	var thefts []theft
	var b bytes.Buffer
	b.WriteString("id,time,account,shop,device,amount,class\n")
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	amount := func(mean, deviation float64) float64 { return math.Exp(mean + deviation*rng.NormFloat64()) }
	for i := range 3000 {
		now = now.Add(time.Duration(850 * rng.ExpFloat64() * float64(time.Second)))
		if rng.Float64() < .012 {
			thefts = append(thefts, theft{fmt.Sprintf("D%03d", 300+rng.IntN(30)), now.Add(time.Duration((.5 + 2.5*rng.Float64()) * 24 * float64(time.Hour)))})
		}
		for len(thefts) > 0 && thefts[0].until.Before(now) {
			thefts = thefts[1:]
		}
		account := rng.IntN(300)
		shop, device, price, class := rng.IntN(60), fmt.Sprintf("D%03d", account), amount(3.6, .9), "ok"
		switch stolen := len(thefts) > 0 && rng.Float64() < .13; {
		case stolen:
			shop, device, price, class = rng.IntN(20), thefts[rng.IntN(len(thefts))].device, amount(4.3, .8), "fraud"
			if rng.Float64() < .1 {
				class = "ok"
			}
		case rng.Float64() < 1./15:
			device = fmt.Sprintf("D%03d", rng.IntN(300))
		}
		if class == "ok" && rng.Float64() < .004 {
			class = "fraud"
		}
		fmt.Fprintf(&b, "P%04d,%s,A%03d,S%02d,%s,%.2f,%s\n", i+1, now.Format("2006-01-02T15:04:05"), account, shop, device, price, class)
	}
	return b.Bytes()
}

// TestPayments compares the file with what makes it; -update writes the file.
func TestPayments(t *testing.T) {
	want := makePayments()
	if *update {
		if err := os.WriteFile(paymentsFile, want, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(paymentsFile)
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%s is not what this test makes (error %v): run it with -update", paymentsFile, err)
	}
}
