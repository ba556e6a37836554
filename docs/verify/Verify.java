// Verifies a webhook in Java 17 with nothing but the JDK.
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Base64;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

public final class Verify {
    /** The headers of a webhook that its signature needs, and the bytes of its body as they came. */
    public record Request(String id, String timestamp, String signature, byte[] body) {}

    /** Says whether a request is genuine. nowSeconds is Instant.now().getEpochSecond(). */
    public static boolean verify(String secret, Request request, long nowSeconds) {
        if (!request.timestamp().matches("[0-9]{1,15}")) return false;
        if (Math.abs(nowSeconds - Long.parseLong(request.timestamp())) > 300) return false;
        byte[] key = secret.startsWith("whsec_")
            ? Base64.getDecoder().decode(secret.substring(6))
            : secret.getBytes(StandardCharsets.UTF_8);
        if (key.length == 0) return false; // A secret that is not set must not be one that anybody knows.
        byte[] expected = ("v1," + Base64.getEncoder().encodeToString(hmac(key, request)))
            .getBytes(StandardCharsets.UTF_8);
        boolean isGenuine = false;
        for (String entry : request.signature().split(" ")) {
            // isEqual compares in constant time.
            isGenuine |= MessageDigest.isEqual(expected, entry.getBytes(StandardCharsets.UTF_8));
        }
        return isGenuine;
    }

    private static byte[] hmac(byte[] key, Request request) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(key, "HmacSHA256"));
            mac.update((request.id() + "." + request.timestamp() + ".").getBytes(StandardCharsets.UTF_8));
            return mac.doFinal(request.body());
        } catch (GeneralSecurityException error) {
            throw new IllegalStateException("every JDK has HmacSHA256", error);
        }
    }

    private Verify() {}
}
