package webhooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// Headers are those of one attempt. Each attempt is signed afresh, at its own moment, with the event's one id: a receiver
// that refuses old signatures refuses no retry. Receivers verify either by Standard Webhooks (webhook-…) or in the way of
// the contract (Speakr-…); during a rotation both secrets sign.
func Headers(eventID, eventType string, attempt int, body []byte, secrets []string, now time.Time) (http.Header, error) {
	now = now.UTC()
	unix := strconv.FormatInt(now.Unix(), 10)
	var standard, second []string
	for _, secret := range secrets {
		signer, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			return nil, fmt.Errorf("sign event %s: the secret is not base64", eventID) // the cause would show it
		}
		signature, err := signer.Sign(eventID, now, body)
		if err != nil {
			return nil, fmt.Errorf("sign event %s: %w", eventID, err)
		}
		standard = append(standard, signature)
		second = append(second, "v1="+mac(secret, []byte(unix+"."), body))
	}
	if len(secrets) == 0 {
		return nil, fmt.Errorf("sign event %s: there is no secret", eventID)
	}
	headers := http.Header{}
	headers.Set("Content-Type", "application/json")
	headers.Set("User-Agent", "Speakr-Webhook/1.0")
	headers.Set(standardwebhooks.HeaderWebhookID, eventID)
	headers.Set(standardwebhooks.HeaderWebhookTimestamp, unix)
	headers.Set(standardwebhooks.HeaderWebhookSignature, strings.Join(standard, " "))
	headers.Set("Speakr-Event", eventType)
	headers.Set("Speakr-Delivery-Id", eventID)
	headers.Set("Speakr-Attempt", strconv.Itoa(attempt))
	headers.Set("Speakr-Timestamp", Varied(now))
	headers.Set("Speakr-Signature", "sha256="+mac(secrets[0], nil, body))
	headers.Set("Speakr-Signature-V2", "t="+unix+","+strings.Join(second, ","))
	return headers, nil
}

// mac is keyed by the whole text of the secret, as the contract has it.
func mac(secret string, parts ...[]byte) string {
	h := hmac.New(sha256.New, []byte(secret))
	for _, part := range parts {
		h.Write(part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Varied is UTC with a fraction only where there is one.
func Varied(t time.Time) string {
	t = t.UTC().Truncate(time.Microsecond)
	if t.Nanosecond() == 0 {
		return t.Format("2006-01-02T15:04:05Z")
	}
	return t.Format(updatedForm)
}
