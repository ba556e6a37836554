<?php
// Verifies a webhook in PHP 8 with nothing but PHP.

declare(strict_types=1);

/** Says whether a request is genuine. $body is file_get_contents('php://input'), $nowSeconds is time(). */
function verify(
    string $secret,
    string $id,
    string $timestamp,
    string $signature,
    string $body,
    int $nowSeconds,
): bool {
    if (!preg_match('/\A[0-9]{1,15}\z/', $timestamp) || abs($nowSeconds - (int) $timestamp) > 300) {
        return false;
    }
    $key = str_starts_with($secret, 'whsec_') ? base64_decode(substr($secret, 6), true) : $secret;
    if ($key === false || $key === '') {
        return false; // A secret that is not set must not be one that anybody knows.
    }
    $expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true));
    $isGenuine = false;
    foreach (explode(' ', $signature) as $entry) {
        $isGenuine = hash_equals($expected, $entry) || $isGenuine;
    }
    return $isGenuine;
}
