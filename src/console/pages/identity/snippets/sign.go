package identity

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"time"
)

const audience = "{tenant}"
const kid = "{kid}"

// Sign vouches for the reader who is signed in with you, for ten minutes: the value of the header X-Service-Identity.
// id is their id with you; profile may have "name", "avatarUrl", "profileUrl" and "badges".
func Sign(id string, profile map[string]any) (string, error) {
	secret := os.Getenv("ENGAGEMENT_IDENTITY_SECRET")
	if secret == "" {
		return "", errors.New("ENGAGEMENT_IDENTITY_SECRET is not set")
	}
	now := time.Now().Unix()
	claims := map[string]any{}
	for name, value := range profile {
		claims[name] = value
	}
	claims["sub"], claims["aud"], claims["iat"], claims["exp"] = id, audience, now, now+600
	header, err := json.Marshal(map[string]string{"alg": "HS256", "typ": "JWT", "kid": kid})
	if err != nil {
		return "", err
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode(header) + "." + encode(payload)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(signed))
	return signed + "." + encode(mac.Sum(nil)), nil
}
