// Verifies a webhook in Rust. In Cargo.toml: base64 = "0.23", hmac = "0.13", sha2 = "0.11".
use base64::{engine::general_purpose::STANDARD, Engine};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The headers of a webhook that its signature needs, and the bytes of its body as they came.
pub struct Request<'a> {
    pub id: &'a str,
    pub timestamp: &'a str,
    pub signature: &'a str,
    pub body: &'a [u8],
}

/// Says whether a request is genuine. `now_seconds` is the time since `UNIX_EPOCH`.
pub fn verify(secret: &str, request: &Request, now_seconds: u64) -> bool {
    let is_recent = |sent: u64| sent.abs_diff(now_seconds) <= 300;
    if !request.timestamp.parse().is_ok_and(is_recent) {
        return false;
    }
    let key = match secret.strip_prefix("whsec_") {
        Some(encoded) => STANDARD.decode(encoded).unwrap_or_default(),
        None => secret.as_bytes().to_vec(),
    };
    // A secret that is not set must not be one that anybody knows.
    if key.is_empty() {
        return false;
    }
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).expect("HMAC takes keys of any length");
    mac.update(format!("{}.{}.", request.id, request.timestamp).as_bytes());
    mac.update(request.body);
    request.signature.split(' ').any(|entry| {
        let given = entry.strip_prefix("v1,").map(|text| STANDARD.decode(text));
        // verify_slice compares in constant time.
        matches!(given, Some(Ok(given)) if mac.clone().verify_slice(&given).is_ok())
    })
}
