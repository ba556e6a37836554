# frozen_string_literal: true

# Verifies a webhook in Ruby 3 with the standard library alone.
require 'openssl'

# Says whether a request is genuine. `body` is request.body.read, `now_seconds` is Time.now.to_i.
def verify(secret:, id:, timestamp:, signature:, body:, now_seconds:)
  return false unless timestamp.match?(/\A[0-9]{1,15}\z/) && (now_seconds - timestamp.to_i).abs <= 300

  key = secret.start_with?('whsec_') ? secret.delete_prefix('whsec_').unpack1('m') : secret
  return false if key.empty? # A secret that is not set must not be one that anybody knows.

  signed = "#{id}.#{timestamp}.".b + body.b
  expected = "v1,#{[OpenSSL::HMAC.digest('SHA256', key, signed)].pack('m0')}"
  signature.split(' ').any? { |entry| OpenSSL.secure_compare(entry, expected) }
end
