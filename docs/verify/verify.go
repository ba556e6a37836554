// Verifies a webhook in Go with the standard library alone.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
)

// Verify says whether a request is genuine. body is the bytes as they came, nowSeconds is time.Now().Unix().
func Verify(secret, id, timestamp, signature string, body []byte, nowSeconds int64) bool {
	sent, err := strconv.ParseUint(timestamp, 10, 62)
	if age := nowSeconds - int64(sent); err != nil || age < -300 || age > 300 {
		return false
	}
	key := []byte(secret)
	if encoded, found := strings.CutPrefix(secret, "whsec_"); found {
		if key, err = base64.StdEncoding.DecodeString(encoded); err != nil {
			return false
		}
	}
	if len(key) == 0 { // A secret that is not set must not be one that anybody knows.
		return false
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	expected := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	for _, entry := range strings.Fields(signature) {
		if hmac.Equal([]byte(entry), expected) {
			return true
		}
	}
	return false
}
