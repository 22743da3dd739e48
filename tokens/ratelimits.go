package tokens

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/config"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// maxRateLimitLength is how many bytes one of a token's own limits may be written in.
const maxRateLimitLength = 200

// RateLimits are what the owner of a token wants less for it than what is in force, by category of route. They stand
// beside the limits in force and never raise one.
type RateLimits map[auth.Category]config.Rates

// tokenPlan is the limit of a token that counts a category; nil for what is no category.
func tokenPlan(category auth.Category) *limits.Plan {
	if !slices.Contains(auth.Categories(), category) {
		return nil
	}
	_, token := auth.CategoryPlans(category)
	return token
}

// Written is the limits as their owner would write them; nil when there are none.
func (r RateLimits) Written() map[string]string {
	if len(r) == 0 {
		return nil
	}
	written := make(map[string]string, len(r))
	for category, rates := range r {
		written[string(category)] = rates.String()
	}
	return written
}

// Of is what the owner wants less of a plan; none where nothing is wanted.
func (r RateLimits) Of(plan *limits.Plan) []limits.Rate { return r.figures()[plan] }

// figures is the limits as the guard takes them.
func (r RateLimits) figures() limits.Figures {
	if len(r) == 0 {
		return nil
	}
	figures := make(limits.Figures, len(r))
	for category, rates := range r {
		figures[tokenPlan(category)] = rates
	}
	return figures
}

// rateLimitsOf judges what an owner wrote: known categories, each with a limit that is no more than what is in force
// in the same window. figure tells what is in force for a plan.
func rateLimitsOf(written map[string]string, figure func(*limits.Plan) []limits.Rate) (RateLimits, error) {
	wanted := make(RateLimits, len(written))
	for name, text := range written {
		plan := tokenPlan(auth.Category(name))
		if plan == nil {
			return nil, problems.New(problems.InvalidParameter, "rate_limits may name read, write and process, nothing else.")
		}
		rates, err := ratesOf(text)
		if err != nil {
			return nil, problems.New(problems.InvalidParameter, "rate_limits.%s: %s.", name, err.Error())
		}
		if above, inForce, is := exceeding(rates, figure(plan)); is {
			return nil, problems.New(problems.InvalidParameter,
				"rate_limits.%s: %s is above the %s that are in force; a token's own limits can only be lower.", name, above, inForce)
		}
		if !plainWindows(rates, figure(plan)) {
			return nil, problems.New(problems.InvalidParameter,
				"rate_limits.%s: the window must be a second, a minute, an hour or a day, or that of the limit in force.", name)
		}
		wanted[auth.Category(name)] = rates
	}
	return wanted, nil
}

// plainWindows bounds how many different windows all owners together can make the guard count in.
func plainWindows(rates config.Rates, inForce []limits.Rate) bool {
	for _, rate := range rates {
		plain := slices.Contains([]time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour}, rate.Period)
		if !plain && !slices.ContainsFunc(inForce, func(allowed limits.Rate) bool { return allowed.Period == rate.Period }) {
			return false
		}
	}
	return true
}

func ratesOf(text string) (config.Rates, error) {
	if text == "" {
		return nil, fmt.Errorf("a limit is missing; leave the category out for none")
	}
	if len(text) > maxRateLimitLength {
		return nil, fmt.Errorf("a limit is written in at most %d characters", maxRateLimitLength)
	}
	rates, err := config.ParseRates(text)
	if err == nil && rates.Off() {
		return nil, fmt.Errorf("a token's own limit cannot be 0; leave the category out for none")
	}
	return rates, err
}

// exceeding finds a rate above the one that is in force in the same window.
func exceeding(rates config.Rates, inForce []limits.Rate) (above, bound string, is bool) {
	for _, rate := range rates {
		for _, allowed := range inForce {
			if allowed.Period == rate.Period && rate.Limit > allowed.Limit {
				return config.Rates{rate}.String(), config.Rates{allowed}.String(), true
			}
		}
	}
	return "", "", false
}

// within keeps the limits of what a token makes or changes at those of the token itself.
func (r RateLimits) within(maker RateLimits) (RateLimits, error) {
	both := make(RateLimits, len(r)+len(maker))
	for _, category := range auth.Categories() {
		rates := limits.Lowered(r[category], maker[category])
		if len(rates) > config.MaxRates {
			return nil, problems.New(problems.InvalidParameter,
				"rate_limits.%s: with those of the token that asks there are %d rates; at most %d make one limit.", category, len(rates), config.MaxRates)
		}
		if len(rates) > 0 {
			both[category] = rates
		}
	}
	return both, nil
}

// stored is the limits as the row keeps them; nil when there are none.
func (r RateLimits) stored() *string {
	if len(r) == 0 {
		return nil
	}
	var text strings.Builder
	// A map of strings can always be written; its keys come out sorted.
	_ = json.NewEncoder(&text).Encode(r.Written())
	kept := strings.TrimSpace(text.String())
	return &kept
}

// storedRateLimits reads what stored wrote. What cannot be read is an error: a token whose limits are not known must
// not be let in without them.
func storedRateLimits(text *string) (RateLimits, error) {
	if text == nil {
		return nil, nil
	}
	var written map[string]string
	if err := json.Unmarshal([]byte(*text), &written); err != nil {
		return nil, fmt.Errorf("read the rate limits of a token: %w", err)
	}
	read := make(RateLimits, len(written))
	for name, rate := range written {
		rates, err := config.ParseRates(rate)
		if err == nil && tokenPlan(auth.Category(name)) == nil {
			err = fmt.Errorf("%q is no category", name)
		}
		if err != nil {
			return nil, fmt.Errorf("read the rate limits of a token: %w", err)
		}
		read[auth.Category(name)] = rates
	}
	return read, nil
}

// lowered judges what was written for a token and turns it into what its row keeps.
func (t *Tokens) lowered(id int64, written map[string]string) (*string, error) {
	wanted, err := rateLimitsOf(written, func(plan *limits.Plan) []limits.Rate { return t.options.Figures.Of(plan, id) })
	if err != nil {
		return nil, err
	}
	return wanted.stored(), nil
}

// keepWithin lowers what a token makes or changes to the limits of that token.
func keepWithin(maker models.APIToken, made *models.APIToken) error {
	own, err := storedRateLimits(maker.RateLimits)
	if err != nil || len(own) == 0 {
		return err
	}
	wanted, err := storedRateLimits(made.RateLimits)
	if err != nil {
		return err
	}
	kept, err := wanted.within(own)
	if err != nil {
		return err
	}
	made.RateLimits = kept.stored()
	return nil
}
