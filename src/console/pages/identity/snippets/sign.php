<?php

const AUDIENCE = '{tenant}';
const KID = '{kid}';

/**
 * Vouches for the reader who is signed in with you, for ten minutes: the value of the header X-Service-Identity.
 * $id is their id with you; $profile may have 'name', 'avatarUrl', 'profileUrl' and 'badges'. PHP 8.
 */
function sign_identity(string $id, array $profile = []): string
{
    $secret = getenv('ENGAGEMENT_IDENTITY_SECRET') ?: throw new RuntimeException('ENGAGEMENT_IDENTITY_SECRET is not set');
    $encode = fn (string $raw): string => rtrim(strtr(base64_encode($raw), '+/', '-_'), '=');
    $now = time();
    $header = ['alg' => 'HS256', 'typ' => 'JWT', 'kid' => KID];
    $claims = ['sub' => $id, 'aud' => AUDIENCE, 'iat' => $now, 'exp' => $now + 600] + $profile;
    $signed = $encode(json_encode($header, JSON_THROW_ON_ERROR)) . '.' . $encode(json_encode($claims, JSON_THROW_ON_ERROR));
    return $signed . '.' . $encode(hash_hmac('sha256', $signed, $secret, true));
}
