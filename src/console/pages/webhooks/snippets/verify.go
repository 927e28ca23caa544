package hooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"regexp"
	"time"
)

const tolerance = 5 * time.Minute

var v1 = regexp.MustCompile(`v1=([0-9a-f]{64})`)

// IsGenuine tells whether a request comes from the service. rawBody are the bytes as they came, never parsed and printed
// again; secrets are the endpoint's: after a rotation the new and the old one.
func IsGenuine(h http.Header, rawBody []byte, secrets []string) bool {
	timestamp := h.Get("X-Service-Timestamp")
	sentAt, err := time.Parse(time.RFC3339, timestamp)
	if err != nil || time.Since(sentAt).Abs() > tolerance {
		return false
	}
	genuine := false
	for _, secret := range secrets {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(timestamp + "."))
		mac.Write(rawBody)
		expected := []byte(hex.EncodeToString(mac.Sum(nil)))
		for _, name := range []string{"X-Service-Signature", "X-Service-Signature-Previous"} {
			if m := v1.FindStringSubmatch(h.Get(name)); m != nil && hmac.Equal([]byte(m[1]), expected) {
				genuine = true
			}
		}
	}
	return genuine
}

// With net/http:
//
//	secrets := strings.Split(os.Getenv("ENGAGEMENT_WEBHOOK_SECRETS"), ",")
//
//	http.HandleFunc("/hooks", func(w http.ResponseWriter, r *http.Request) {
//		rawBody, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
//		if err != nil || !IsGenuine(r.Header, rawBody, secrets) {
//			w.WriteHeader(http.StatusUnauthorized)
//			return
//		}
//		var event struct{ Type, Challenge string }
//		if json.Unmarshal(rawBody, &event) == nil && event.Type == "verification" {
//			w.Header().Set("Content-Type", "application/json")
//			json.NewEncoder(w).Encode(map[string]string{"challenge": event.Challenge})
//			return
//		}
//		w.WriteHeader(http.StatusNoContent) // answer first, work later
//	})
