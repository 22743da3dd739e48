package budgets

import (
	"os"
	"strings"
	"testing"
)

// Rule: what the guide shows as a file of prices is one, with the fences and comments that its reader would copy.
func TestThePricesOfTheGuideCanBeRead(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"budgets", "models"} {
		content, err := os.ReadFile("../docs/user-guide/" + page + ".md")
		if err != nil {
			t.Fatal(err)
		}
		examples := strings.Split(string(content), "```yaml\n")[1:]
		if len(examples) == 0 {
			t.Errorf("%s.md shows no file of prices: is it still found?", page)
		}
		for _, example := range examples {
			text, _, _ := strings.Cut(example, "```")
			if _, err := LoadPrices(pricesFile(t, text)); err != nil {
				t.Errorf("%s.md shows prices that are refused: %v\n%s", page, err, text)
			}
		}
	}
}
