// Verifies a webhook in .NET 6 or later with nothing but .NET.
using System;
using System.Linq;
using System.Security.Cryptography;
using System.Text;

public static class Webhooks
{
    /// <summary>
    /// Says whether a request is genuine. body is the bytes as they came; now is DateTimeOffset.UtcNow.ToUnixTimeSeconds().
    /// </summary>
    public static bool Verify(string secret, string id, string timestamp, string signature, byte[] body, long now)
    {
        if (timestamp.Length < 1 || timestamp.Length > 15 || !timestamp.All(c => c >= '0' && c <= '9')) return false;
        if (Math.Abs(now - long.Parse(timestamp)) > 300) return false;
        byte[] key = secret.StartsWith("whsec_", StringComparison.Ordinal)
            ? Convert.FromBase64String(secret.Substring(6))
            : Encoding.UTF8.GetBytes(secret);
        if (key.Length == 0) return false; // A secret that is not set must not be one that anybody knows.
        byte[] signed = Encoding.UTF8.GetBytes(id + "." + timestamp + ".").Concat(body).ToArray();
        byte[] expected = Encoding.UTF8.GetBytes("v1," + Convert.ToBase64String(Hmac(key, signed)));
        return signature.Split(' ').Any(entry =>
            CryptographicOperations.FixedTimeEquals(Encoding.UTF8.GetBytes(entry), expected));
    }

    private static byte[] Hmac(byte[] key, byte[] signed)
    {
        using (var hmac = new HMACSHA256(key)) return hmac.ComputeHash(signed);
    }
}
